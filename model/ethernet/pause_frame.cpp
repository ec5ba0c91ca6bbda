// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/pause_frame.hpp"

#include <algorithm>
#include <cstring>

#include "model/transport/checksum.hpp"

namespace portcullis::model {
namespace {

constexpr Mac kLinkPeer{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
constexpr std::uint16_t kEthertypeMacControl = 0x8808;  // ETH_P_PAUSE of linux/if_ether.h
constexpr std::uint16_t kPause = 0x0001;
constexpr std::uint16_t kPerPriority = 0x0101;
constexpr std::size_t kSourceAt = 6;
constexpr std::size_t kTypeAt = 12;
constexpr std::size_t kOpcodeAt = 14;
constexpr std::size_t kQuantaAt = 16;   // of PAUSE
constexpr std::size_t kEnabledAt = 16;  // of the other: class-enable vector,
constexpr std::size_t kTimesAt = 18;    // then a time for each priority

}  // namespace

bool is_mac_control(std::span<const std::byte> frame) noexcept {
  return frame.size() >= kOpcodeAt &&
         std::memcmp(frame.data(), kLinkPeer.data(), kLinkPeer.size()) == 0 &&
         load_be16(&frame[kTypeAt]) == kEthertypeMacControl;
}

std::optional<PauseFrame> parse_pause(std::span<const std::byte> frame) noexcept {
  if (frame.size() < kQuantaAt + 2) return std::nullopt;
  PauseFrame out;
  if (load_be16(&frame[kOpcodeAt]) == kPause) {
    out.quanta.fill(load_be16(&frame[kQuantaAt]));
    return out;
  }
  if (load_be16(&frame[kOpcodeAt]) != kPerPriority || frame.size() < kTimesAt + 2 * kPriorities)
    return std::nullopt;
  out.is_per_priority = true;
  out.priorities = static_cast<std::uint8_t>(load_be16(&frame[kEnabledAt]));
  for (std::size_t i = 0; i < kPriorities; ++i) out.quanta[i] = load_be16(&frame[kTimesAt + 2 * i]);
  return out;
}

void build_pause(const PauseFrame& frame, const Mac& source, std::span<std::byte> to) noexcept {
  std::ranges::fill(to.first(kPauseFrameBytes), std::byte{0});
  std::memcpy(to.data(), kLinkPeer.data(), kLinkPeer.size());
  std::memcpy(&to[kSourceAt], source.data(), source.size());
  store_be16(&to[kTypeAt], kEthertypeMacControl);
  store_be16(&to[kOpcodeAt], frame.is_per_priority ? kPerPriority : kPause);
  if (!frame.is_per_priority) return store_be16(&to[kQuantaAt], frame.quanta[0]);
  store_be16(&to[kEnabledAt], frame.priorities);
  for (std::size_t i = 0; i < kPriorities; ++i) store_be16(&to[kTimesAt + 2 * i], frame.quanta[i]);
}

}  // namespace portcullis::model
