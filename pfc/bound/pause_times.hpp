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
/// Frames of RoCEv2 are of these sizes: at least Ethernet's least (an ACK over IPv4 has 2 bytes
/// more), at most 4096 bytes of data with Ethernet 14, VLAN tag 4, IPv6 40, UDP 8, BTH 12, RETH 16,
/// immediate data 4 (rxe_hdr.h of Linux), ICRC 4, FCS 4, and preamble, start and gap 20.
inline constexpr std::uint32_t kLeastRoceFrame = 84;
inline constexpr std::uint32_t kLargestRoceFrame = 4096 + 126;

struct PauseModel {
  std::uint32_t packet_bytes = 1000;  // of every packet, or of the largest
  std::uint32_t least_bytes = 0;      // of the smallest; 0: all have packet_bytes
  double response_ps = 0;             // from the end of a PAUSE until the sender heeds it
  bool is_in_band = true;             // a PAUSE waits for what its link is sending, and takes time
};

/// Of the links of one topology, which was checked and outlives this. Times in picoseconds.
class PauseTimes {
 public:
  /// `can_close`: links, one each, whose gates ever close and so send PAUSE frames; empty: all. A
  /// gate without a threshold never does, nor one that no data goes on from.
  PauseTimes(const Topology& topology, const PauseModel& model,
             const std::vector<bool>& can_close = {});

  [[nodiscard]] double packet_ps(LinkId link) const { return links_[link].packet_ps; }
  [[nodiscard]] double frame_ps(LinkId link) const { return links_[link].frame_ps; }
  [[nodiscard]] double delay_ps(LinkId link) const { return links_[link].delay_ps; }
  /// From a change of the gate behind `link` until its sender heeds it, at most; infinite when
  /// PAUSE frames of several priorities may take all of the link back.
  [[nodiscard]] double notice_ps(LinkId link) const { return links_[link].notice_ps; }
  /// The part of `link` that PAUSE frames for the other direction may take; 1 or more: all of it.
  [[nodiscard]] double frame_share(LinkId link) const { return links_[link].frame_share; }
  /// PAUSE frames for the other direction that may come on `link` at once, beside that part.
  [[nodiscard]] double frame_burst(LinkId link) const { return links_[link].frame_burst; }
  /// Bytes that the ingress behind `link` holds of one priority, at most: those up to xoff, and
  /// those that come until the sender has stopped. At most its buffer; infinite when it has
  /// neither.
  [[nodiscard]] double most_bytes(LinkId link) const { return links_[link].most_bytes; }
  /// Bytes above xoff with which nothing is lost: what most_bytes() needs when buffers have none.
  [[nodiscard]] double headroom_bytes(LinkId link) const { return links_[link].headroom_bytes; }
  /// Bytes that an ingress holds at least while its gate is closed.
  [[nodiscard]] double least_closed(LinkId link) const { return links_[link].least_closed; }
  /// Bytes that come between two closings, at least.
  [[nodiscard]] double between_closings(LinkId link) const { return links_[link].between; }
  /// Bytes that begin to be sent on `link` within a time, at most.
  [[nodiscard]] double begun_bytes(LinkId link, double ps) const;
  /// How long so many bytes take on `link`, at most, in packets of any size and nothing between.
  [[nodiscard]] double sending_ps(LinkId link, double bytes) const;
  /// Packets that so many bytes are, at most.
  [[nodiscard]] double packets_of(double bytes) const { return bytes / least_bytes_; }
  [[nodiscard]] std::size_t priorities() const noexcept { return priorities_; }

 private:
  struct Times {
    double packet_ps = 0;
    double frame_ps = 0;
    double delay_ps = 0;
    double notice_ps = 0;
    double frame_share = 0;
    double frame_burst = 0;
    double most_bytes = 0;
    double headroom_bytes = 0;
    double least_closed = 0;
    double between = 0;
  };

  [[nodiscard]] bool is_mixed() const { return least_bytes_ < model_.packet_bytes; }
  void find_closings(LinkId link);
  void find_notice(LinkId link, LinkId back);
  void find_most(LinkId link);

  const Topology& topology_;
  const PauseModel model_;
  double least_bytes_;
  std::size_t priorities_;
  std::vector<Times> links_;  // no figure is a NaN: what cannot be told is infinite
};

}  // namespace portcullis::pfc::bound
