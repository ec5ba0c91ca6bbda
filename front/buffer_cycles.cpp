// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/buffer_cycles.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "front/fabric_impl.hpp"
#include "front/one_line.hpp"
#include "pfc/cbd/analysis.hpp"

namespace portcullis {
namespace {

namespace cbd = pfc::cbd;

Result<cbd::Traffic> traffic_of(Traffic traffic) {
  switch (traffic) {
    case Traffic::All:
      return cbd::Traffic::All;
    case Traffic::Flows:
      return cbd::Traffic::Flows;
    case Traffic::Routes:
      return cbd::Traffic::Routes;
  }
  return fail(Errc::InvalidArgument, "traffic " + std::to_string(static_cast<unsigned>(traffic)) +
                                         "; All, Flows and Routes (0 to 2) are accepted");
}

/// What is told of one fabric's analysis.
struct Teller {
  const Fabric::Impl& fabric;

  [[nodiscard]] const std::string& link(pfc::LinkId id) const {
    return fabric.topology.links[id].name;
  }
  [[nodiscard]] std::string told(pfc::LinkId id) const { return link(id); }
  [[nodiscard]] std::string told(const cbd::User& user) const {
    return cbd::name_of(user, fabric.topology);
  }
  [[nodiscard]] std::string told(const cbd::Edge& turn) const {
    return link(turn.first) + " then " + link(turn.second);
  }
  template <class Change>
  [[nodiscard]] KnotBreak told(const cbd::BreakingSet<Change>& set) const {
    KnotBreak one{.changes = {}, .is_smallest = set.is_smallest};
    for (const Change& change : set.changes) one.changes.push_back(told(change));
    return one;
  }

  [[nodiscard]] Knot told(const cbd::Component& component) const {
    Knot knot;
    knot.links = fabric.names_of(component.links);
    knot.shortest = fabric.names_of(component.shortest);
    for (const auto& users : component.users) {
      auto& names = knot.users.emplace_back();
      for (const cbd::User& user : users) names.push_back(told(user));
    }
    if (component.loop) knot.loop = told(*component.loop);
    knot.has_more_cycles = component.cycles > cbd::kExactCycles;
    knot.cycles = std::min(component.cycles, cbd::kExactCycles);
    if (component.breaks) {
      knot.turns = told(component.breaks->turns);
      knot.leaves = told(component.breaks->links);
      knot.moves = told(component.breaks->users);
    }
    return knot;
  }
};

}  // namespace

Result<std::vector<PriorityCycles>> find_buffer_cycles(const Fabric& fabric,
                                                       const CycleOptions& options) {
  const pfc::Topology& topology = fabric.impl().topology;
  if (!topology.rewrites.empty())
    return fail(Errc::Unsupported,
                "priorities that are rewritten on the way; pfc-deadlock cbd takes them");
  PORTCULLIS_TRY_ASSIGN(const cbd::Traffic traffic, traffic_of(options.traffic));
  PORTCULLIS_TRY_ASSIGN(const auto priorities,
                        in_one_line(cbd::check_question(topology, options.priorities, traffic)));
  const Teller teller{fabric.impl()};
  std::vector<PriorityCycles> all;
  for (const std::uint32_t priority : priorities) {
    const cbd::Analysis found =
        cbd::analyse(topology, priority, {.traffic = traffic, .with_breaks = options.with_breaks});
    PriorityCycles one{.priority = priority,
                       .links = found.links,
                       .dependencies = found.edges,
                       .flows = found.flows,
                       .destinations = found.destinations,
                       .knots = {}};
    for (const cbd::Component& component : found.components)
      one.knots.push_back(teller.told(component));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace portcullis
