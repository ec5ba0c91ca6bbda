// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/bound/pause_times.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pfc/cbd/routing.hpp"

namespace portcullis::pfc::bound {

namespace {

/// Of a quotient or difference of two that are infinite: a NaN would drop out of every maximum.
double or_unlimited(double value) {
  if (std::isnan(value)) return kUnlimited;
  return value;
}

}  // namespace

PauseTimes::PauseTimes(const Topology& topology, const PauseModel& model,
                       const std::vector<bool>& can_close)
    : topology_(topology),
      model_(model),
      least_bytes_(model.least_bytes == 0 ? model.packet_bytes : model.least_bytes),
      priorities_(carried_priorities(topology).size()),
      links_(topology.links.size()) {
  const double ps_per_time = topology.units.time_s * 1e12;
  for (LinkId id = 0; id < links_.size(); ++id) {
    const Link& link = topology.links[id];
    const double ps_per_byte = ps_per_time / (link.capacity * topology.units.data_bytes);
    links_[id].packet_ps = std::max(1.0, std::round(ps_per_byte * model.packet_bytes));
    links_[id].frame_ps = std::max(1.0, std::round(ps_per_byte * kPauseFrameBytes));
    links_[id].delay_ps = std::round(link.delay * ps_per_time);
    links_[id].notice_ps = links_[id].delay_ps + model.response_ps;
    links_[id].frame_burst = 2 + static_cast<double>(priorities_);
    find_closings(id);
  }
  if (model.is_in_band)
    for (const auto& cable : cbd::cables_of(topology)) {
      if (cable.size() != 2) continue;
      for (const auto& [link, back] : {std::pair(cable[0], cable[1]), {cable[1], cable[0]}})
        if (std::isfinite(topology.links[link].xoff) && (can_close.empty() || can_close[link]))
          find_notice(link, back);
    }
  for (LinkId link = 0; link < links_.size(); ++link) find_most(link);
}

/// Of packets that are all of one size whole ones. Of others each one's time is rounded to a
/// picosecond, and the last may have just begun.
double PauseTimes::begun_bytes(LinkId link, double ps) const {
  const double bytes = model_.packet_bytes;
  const double packet_ps = links_[link].packet_ps;
  if (!std::isfinite(ps)) return kUnlimited;
  if (!is_mixed()) return (std::floor(ps / packet_ps) + 1) * bytes;
  const double ps_per_byte = (packet_ps - 0.5) / bytes;
  return ps / std::max(ps_per_byte / 2, ps_per_byte - 0.5 / least_bytes_) + bytes;
}

double PauseTimes::sending_ps(LinkId link, double bytes) const {
  const double packet_ps = links_[link].packet_ps;
  if (!is_mixed()) return bytes / model_.packet_bytes * packet_ps;
  return bytes * (packet_ps + 0.5) / model_.packet_bytes + packets_of(bytes);
}

/// A frame says what the gate is when it has left, so of one priority the first frame that leaves
/// tells the news: it waits for one packet. Frames of other priorities come before it, two for
/// every packet that arrives (it closes a gate, and leaves to open it) and one more for each
/// priority. Where packets differ in size, small ones need not close a gate each: then two come
/// for what arrives between two closings, and a large packet may close several.
void PauseTimes::find_notice(LinkId link, LinkId back) {
  Times& times = links_[link];
  Times& other = links_[back];
  const auto priorities = static_cast<double>(priorities_);
  const double bytes = model_.packet_bytes;
  other.frame_share =
      or_unlimited(2 * other.frame_ps /
                   (is_mixed() ? times.packet_ps * times.between / bytes : times.packet_ps));
  if (is_mixed()) other.frame_burst = 3 * priorities + 2 * bytes / times.between;
  double frames = priorities_ == 1 ? 1.0 : other.frame_burst;
  if (is_mixed() && priorities_ > 1) frames /= 1 - other.frame_share;
  times.notice_ps = or_unlimited(times.notice_ps + other.packet_ps + frames * other.frame_ps);
  if (priorities_ > 1 && other.frame_share >= 1) times.notice_ps = kUnlimited;
}

void PauseTimes::find_closings(LinkId id) {
  Times& times = links_[id];
  const Link& link = topology_.links[id];
  const double xoff = std::round(link.xoff * topology_.units.data_bytes);
  const double xon = std::round(link.xon * topology_.units.data_bytes);
  times.least_closed = times.between = least_bytes_;
  // A dynamic threshold may close a gate at one packet; only an empty ingress opens for sure.
  if (topology_.nodes[link.to].alpha > 0) return;
  if (!std::isfinite(xoff)) return;  // it never closes
  const double bytes = model_.packet_bytes;
  times.least_closed = std::max(least_bytes_, is_mixed() ? xon : std::ceil(xon / bytes) * bytes);
  times.between =
      std::max(least_bytes_, is_mixed() ? xoff - xon : std::floor((xoff - xon) / bytes) * bytes);
}

/// The packet that closes the gate had left when the next began, and what begins until the sender
/// heeds the PAUSE still comes.
void PauseTimes::find_most(LinkId id) {
  Times& times = links_[id];
  const Link& link = topology_.links[id];
  const double bytes = model_.packet_bytes;
  const auto in_bytes = [&](double data) { return std::round(data * topology_.units.data_bytes); };
  const double xoff = in_bytes(link.xoff);
  const double closing = is_mixed() ? xoff + bytes : std::max(1.0, std::ceil(xoff / bytes)) * bytes;
  times.most_bytes = closing + begun_bytes(id, times.delay_ps + times.notice_ps);
  times.headroom_bytes = or_unlimited(times.most_bytes - xoff);
  const double shared = in_bytes(topology_.nodes[link.to].shared_buffer);
  const double room = std::min(in_bytes(link.buffer), shared);
  times.most_bytes =
      std::min(times.most_bytes, is_mixed() ? room : std::floor(room / bytes) * bytes);
}

}  // namespace portcullis::pfc::bound
