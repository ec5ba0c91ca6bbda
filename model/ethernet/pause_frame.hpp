// SPDX-License-Identifier: BSD-3-Clause
//
// MAC control frames that stop the other end of a link: PAUSE (ETH_P_PAUSE of linux/if_ether.h) all
// of it, priority-based flow control (802.1Qbb) by priority. Both go to a group address that no
// bridge forwards (br_handle_frame of Linux drops it). They say how long in quanta of 512 bit
// times; 0 quanta end what an earlier one began. Wireshark's dissector judges them in tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/port_settings.hpp"

namespace portcullis::model {

struct PauseFrame {
  bool is_per_priority = false;
  std::uint8_t priorities = 0xff;  // a bit each, those that it speaks of; of PAUSE all
  std::array<std::uint16_t, kPriorities> quanta{};  // of PAUSE the same for each
};

/// ETH_ZLEN: the length of each.
inline constexpr std::size_t kPauseFrameBytes = 60;

/// A frame for the other end of the link alone, of type 0x8808: no host sees one.
[[nodiscard]] bool is_mac_control(std::span<const std::byte> frame) noexcept;
/// Nothing: a MAC control frame of another kind, or one that is cut short.
[[nodiscard]] std::optional<PauseFrame> parse_pause(std::span<const std::byte> frame) noexcept;
/// `to` has room for kPauseFrameBytes.
void build_pause(const PauseFrame& frame, const Mac& source, std::span<std::byte> to) noexcept;

/// How long `quanta` are at that speed.
[[nodiscard]] constexpr std::uint64_t pause_ns(std::uint64_t quanta, std::uint64_t gbps) noexcept {
  constexpr std::uint64_t kBitTimes = 512;
  return (quanta * kBitTimes + gbps - 1) / gbps;
}

}  // namespace portcullis::model
