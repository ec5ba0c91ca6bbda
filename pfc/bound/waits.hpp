// SPDX-License-Identifier: BSD-3-Clause
//
// How long a packet waits and is sent at each link, by the longest chain of pauses. A buffer is a
// link, or a link and one of its priorities (cbd::buffer_of): the queue before it and the ingress
// behind it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pfc/bound/pause_times.hpp"
#include "pfc/bound/residence_bound.hpp"
#include "pfc/cbd/graph.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::bound {

inline constexpr const char* kTooLong = "the times of this fabric are too long to be added up";

class Waits {
 public:
  /// `turns`: from a buffer to those that its data takes next, paused or not; `a_link` of its
  /// vertices are one link's, 1 or kPriorities. `begins`: links whose queues no watchdog empties.
  /// What is passed by reference outlives this.
  Waits(const Topology& topology, cbd::Graph turns, std::uint32_t a_link,
        const BoundOptions& options, const PauseTimes& times, const std::vector<bool>& begins);

  /// In picoseconds; kUnlimited: no bound.
  [[nodiscard]] double wait_ps(cbd::Vertex buffer) const { return waits_[buffer]; }
  [[nodiscard]] LinkId link_of(cbd::Vertex buffer) const { return buffer / a_link_; }
  /// Says why there is no bound for what takes `buffer`.
  void explain(cbd::Vertex buffer, ResidenceBound& to) const;

 private:
  [[nodiscard]] bool can_pause(cbd::Vertex buffer) const;
  [[nodiscard]] cbd::Graph pauses() const;
  void find_waits();
  [[nodiscard]] double packet_ps(LinkId link) const;
  [[nodiscard]] double restart_ps(LinkId link) const;
  [[nodiscard]] double own_ps(cbd::Vertex buffer) const;
  [[nodiscard]] double wait_at(cbd::Vertex buffer, std::span<const cbd::Vertex> next) const;
  [[nodiscard]] double watched_ps(cbd::Vertex buffer) const;
  [[nodiscard]] std::vector<cbd::Vertex> circle_with(cbd::Vertex buffer) const;
  [[nodiscard]] std::string local_reason(cbd::Vertex buffer) const;

  const Topology& topology_;
  const BoundOptions& options_;
  const PauseTimes& times_;
  const std::vector<bool>& begins_;  // by link
  const cbd::Graph graph_;
  const std::uint32_t a_link_;
  std::vector<double> ahead_;  // bytes that may stand in a queue, the packet that waits included
  std::vector<double> waits_;
  std::vector<bool> is_cyclic_;
};

}  // namespace portcullis::pfc::bound
