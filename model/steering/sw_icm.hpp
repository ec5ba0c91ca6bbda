// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of the card that a program writes its own steering into ("SW_ICM"): entries in one area,
// lists of actions on headers in the other. It is in no BAR; keys of mode SW_ICM lead queue pairs
// to it. An address is the card's own (ICM), the same in entries, commands and keys.
//
//   the driver says  where an allocation lies: mlx5_dm_sw_icm_alloc of mlx5/core/lib/dm.c keeps
//                    count of blocks, and the object that it makes names one range
//   the model keeps  pages that were written. What was not reads as zeros, as does what a later
//                    owner gets
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/held_ranges.hpp"
#include "model/id_table.hpp"
#include "model/verdict.hpp"
#include "prm/object_commands.hpp"
#include "prm/steering_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class SwIcm {
 public:
  // Where a card has them, and how large they are, is not published. rdma-core wants room for 1 Mi
  // entries and 4 Ki actions, and takes up to an eighth of either for a domain
  // (dr_domain_check_icm_memory_caps of dr_domain.c): here eight domains have as many entries as
  // they can use.
  static constexpr std::uint64_t kEntriesAt = std::uint64_t{1} << 36;
  static constexpr std::uint32_t kLogEntriesBytes = 29;
  static constexpr std::uint64_t kActionsAt = std::uint64_t{1} << 37;
  static constexpr std::uint32_t kLogActionsBytes = 22;
  static constexpr std::uint32_t kLogUnit = 12;

  /// `uid` is whose it is.
  Verdict create(std::uint64_t at, std::uint32_t log_bytes, std::uint32_t uid, std::uint32_t& id);
  /// `context` is zeroed.
  Verdict query(std::uint32_t id, prm::View<prm::sw_icm> context) const;
  Verdict destroy(std::uint32_t id);

  /// Whose [at, at + bytes) is; nothing unless it lies in one allocation.
  [[nodiscard]] std::optional<std::uint32_t> owner_of(std::uint64_t at, std::uint64_t bytes) const;
  /// False: [at, at + to.size()) is in no one allocation, and `to` is as it was.
  [[nodiscard]] bool read(std::uint64_t at, std::span<std::byte> to) const noexcept;
  /// False, too, where the host has no memory for another page.
  [[nodiscard]] bool write(std::uint64_t at, std::span<const std::byte> from) noexcept;

  /// False: a key of mode SW_ICM whose range is in no one allocation, or in somebody else's than
  /// `uid`'s. The kernel makes keys for everyone (uid 0), after it has looked whose memory it is.
  /// Keys of other modes have no range here.
  [[nodiscard]] bool has_range_of(prm::ConstView<prm::mkc> key, std::uint32_t uid) const;
  /// A key that has its range stays in its allocation's way until it lets go.
  void hold(std::uint32_t mkey_index, prm::ConstView<prm::mkc> key);
  void let_go(std::uint32_t mkey_index);
  void clear() noexcept;
  [[nodiscard]] std::size_t allocations() const noexcept { return ranges_.all().size(); }

 private:
  static constexpr std::size_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;
  struct Contents {
    std::uint32_t uid = 0;
    std::vector<std::unique_ptr<Page>> pages;  // null: never written
  };

  [[nodiscard]] static bool is_in_an_area(std::uint64_t at, std::uint64_t bytes) noexcept;

  HeldRanges<Contents> ranges_;                              // allocations
  std::unordered_map<std::uint32_t, std::uint64_t> begins_;  // of an object: where it begins
  IdAllocator ids_{1, 1U << 16};
};

}  // namespace portcullis::model
