// SPDX-License-Identifier: BSD-3-Clause
//
// What an Ethernet port counts of the frames that its send queues gave it and that came to its
// receive side, and what a port of either kind counts of packets of queue pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/ethernet/pause_clock.hpp"
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

/// Packets that queue pairs refused for their key. Each count stays at its greatest value
/// (set_bad_pkey_cntr and set_qkey_viol_cntr of rxe_recv.c).
struct KeyViolations {
  static constexpr std::uint16_t kMost = 0xffff;
  std::uint16_t pkey = 0, qkey = 0;

  void note_pkey() noexcept { pkey = std::min<std::uint16_t>(pkey, kMost - 1) + 1; }
  void note_qkey() noexcept { qkey = std::min<std::uint16_t>(qkey, kMost - 1) + 1; }
};

struct PortCounters {
  static constexpr std::size_t kLeastBytes = 60;  // of a frame: ETH_ZLEN
  static constexpr std::size_t kFcsBytes = 4;     // on the wire, not among a frame's bytes here
  /// Longest frame of each class of ether_stats_pkts*octets, FCS included.
  static constexpr std::array<std::uint32_t, 10> kClasses{64,   127,  255,  511,  1023,
                                                          1518, 2047, 4095, 8191, 10239};

  struct PriorityCount {
    TrafficCount received, sent;
    std::uint64_t pauses_received = 0, pauses_sent = 0;  // PAUSE is of priority 0
    std::uint64_t stopped_ns = 0;                        // by us, as far as it is over
    std::uint64_t discards = 0;                          // no room in the receive buffer
  };
  struct Counts {
    std::array<TrafficCount, kCasts> received{}, sent{};
    std::array<std::uint64_t, kClasses.size()> received_by_length{};
    std::uint64_t too_short = 0;         // received, shorter than a frame may be
    std::uint64_t malformed = 0;         // RoCE whose headers contradict each other
    std::uint64_t wrong_icrc = 0;        // RoCE that was changed on its way
    std::uint64_t too_long = 0;          // received, longer than the port carries
    std::uint64_t send_discards = 0;     // longer than the port carries
    std::uint64_t receive_discards = 0;  // no room in the receive buffer
    // MAC control frames, which are no frames otherwise.
    std::uint64_t controls_received = 0, controls_unknown = 0, controls_sent = 0;
    std::uint64_t pauses_received = 0, pauses_sent = 0;  // of either kind
    std::array<PriorityCount, kPriorities> priorities{};
    PauseCounts stopped{};  // by the other end
  };
  /// Of queue pairs, multicast those to and from groups.
  struct PacketCounts {
    TrafficCount received, sent, received_by_group, sent_to_group;
  };
  Counts port;           // PPCNT
  Counts vport;          // QUERY_VPORT_COUNTER; no lengths
  PacketCounts packets;  // QUERY_VPORT_COUNTER, received_ib_unicast and its like
  KeyViolations violations;

  /// The vport counts `frame` so often.
  void count_received(std::span<const std::byte> frame, int times,
                      std::uint8_t priority = 0) noexcept {
    add(port.received, frame);
    add(port.priorities[priority].received, frame.size());
    for (int i = 0; i < times; ++i) add(vport.received, frame);
    for (std::size_t i = 0; i < kClasses.size(); ++i)
      if (frame.size() + kFcsBytes <= kClasses[i]) {
        ++port.received_by_length[i];
        break;
      }
  }
  void count_sent(std::span<const std::byte> frame, std::uint8_t priority = 0) noexcept {
    add(port.sent, frame);
    add(port.priorities[priority].sent, frame.size());
    add(vport.sent, frame);
  }
  void count_packet_sent(bool to_group, std::size_t bytes) noexcept {
    add(to_group ? packets.sent_to_group : packets.sent, bytes);
  }
  void count_packet_received(bool by_group, std::size_t bytes) noexcept {
    add(by_group ? packets.received_by_group : packets.received, bytes);
  }
  /// `said` is nothing for one of an unknown kind.
  void count_control(const std::optional<PauseFrame>& said) noexcept {
    ++port.controls_received;
    if (!said) {
      ++port.controls_unknown;
      return;
    }
    ++port.pauses_received;
    for (std::size_t i = 0; i < kPriorities; ++i)
      port.priorities[i].pauses_received += speaks_of(*said, i) ? 1 : 0;
  }
  void count_pause_sent(const PauseFrame& said) noexcept {
    ++port.controls_sent;
    ++port.pauses_sent;
    for (std::size_t i = 0; i < kPriorities; ++i)
      port.priorities[i].pauses_sent += speaks_of(said, i) ? 1 : 0;
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
  /// Linux reads the counts of PAUSE as those of priority 0 (mlx5e_stats_grp_per_prio of
  /// mlx5/core/en_stats.c: rx_global_pause).
  [[nodiscard]] static bool speaks_of(const PauseFrame& said, std::size_t priority) noexcept {
    return said.is_per_priority ? (said.priorities >> priority & 1) != 0 : priority == 0;
  }
  static void add(TrafficCount& count, std::size_t bytes) noexcept {
    ++count.packets;
    count.octets += bytes;
  }
  static void add(std::array<TrafficCount, kCasts>& counts,
                  std::span<const std::byte> frame) noexcept {
    add(counts[static_cast<std::size_t>(cast_of(frame))], frame.size());
  }
};

}  // namespace portcullis::model
