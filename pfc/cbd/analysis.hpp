// SPDX-License-Identifier: BSD-3-Clause
//
// Can this fabric deadlock? The cycles of its buffer-dependency graph, who makes them, and what
// breaks them. No cycle is proof that PFC cannot deadlock; a cycle is where the packet simulator
// and the fluid solver have to look.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "pfc/cbd/breaking.hpp"
#include "pfc/cbd/cycles.hpp"
#include "pfc/cbd/dependencies.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

/// Links of which each depends, in the end, on each other.
struct Component {
  std::vector<LinkId> links;  // ascending
  std::size_t edges = 0;
  Cycle shortest;                         // LinkIds
  std::vector<std::uint32_t> priorities;  // on the links of `shortest`, where they are rewritten
  std::vector<std::vector<User>> users;   // of shortest[i] and the link after it
  std::optional<User> loop;  // makes all of `shortest` alone: the paths of one destination go round
  std::size_t cycles = 0;    // that visit no link twice; more than kExactCycles are not counted
  std::optional<Breaks> breaks;  // vertices are LinkIds; with `priorities` those of buffer_of()
};

struct Analysis {
  std::uint32_t priority = 0;
  std::vector<std::uint32_t> rewritten;  // all that data comes to have, where they are rewritten
  std::vector<std::uint32_t> begins;     // in which it begins then
  std::vector<std::uint32_t> only;       // components without a buffer of these are left out then
  std::size_t links = 0;
  std::size_t edges = 0;
  std::size_t flows = 0;              // of this priority, that were looked at
  std::size_t destinations = 0;       // whose routes were
  std::vector<Component> components;  // by their first link
  /// What is not looked at, for it ends without a next hop.
  Dependencies::DeadEnds dead_ends;
  std::vector<std::uint32_t> cut_flows;

  [[nodiscard]] bool is_free_of_cycles() const noexcept { return components.empty(); }
};

struct AnalysisOptions {
  Traffic traffic = Traffic::All;
  /// Off: no breaks, which take most of the time where a component is large.
  bool with_breaks = true;
};

[[nodiscard]] Analysis analyse(const Dependencies& dependencies, std::uint32_t priority,
                               const AnalysisOptions& options);
/// The priorities to look at: `asked`, or those that flows use; where priorities are rewritten, all
/// those in which data begins, whatever is asked. InvalidArgument when there is nothing to look at
/// in one of them, for "no cycle" must not be said of that: no flow of it, no routes.
[[nodiscard]] Result<std::vector<std::uint32_t>> check_question(
    const Topology& topology, const std::vector<std::uint32_t>& asked, Traffic traffic);

/// InvalidArgument when no data goes anywhere in any of them: no flow, and no route that what
/// begins somewhere takes.
[[nodiscard]] Result<void> check_looked_at(std::span<const Analysis> analyses);

/// Who is in each of these sets, which ascend; the first of several.
[[nodiscard]] std::optional<User> common_user(const std::vector<std::vector<User>>& users);

/// `topology` was checked.
[[nodiscard]] Analysis analyse(const Topology& topology, std::uint32_t priority,
                               const AnalysisOptions& options);

}  // namespace portcullis::pfc::cbd
