// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/bound/pause_times.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "pfc/cbd/dependencies.hpp"
#include "pfc/cbd/routing.hpp"

namespace portcullis::pfc::bound {

namespace {

/// That data has somewhere; routes carry it in any that is rewritten.
std::size_t priorities_in_use(const Topology& topology) {
  if (topology.rewrites.empty()) return cbd::priorities_of(topology).size();
  std::set<std::uint32_t> used;
  for (const Flow& flow : topology.flows) used.insert(flow.priority);
  for (const Rewrite& rewrite : topology.rewrites) used.insert({rewrite.was, rewrite.becomes});
  return used.size();
}

}  // namespace

PauseTimes::PauseTimes(const Topology& topology, const PauseModel& model)
    : topology_(topology),
      model_(model),
      priorities_(priorities_in_use(topology)),
      links_(topology.links.size()) {
  const double ps_per_time = topology.units.time_s * 1e12;
  for (LinkId id = 0; id < links_.size(); ++id) {
    const Link& link = topology.links[id];
    const double ps_per_byte = ps_per_time / (link.capacity * topology.units.data_bytes);
    links_[id].packet_ps = std::max(1.0, std::round(ps_per_byte * model.packet_bytes));
    links_[id].frame_ps = std::max(1.0, std::round(ps_per_byte * kPauseFrameBytes));
    links_[id].delay_ps = std::round(link.delay * ps_per_time);
    links_[id].notice_ps = links_[id].delay_ps + model.response_ps;
  }
  if (model.is_in_band)
    for (const auto& cable : cbd::cables_of(topology)) {
      if (cable.size() != 2) continue;
      find_notice(cable[0], cable[1]);
      find_notice(cable[1], cable[0]);
    }
  for (LinkId link = 0; link < links_.size(); ++link) find_levels(link);
}

/// A frame says what the gate is when it has left, so of one priority the first frame that leaves
/// tells the news: it waits for one packet. Frames of other priorities come before it, two for
/// every packet that arrives (it closes a gate, and leaves to open it) and one more for each
/// priority.
void PauseTimes::find_notice(LinkId link, LinkId back) {
  Times& times = links_[link];
  const Times& other = links_[back];
  const double share = 2 * other.frame_ps / times.packet_ps;
  links_[back].frame_share = share;
  const double frames = priorities_ == 1 ? 1.0 : 2.0 + static_cast<double>(priorities_);
  times.notice_ps += other.packet_ps + frames * other.frame_ps;
  if (priorities_ > 1 && share >= 1) times.notice_ps = kUnlimited;
}

void PauseTimes::find_levels(LinkId id) {
  Times& times = links_[id];
  const Link& link = topology_.links[id];
  const Node& node = topology_.nodes[link.to];
  const double bytes = model_.packet_bytes;
  const auto in_bytes = [&](double data) { return std::round(data * topology_.units.data_bytes); };
  const double xoff = in_bytes(link.xoff);
  // The packet that closes the gate had left when the next began, and what begins until the sender
  // heeds the PAUSE still comes.
  const double late = std::floor((times.delay_ps + times.notice_ps) / times.packet_ps) + 1;
  times.most_packets = std::max(1.0, std::ceil(xoff / bytes)) + late;
  times.headroom_bytes = times.most_packets * bytes - xoff;
  const double room = std::min(in_bytes(link.buffer), in_bytes(node.shared_buffer));
  times.most_packets = std::min(times.most_packets, std::floor(room / bytes));
  // A dynamic threshold may close a gate at one packet; only an empty ingress opens for sure.
  if (node.alpha > 0 || !std::isfinite(xoff)) return;
  const double xon = in_bytes(link.xon);
  times.least_closed = std::max(1.0, std::ceil(xon / bytes));
  times.between = std::max(1.0, std::floor((xoff - xon) / bytes));
}

}  // namespace portcullis::pfc::bound
