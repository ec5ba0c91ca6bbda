// SPDX-License-Identifier: BSD-3-Clause
//
// How long a PAUSE takes and how much an ingress comes to hold meanwhile: headroom, as the packet
// simulator's switches need it. IEEE 802.1Qbb counts the same parts: a packet that has just begun
// on the link back, the PAUSE itself, two cables, the sender's response and the packet that it is
// sending. All times are whole picoseconds, rounded as the simulator rounds them.
#pragma once

#include <cstdint>
#include <vector>

#include "pfc/topology.hpp"

namespace portcullis::pfc::bound {

inline constexpr std::uint32_t kPauseFrameBytes = 84;  // 64, preamble and start 8, gap 12

struct PauseModel {
  std::uint32_t packet_bytes = 1000;  // of every packet
  double response_ps = 0;             // from the end of a PAUSE until the sender heeds it
  bool is_in_band = true;             // a PAUSE waits for what its link is sending, and takes time
};

/// Of the links of one topology, which was checked and outlives this. Times in picoseconds.
class PauseTimes {
 public:
  PauseTimes(const Topology& topology, const PauseModel& model);

  [[nodiscard]] double packet_ps(LinkId link) const { return links_[link].packet_ps; }
  [[nodiscard]] double frame_ps(LinkId link) const { return links_[link].frame_ps; }
  [[nodiscard]] double delay_ps(LinkId link) const { return links_[link].delay_ps; }
  /// From a change of the gate behind `link` until its sender heeds it, at most; infinite when
  /// PAUSE frames of several priorities may take all of the link back.
  [[nodiscard]] double notice_ps(LinkId link) const { return links_[link].notice_ps; }
  /// The part of `link` that PAUSE frames for the other direction may take; 1 or more: all of it.
  [[nodiscard]] double frame_share(LinkId link) const { return links_[link].frame_share; }
  /// Packets that the ingress behind `link` holds of one priority, at most: those up to xoff, and
  /// those that come until the sender has stopped. At most its buffer; infinite when it has
  /// neither.
  [[nodiscard]] double most_packets(LinkId link) const { return links_[link].most_packets; }
  /// Bytes above xoff with which nothing is lost: what most_packets() needs when buffers have none.
  [[nodiscard]] double headroom_bytes(LinkId link) const { return links_[link].headroom_bytes; }
  /// Packets that an ingress holds at least while its gate is closed.
  [[nodiscard]] double least_closed(LinkId link) const { return links_[link].least_closed; }
  /// Packets that come between two closings, at least.
  [[nodiscard]] double between_closings(LinkId link) const { return links_[link].between; }
  [[nodiscard]] std::size_t priorities() const noexcept { return priorities_; }

 private:
  struct Times {
    double packet_ps = 0;
    double frame_ps = 0;
    double delay_ps = 0;
    double notice_ps = 0;
    double frame_share = 0;
    double most_packets = 0;
    double headroom_bytes = 0;
    double least_closed = 1;
    double between = 1;
  };

  void find_notice(LinkId link, LinkId back);
  void find_levels(LinkId link);

  const Topology& topology_;
  const PauseModel model_;
  std::size_t priorities_;
  std::vector<Times> links_;
};

}  // namespace portcullis::pfc::bound
