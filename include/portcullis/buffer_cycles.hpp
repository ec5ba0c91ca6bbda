// SPDX-License-Identifier: BSD-3-Clause
//
// Can this fabric lock for ever? The cycles of its buffer-dependency graph, who makes them, and
// what breaks them. No cycle is proof that PFC cannot deadlock; a cycle is where to look
// (fabric_runs.hpp), no proof that it does. docs/pfc.md has both halves.
//
// Example, fabrics.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto found, find_buffer_cycles(fabric));
//   for (const PriorityCycles& priority : found)
//     for (const Knot& knot : priority.knots)
//       std::cout << knot.shortest.size() << " links wait for each other in a circle\n";
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/fabric.hpp>
#include <portcullis/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace portcullis {

/// Whose paths count.
enum class Traffic : std::uint8_t {
  All,     // the flows and the routes
  Flows,   // what the flows take; a routed one every next hop that it is offered
  Routes,  // whatever the routes permit, from any host to any destination
};

/// What find_buffer_cycles() looks at.
struct CycleOptions {
  std::vector<std::uint32_t> priorities = {};  // 0 to 7; those that flows use unless given
  Traffic traffic = Traffic::All;              // whose paths are looked at
  bool with_breaks = true;  // off: Knot::breaks stays empty, which saves most of the time
};

/// Changes that leave no cycle of the knot.
struct KnotBreak {
  std::vector<std::string> changes;  // links, flows, or "A then B" for a turn
  bool is_smallest = false;          // no smaller set does; else no part of this one does
};

/// Links of which each waits, in the end, for each other.
struct Knot {
  std::vector<std::string> links;               // all of them, each one direction of a cable
  std::vector<std::string> shortest;            // each waits for the next, the last for the first
  std::vector<std::vector<std::string>> users;  // who takes shortest[i] and the link after it
  /// One destination's data makes that cycle alone: its paths go round.
  std::optional<std::string> loop;
  std::size_t cycles = 0;           // that visit no link twice
  bool has_more_cycles = false;     // there are more than `cycles`: counting ended there
  std::optional<KnotBreak> turns;   // data that takes a turn changes its priority there
  std::optional<KnotBreak> leaves;  // links leave the lossless class, or the fabric
  std::optional<KnotBreak> moves;   // flows or destinations take other paths, or a lossy priority
};

/// What was found in one priority, and of how much.
struct PriorityCycles {
  std::uint32_t priority = 0;  // 0 to 7
  // What was looked at:
  std::size_t links = 0;         // that carry this priority
  std::size_t dependencies = 0;  // pairs of links of which one waits for the other
  std::size_t flows = 0;         // whose paths were
  std::size_t destinations = 0;  // whose routes were
  std::vector<Knot> knots;       // none: this priority cannot deadlock
};

/// One a priority. InvalidArgument when there is nothing to look at in one of them, for "no cycle"
/// must not be said of that: no flow of it, and no routes.
[[nodiscard]] PORTCULLIS_API Result<std::vector<PriorityCycles>> find_buffer_cycles(
    const Fabric& fabric, const CycleOptions& options = {});

}  // namespace portcullis
