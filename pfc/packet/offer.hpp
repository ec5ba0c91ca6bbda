// SPDX-License-Identifier: BSD-3-Clause
//
// What a source has to send and when. Offered data is a function of time, so it is worked out when
// somebody asks, not kept as events.
#pragma once

#include <cstdint>
#include <optional>

#include "pfc/packet/network.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::packet {

class Offer {
 public:
  Offer(const Source& source, const Network& network, std::uint32_t packet_bytes,
        Picoseconds spacing_ps);

  /// When the next packet may leave, at `now` or later; nothing when there will be none.
  [[nodiscard]] std::optional<Picoseconds> next(Picoseconds now);
  /// Takes the packet that next() said may leave at `now`; the next one leaves no sooner than
  /// `spacing` behind it.
  void take(Picoseconds now, Picoseconds spacing = 0);

  /// Packets that found the source's buffer full, up to the last call of next().
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  /// Packets that have been offered by `now` and neither taken nor lost; of a greedy source 0.
  [[nodiscard]] std::uint64_t waiting(Picoseconds now) const {
    return source_.kind == SourceKind::Greedy ? 0 : offered_by(now) - taken_ - lost_;
  }

 private:
  /// When packet number `packet` is offered.
  [[nodiscard]] std::optional<Picoseconds> time_of(std::uint64_t packet) const;
  /// How many have been offered by `now`.
  [[nodiscard]] std::uint64_t offered_by(Picoseconds now) const;
  [[nodiscard]] double data_by(double time) const;

  Source source_;
  double ps_per_time_;
  double data_per_packet_;
  Picoseconds spacing_ps_;
  Picoseconds start_ps_;
  Picoseconds stop_ps_;
  Picoseconds not_before_ = 0;  // by the rate limit
  std::uint64_t buffer_packets_;
  std::uint64_t taken_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace portcullis::pfc::packet
