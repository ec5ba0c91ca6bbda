// SPDX-License-Identifier: BSD-3-Clause
//
// What entries of flow tables name for a change of frames: modify header contexts and packet
// reformat contexts. Both are of Ethernet ports alone; that ConnectX-5 has them is said by DPDK's
// guide of mlx5 ("Supported hardware offloads", with NIC: header rewrite, encapsulation). How many
// there are is assumed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/id_table.hpp"
#include "model/steering/modify_header.hpp"
#include "model/steering/tunnels.hpp"
#include "model/verdict.hpp"
#include "prm/flow_action_commands.hpp"
#include "prm/flow_action_enums.hpp"
#include "prm/flow_enums.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// Of a table's type, as its actions may differ by that.
struct HeaderChanges {
  prm::FlowTableType type{};
  std::vector<HeaderAction> actions;
};

struct PacketReformat {
  prm::ReformatType type{};
  FrameBuffer header;
};

class HeaderContexts {
 public:
  static constexpr std::uint32_t kLogMax = 12;
  static constexpr std::uint32_t kMaxActions =
      16;  // MLX5_ROOT_TBL_MODIFY_NUM of DPDK's mlx5_flow.h
  static constexpr std::uint32_t kMaxHeaderBytes = 128;  // MAX_ENCAP_SIZE, fs_cmd.c, linux 01555e64

  /// `list` is actions[].
  Verdict allocate_changes(prm::ConstView<prm::alloc_modify_header_context_in> in,
                           std::span<const std::byte> list, std::uint32_t& id);
  /// `more` is more_reformat_data[].
  Verdict allocate_reformat(prm::ConstView<prm::packet_reformat_context_in> context,
                            std::span<const std::byte> more, std::uint32_t& id);
  /// Null: no such context.
  [[nodiscard]] const HeaderChanges* changes(std::uint32_t id) const noexcept;
  [[nodiscard]] const PacketReformat* reformat(std::uint32_t id) const noexcept;
  void free_changes(std::uint32_t id);
  void free_reformat(std::uint32_t id);
  void clear();

 private:
  std::unordered_map<std::uint32_t, HeaderChanges> changes_;
  std::unordered_map<std::uint32_t, PacketReformat> reformats_;
  IdAllocator change_ids_{1, 1U << kLogMax};
  IdAllocator reformat_ids_{1, 1U << kLogMax};
};

/// A header goes around the frame: on its way out.
[[nodiscard]] bool is_wrap(prm::ReformatType type) noexcept;

}  // namespace portcullis::model
