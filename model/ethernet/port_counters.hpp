// SPDX-License-Identifier: BSD-3-Clause
//
// What an Ethernet port counts of the frames that its send queues gave it and that came to its
// receive side. Packets of queue pairs are the transport's and not among them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/steering/flow_counters.hpp"

namespace portcullis::model {

/// Kinds of destination addresses.
enum class Cast : std::uint8_t { Unicast, Multicast, Broadcast };
inline constexpr std::size_t kCasts = 3;

/// `frame` has a destination address.
[[nodiscard]] inline Cast cast_of(std::span<const std::byte> frame) noexcept {
  constexpr std::size_t kAddress = 6;
  if ((frame[0] & std::byte{1}) == std::byte{0}) return Cast::Unicast;
  for (const std::byte one : frame.first<kAddress>())
    if (one != std::byte{0xff}) return Cast::Multicast;
  return Cast::Broadcast;
}

struct PortCounters {
  static constexpr std::size_t kFcsBytes = 4;  // on the wire, not among a frame's bytes here
  /// Longest frame of each class of ether_stats_pkts*octets, FCS included.
  static constexpr std::array<std::uint32_t, 10> kClasses{64,   127,  255,  511,  1023,
                                                          1518, 2047, 4095, 8191, 10239};

  struct Counts {
    std::array<TrafficCount, kCasts> received{}, sent{};
    std::array<std::uint64_t, kClasses.size()> received_by_length{};
    std::uint64_t too_long = 0;       // received, longer than the port carries
    std::uint64_t send_discards = 0;  // longer than the port carries
  };
  Counts port;   // PPCNT
  Counts vport;  // QUERY_VPORT_COUNTER; no lengths

  /// The vport counts `frame` so often.
  void count_received(std::span<const std::byte> frame, int times) noexcept {
    add(port.received, frame);
    for (int i = 0; i < times; ++i) add(vport.received, frame);
    for (std::size_t i = 0; i < kClasses.size(); ++i)
      if (frame.size() + kFcsBytes <= kClasses[i]) {
        ++port.received_by_length[i];
        break;
      }
  }
  void count_sent(std::span<const std::byte> frame) noexcept {
    add(port.sent, frame);
    add(vport.sent, frame);
  }
  void count_too_long() noexcept {
    ++port.too_long;
    ++vport.too_long;
  }
  void count_send_discard() noexcept {
    ++port.send_discards;
    ++vport.send_discards;
  }

  [[nodiscard]] static const TrafficCount& of(const std::array<TrafficCount, kCasts>& counts,
                                              Cast cast) noexcept {
    return counts[static_cast<std::size_t>(cast)];
  }
  [[nodiscard]] static TrafficCount sum(const std::array<TrafficCount, kCasts>& counts) noexcept {
    TrafficCount all;
    for (const TrafficCount& one : counts) {
      all.packets += one.packets;
      all.octets += one.octets;
    }
    return all;
  }

 private:
  static void add(std::array<TrafficCount, kCasts>& counts,
                  std::span<const std::byte> frame) noexcept {
    TrafficCount& count = counts[static_cast<std::size_t>(cast_of(frame))];
    ++count.packets;
    count.octets += frame.size();
  }
};

}  // namespace portcullis::model
