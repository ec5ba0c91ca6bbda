// SPDX-License-Identifier: BSD-3-Clause
//
// Commands as another driver sent them to another card: Linux mlx5_core bringing up a ConnectX-4
// (firmware 14.12.1220), as snabb publishes it in src/apps/mellanox/trace-mlx5_core.txt. Quoted are
// the dwords that are not zero, under the offsets that the trace prints: the queue entry stands at
// 0x00, the first mailbox block at 0x40.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

#include "prm/cmd_interface.hpp"
#include "prm/view.hpp"
#include "tests/prm/hex.hpp"

namespace portcullis::testing {

/// One line of the trace, "010: 01040000 00000000 00000000 00000000".
struct TraceLine {
  std::size_t offset;
  std::string_view dwords;
};

/// One "dump command": the queue entry and at most one mailbox block.
class TracedCommand {
 public:
  TracedCommand(std::initializer_list<TraceLine> lines) {
    for (const TraceLine& line : lines) {
      const auto bytes = bytes_of(line.dwords);
      std::ranges::copy(bytes, memory_.begin() + static_cast<std::ptrdiff_t>(line.offset));
    }
  }

  [[nodiscard]] std::span<const std::byte, prm::cmd_queue_entry::bytes> entry() const {
    return std::span(memory_).first<prm::cmd_queue_entry::bytes>();
  }
  [[nodiscard]] prm::ConstView<prm::cmd_queue_entry> entry_view() const {
    return prm::ConstView<prm::cmd_queue_entry>(entry());
  }
  [[nodiscard]] prm::ConstView<prm::cmd_if_box> block_view() const {
    return prm::ConstView<prm::cmd_if_box>::at(memory_, prm::cmd_queue_entry::bytes);
  }
  /// The first bytes of the input or output: 16 in the entry, the rest in the block's data.
  template <class L>
  [[nodiscard]] prm::Buffer<L> input() const {
    return message<L>(entry_view().bytes<"command_input_inline_data">());
  }
  template <class L>
  [[nodiscard]] prm::Buffer<L> output() const {
    return message<L>(entry_view().bytes<"command_output_inline_data">());
  }

 private:
  template <class L>
  [[nodiscard]] prm::Buffer<L> message(std::span<const std::byte> head) const {
    prm::Buffer<L> buffer;
    const auto data = block_view().bytes<"mailbox_data">();
    const auto rest = data.first(std::min(data.size(), L::bytes - head.size()));
    std::ranges::copy(head, buffer.all().begin());
    std::ranges::copy(rest, buffer.all().begin() + static_cast<std::ptrdiff_t>(head.size()));
    return buffer;
  }

  std::array<std::byte, prm::cmd_queue_entry::bytes + prm::cmd_if_box::bytes> memory_{};
};

}  // namespace portcullis::testing
