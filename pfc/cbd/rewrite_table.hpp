// SPDX-License-Identifier: BSD-3-Clause
//
// Topology::rewrites by turn: what priority data gets where it goes from one link to the next.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

class RewriteTable {
 public:
  explicit RewriteTable(const Topology& topology) {
    for (const Rewrite& rewrite : topology.rewrites)
      turns_[turn_of(rewrite.from, rewrite.to)].emplace_back(rewrite.was, rewrite.becomes);
  }

  /// Of data that had `priority` on `from` and goes on over `to`.
  [[nodiscard]] std::uint32_t after(LinkId from, LinkId to, std::uint32_t priority) const {
    const auto turn = turns_.find(turn_of(from, to));
    if (turn == turns_.end()) return priority;
    for (const auto& [was, becomes] : turn->second)
      if (was == priority) return becomes;
    return priority;
  }

 private:
  static std::uint64_t turn_of(LinkId from, LinkId to) { return std::uint64_t{from} << 32 | to; }

  std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>> turns_;
};

}  // namespace portcullis::pfc::cbd
