// SPDX-License-Identifier: BSD-3-Clause
//
// Strict priority, and shares beside it (802.1Qaz calls them strict and ETS). A bit is a position
// in Network::priorities, which ascend.
#include <algorithm>
#include <bit>
#include <cmath>

#include "pfc/packet/engine.hpp"

namespace portcullis::pfc::packet {

/// Bytes that each priority with a share may send a round: the least share a largest packet.
void Engine::give_shares() {
  quanta_.assign(classes_, 0);
  if (options_.schedule.kind != Schedule::Kind::Shares) return;
  constexpr double kMostPackets = 1e6;  // of one priority before the others
  double least = 0;
  std::uint32_t largest = options_.packet_bytes;
  for (const FlowPlan& flow : network_.flows) largest = std::max(largest, flow.bytes);
  const auto share_of = [&](std::uint32_t i) {
    return options_.schedule.shares[network_.priorities[i]];
  };
  for (std::uint32_t i = 0; i < classes_; ++i)
    if (share_of(i) > 0) least = least > 0 ? std::min(least, share_of(i)) : share_of(i);
  for (std::uint32_t i = 0; i < classes_; ++i)
    if (share_of(i) > 0)
      quanta_[i] = std::llround(std::min(share_of(i) / least, kMostPackets) * largest);
  for (Port& port : ports_) port.credits.assign(classes_, 0);
}

/// `ready` is not 0. The one with the word sends until its credit is used up, which may leave it in
/// debt by a packet; who has nothing to send, or is paused, keeps debts and nothing else.
std::uint8_t Engine::scheduled(Port& port, std::uint8_t ready) {
  for (auto left = ready; left != 0;) {
    const auto highest = static_cast<std::uint8_t>(std::bit_width(left) - 1);
    if (quanta_[highest] == 0) return highest;
    left = static_cast<std::uint8_t>(left & ~(1U << highest));
  }
  for (;;) {
    std::int64_t& credit = port.credits[port.share_turn];
    if ((ready >> port.share_turn & 1U) != 0 && credit > 0) return port.share_turn;
    if ((ready >> port.share_turn & 1U) == 0) credit = std::min<std::int64_t>(credit, 0);
    port.share_turn = static_cast<std::uint8_t>((port.share_turn + 1U) % classes_);
    if ((ready >> port.share_turn & 1U) != 0)
      port.credits[port.share_turn] += quanta_[port.share_turn];
  }
}

void Engine::charge(Port& port, std::uint8_t priority, std::uint32_t bytes) const {
  if (quanta_[priority] > 0) port.credits[priority] -= bytes;
}

}  // namespace portcullis::pfc::packet
