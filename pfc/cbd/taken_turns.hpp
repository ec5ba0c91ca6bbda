// SPDX-License-Identifier: BSD-3-Clause
//
// The turns that data takes, as far as they let no buffer wait for itself: what would
// close a circle is refused, and what was added last can be taken back.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "pfc/cbd/acyclic.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

class TakenTurns {
 public:
  /// `order` is a guess of an order of the links (AcyclicGraph), the same for every priority.
  TakenTurns(const Topology& topology, const std::vector<std::uint32_t>& priorities,
             const std::vector<Vertex>& order)
      : topology_(topology), graph_(buffers(order, priorities.size())), place_(kPriorities, 0) {
    for (std::uint32_t i = 0; i < priorities.size(); ++i) place_[priorities[i]] = i;
    count_ = static_cast<std::uint32_t>(priorities.size());
  }

  /// All `turns` (link, then link) in each of `priorities`, or none. A link that never pauses is no
  /// reason to wait.
  [[nodiscard]] bool try_add(std::span<const Edge> turns,
                             std::span<const std::uint32_t> priorities) {
    std::vector<Edge> fresh;
    for (const auto& [from, to] : turns)
      for (const std::uint32_t priority : priorities) {
        const Edge edge(from * count_ + place_[priority], to * count_ + place_[priority]);
        if (!std::isinf(topology_.links[to].xoff) && !known_.contains(key(edge)))
          fresh.push_back(edge);
      }
    if (!graph_.try_add(fresh)) return false;
    for (const Edge& edge : fresh) known_.insert(key(edge));
    added_.insert(added_.end(), fresh.begin(), fresh.end());
    return true;
  }

  [[nodiscard]] std::size_t mark() const noexcept { return added_.size(); }
  /// What was added since mark() said so.
  void take_back(std::size_t mark) {
    const auto last = std::span<const Edge>(added_).subspan(mark);
    graph_.take_back(last);
    for (const Edge& edge : last) known_.erase(key(edge));
    added_.resize(mark);
  }

 private:
  static std::uint64_t key(const Edge& edge) {
    return std::uint64_t{edge.first} << 32 | edge.second;
  }
  static std::vector<Vertex> buffers(const std::vector<Vertex>& order, std::size_t priorities) {
    std::vector<Vertex> all;
    for (const Vertex link : order)
      for (std::size_t i = 0; i < priorities; ++i)
        all.push_back(static_cast<Vertex>(link * priorities + i));
    return all;
  }

  const Topology& topology_;
  AcyclicGraph graph_;
  std::vector<std::uint32_t> place_;  // of a priority among those that are looked at
  std::uint32_t count_ = 0;
  std::unordered_set<std::uint64_t> known_;
  std::vector<Edge> added_;  // buffers
};

}  // namespace portcullis::pfc::cbd
