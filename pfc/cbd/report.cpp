// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "pfc/cbd/rewritten.hpp"
#include "pfc/cbd/routing.hpp"
#include "pfc/csv.hpp"

namespace portcullis::pfc::cbd {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr std::size_t kShownUsers = 4;  // of an edge, in text

Names link_names(const Topology& topology, const std::vector<LinkId>& links) {
  Names names;
  for (const LinkId link : links) names.push_back(topology.links[link].name);
  return names;
}

Names user_names(const Topology& topology, const std::vector<User>& users) {
  Names names;
  for (const User& user : users) names.push_back(name_of(user, topology));
  return names;
}

/// LINK, or LINK@PRIORITY of a buffer.
std::string vertex_name(const Topology& topology, Vertex vertex, bool is_buffer) {
  if (!is_buffer) return topology.links[vertex].name;
  return fmt::format("{}@{}", topology.links[link_of(vertex)].name, priority_of(vertex));
}

struct BreakNames {
  Names turns;
  Names links;
  Names users;
};
BreakNames break_names(const Topology& topology, const Component& component) {
  const bool are_buffers = !component.priorities.empty();
  const Breaks& breaks = *component.breaks;
  BreakNames names;
  for (const auto& [from, to] : breaks.turns.changes)
    names.turns.push_back(vertex_name(topology, from, are_buffers) + " > " +
                          vertex_name(topology, to, are_buffers));
  for (const Vertex vertex : breaks.links.changes)
    names.links.push_back(vertex_name(topology, vertex, are_buffers));
  names.users = user_names(topology, breaks.users.changes);
  return names;
}

/// LINK, or LINK@PRIORITY where priorities are rewritten.
Names cycle_names(const Topology& topology, const Component& component) {
  Names names = link_names(topology, component.shortest);
  for (std::size_t i = 0; i < component.priorities.size(); ++i)
    names[i] += fmt::format("@{}", component.priorities[i]);
  return names;
}

std::string few(const Names& names) {
  if (names.size() <= kShownUsers) return fmt::format("{}", fmt::join(names, ", "));
  const auto shown = std::span(names).first(kShownUsers);
  return fmt::format("{} and {} more", fmt::join(shown, ", "), names.size() - kShownUsers);
}

std::string count_text(const Component& component) {
  return component.cycles > kExactCycles ? fmt::format("more than {}", kExactCycles)
                                         : fmt::format("{}", component.cycles);
}

std::string break_text(std::string_view what, bool is_smallest, const Names& names) {
  return fmt::format("    {} ({}, {}): {}\n", what, names.size(),
                     is_smallest ? "the fewest" : "inclusion-minimal", few(names));
}

std::string component_text(const Topology& topology, const Component& component) {
  std::string text = fmt::format(
      "  {} links, {} dependencies between them, {} cycle{}; a shortest one{}:\n",
      component.links.size(), component.edges, count_text(component),
      component.cycles == 1 ? "" : "s",
      component.loop ? ", a ROUTING LOOP of " + name_of(*component.loop, topology) : "");
  const Names names = cycle_names(topology, component);
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("    {} waits for {}   ({})\n", names[i], names[(i + 1) % names.size()],
                        few(user_names(topology, component.users[i])));
  }
  if (!component.breaks) return text;
  const Breaks& breaks = *component.breaks;
  const BreakNames changes = break_names(topology, component);
  text += "  any one of these lines breaks it:\n";
  text += break_text("change the priority at the turns", breaks.turns.is_smallest, changes.turns);
  text +=
      break_text("take from the lossless class the links", breaks.links.is_smallest, changes.links);
  text += break_text("reroute", breaks.users.is_smallest, changes.users);
  return text;
}

Json break_json(bool is_smallest, const Names& changes) {
  return {{"exactness", is_smallest ? "smallest" : "inclusion-minimal"}, {"changes", changes}};
}

Json component_json(const Topology& topology, const Component& component) {
  Json json = {{"links", link_names(topology, component.links)},
               {"edges", component.edges},
               {"cycles", component.cycles > kExactCycles ? Json(nullptr) : Json(component.cycles)},
               {"shortest_cycle", Json::array()},
               {"routing_loop_of",
                component.loop ? Json(name_of(*component.loop, topology)) : Json(nullptr)}};
  for (std::size_t i = 0; i < component.shortest.size(); ++i) {
    Json edge = {{"link", topology.links[component.shortest[i]].name}};
    if (!component.priorities.empty()) edge["priority"] = component.priorities[i];
    edge["users"] = user_names(topology, component.users[i]);
    json["shortest_cycle"].push_back(std::move(edge));
  }
  if (!component.breaks) return json;
  const Breaks& breaks = *component.breaks;
  const BreakNames changes = break_names(topology, component);
  json["breaks"] = {{"turns", break_json(breaks.turns.is_smallest, changes.turns)},
                    {"links", break_json(breaks.links.is_smallest, changes.links)},
                    {"users", break_json(breaks.users.is_smallest, changes.users)}};
  return json;
}

std::string_view reaction_name(Reaction reaction) {
  switch (reaction) {
    case Reaction::Converged:
      return "converged";
    case Reaction::ValleyFree:
      return "valley-free";
    case Reaction::AsGiven:
      return "as-given";
    case Reaction::Local:
      return "local";
    case Reaction::Transient:
      return "transient";
  }
  return "unknown";
}

/// What the reaction takes for granted, and what it leaves out.
std::string_view reaction_text(Reaction reaction) {
  switch (reaction) {
    case Reaction::Converged:
      return "every node has the shortest paths of what is left; the time until then is not looked "
             "at (transient is)";
    case Reaction::ValleyFree:
      return "up, then down, as BGP in a Clos with the AS numbers of RFC 7938 5.2.1; what has lost "
             "its way down is dropped";
    case Reaction::AsGiven:
      return "nothing is routed anew; data gets as far as the failed link";
    case Reaction::Local:
      return "who lost its last next hop turns to its nearest neighbour, nobody has heard of "
             "another's failed link, and nothing prevents loops; BGP in a Clos drops instead "
             "(valley-free)";
    case Reaction::Transient:
      return "routes that are left and the shortest paths of who has heard of all or a part of the "
             "failures, in any mixture, as OSPF has them on its way; BGP with an AS number for "
             "each "
             "node may explore others, which are not looked at";
  }
  return "unknown";
}

std::string cycle_text(const Topology& topology, const FailureOutcome& outcome) {
  return fmt::format("{}{}", fmt::join(link_names(topology, outcome.shortest), " > "),
                     outcome.is_loop ? "   (routing loop)" : "");
}

/// What the sentence about cycles rests on, a line each.
std::string assumptions_text(const FailureSweep& sweep) {
  std::string text = fmt::format("  routing {}: {}\n", reaction_name(sweep.reaction),
                                 reaction_text(sweep.reaction));
  if (sweep.is_assumed)
    text += "  neither flows nor routes were given: shortest paths to every host are assumed\n";
  if (sweep.is_other_policy)
    text +=
        fmt::format("  the routes given are not those of {}, which has its own after a failure\n",
                    reaction_name(sweep.reaction));
  if (sweep.explicit_flows > 0)
    text += fmt::format("  {} flow{} with a path of {} own: no failure routes {} anew\n",
                        sweep.explicit_flows, sweep.explicit_flows == 1 ? "" : "s",
                        sweep.explicit_flows == 1 ? "its" : "their",
                        sweep.explicit_flows == 1 ? "it" : "them");
  return text;
}

Json outcome_json(const Topology& topology, const FailureOutcome& outcome, Names cables) {
  return {{"cables", std::move(cables)},
          {"components", outcome.components},
          {"priority", outcome.priority},
          {"shortest_cycle", link_names(topology, outcome.shortest)},
          {"routing_loop", outcome.is_loop},
          {"cut_off", outcome.cut_off},
          {"broken_flows", outcome.broken_flows},
          {"without_next_hop", outcome.dead_ends.count}};
}

/// "2 flows and the routes to 4 destinations".
std::string looked_at(const Analysis& analysis) {
  std::string text;
  if (analysis.flows > 0)
    text = fmt::format("{} flow{}", analysis.flows, analysis.flows == 1 ? "" : "s");
  if (analysis.destinations > 0)
    text += fmt::format("{}the routes to {} destination{}", text.empty() ? "" : " and ",
                        analysis.destinations, analysis.destinations == 1 ? "" : "s");
  return text.empty() ? "nothing" : text;
}

/// Where data ends for want of a next hop; there it is dropped, if the routes are all there are.
std::string left_out_text(const Topology& topology, const Analysis& analysis) {
  std::string text = dead_ends_text(topology, analysis.dead_ends);
  if (!analysis.cut_flows.empty()) {
    Names names;
    for (const std::uint32_t flow : analysis.cut_flows) names.push_back(topology.flows[flow].name);
    text += fmt::format(
        "  not looked at: what of flow{} {} comes to a node without a next hop for it\n",
        names.size() == 1 ? "" : "s", few(names));
  }
  return text;
}

Names cable_names(const Topology& topology, const std::vector<std::vector<LinkId>>& cables,
                  const std::vector<std::uint32_t>& failed) {
  Names names;
  for (const std::uint32_t cable : failed)
    names.push_back(topology.links[cables[cable].front()].name);
  return names;
}

std::string csv_list(const Names& names) {
  return csv_field(fmt::format("{}", fmt::join(names, " ")));
}

}  // namespace

std::string dead_ends_text(const Topology& topology, const Dependencies::DeadEnds& ends) {
  if (ends.count == 0) return "";
  return fmt::format(
      "  not looked at: data for {} has no next hop at {}{}; it is taken to be dropped there\n",
      topology.nodes[ends.destination].name, topology.nodes[ends.node].name,
      ends.count == 1 ? "" : fmt::format(", nor in {} more places", ends.count - 1));
}

namespace {

/// "priority 0", or what becomes of it where priorities are rewritten.
std::string priorities_text(const Analysis& analysis) {
  if (analysis.rewritten.empty()) return fmt::format("priority {}", analysis.priority);
  const std::string only = analysis.only.empty() ? ""
                                                 : fmt::format(", cycles through priority {} alone",
                                                               fmt::join(analysis.only, ", "));
  return fmt::format("data that begins in priority {} and has {} on the way{}",
                     fmt::join(analysis.begins, ", "), fmt::join(analysis.rewritten, ", "), only);
}

}  // namespace

std::string analysis_text(const Topology& topology, std::span<const Analysis> analyses) {
  std::string text;
  for (const Analysis& analysis : analyses) {
    text += fmt::format("{}: {} links, {} dependencies, ", priorities_text(analysis),
                        analysis.links, analysis.edges);
    text += analysis.is_free_of_cycles()
                ? fmt::format("no cycle: {} cannot deadlock by PFC if hosts take what arrives\n",
                              looked_at(analysis))
                : fmt::format("{} cyclic component{}\n", analysis.components.size(),
                              analysis.components.size() == 1 ? "" : "s");
    text += left_out_text(topology, analysis);
    for (const Component& component : analysis.components)
      text += component_text(topology, component);
  }
  return text;
}

std::string analysis_json(const Topology& topology, std::span<const Analysis> analyses) {
  Json json = {{"topology", topology.name}, {"priorities", Json::array()}};
  for (const Analysis& analysis : analyses) {
    Json one = {{"priority", analysis.priority},
                {"rewritten", analysis.rewritten},
                {"begins", analysis.begins},
                {"only", analysis.only},
                {"links", analysis.links},
                {"edges", analysis.edges},
                {"flows", analysis.flows},
                {"destinations", analysis.destinations},
                {"without_next_hop", analysis.dead_ends.count},
                {"flows_cut_short", analysis.cut_flows.size()},
                {"components", Json::array()}};
    for (const Component& component : analysis.components)
      one["components"].push_back(component_json(topology, component));
    json["priorities"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

std::string analysis_csv(const Topology& topology, std::span<const Analysis> analyses) {
  std::string csv = "priority,component,position,from,to,users\n";
  for (const Analysis& analysis : analyses)
    for (std::size_t c = 0; c < analysis.components.size(); ++c) {
      const Component& component = analysis.components[c];
      const Names names = cycle_names(topology, component);
      for (std::size_t i = 0; i < names.size(); ++i)
        csv += fmt::format("{},{},{},{},{},{}\n", analysis.priority, c, i, csv_field(names[i]),
                           csv_field(names[(i + 1) % names.size()]),
                           csv_field(fmt::format(
                               "{}", fmt::join(user_names(topology, component.users[i]), "; "))));
    }
  return csv;
}

std::string failures_text(const Topology& topology, const FailureSweep& sweep,
                          const FailureOptions& options) {
  constexpr std::size_t kShown = 10;
  const auto cables = cables_of(topology);
  std::size_t loops = 0;
  std::size_t cut_off = 0;
  std::size_t breaking = 0;
  for (const FailureOutcome& outcome : sweep.outcomes) {
    loops += outcome.is_loop ? 1 : 0;
    cut_off += outcome.cut_off != 0 ? 1 : 0;
    breaking += outcome.broken_flows != 0 ? 1 : 0;
  }
  std::string text = fmt::format(
      "with all cables: {}\n{} of {} sets of {} failed cables ({}, routing {}) have a cycle, {} of "
      "them a routing loop; {} take all routes to a destination from some "
      "node, {} keep data of flows from arriving\n",
      sweep.intact.components == 0 ? "no cycle" : cycle_text(topology, sweep.intact), sweep.cyclic,
      sweep.outcomes.size(), options.failures, sweep.is_sampled ? "sampled" : "all there are",
      reaction_name(sweep.reaction), loops, cut_off, breaking);
  text += assumptions_text(sweep);
  text += dead_ends_text(topology, sweep.intact.dead_ends);
  if (sweep.intact.broken_flows > 0)
    text += fmt::format(
        "  not looked at: what of {} flow{} comes to a node without a next hop for it, with all "
        "cables\n",
        sweep.intact.broken_flows, sweep.intact.broken_flows == 1 ? "" : "s");
  std::size_t shown = 0;
  for (const FailureOutcome& outcome : sweep.outcomes) {
    if (outcome.components == 0) continue;
    if (shown++ == kShown) {
      text += fmt::format("  and {} more\n", sweep.cyclic - kShown);
      break;
    }
    text += fmt::format("  without {}: {}\n",
                        fmt::join(cable_names(topology, cables, outcome.cables), ", "),
                        cycle_text(topology, outcome));
  }
  return text;
}

std::string failures_json(const Topology& topology, const FailureSweep& sweep,
                          const FailureOptions& options) {
  const auto cables = cables_of(topology);
  Json json = {{"topology", topology.name},
               {"failures", options.failures},
               {"reaction", reaction_name(sweep.reaction)},
               {"routes_assumed", sweep.is_assumed},
               {"routes_of_another_policy", sweep.is_other_policy},
               {"explicit_flows", sweep.explicit_flows},
               {"sets", sweep.outcomes.size()},
               {"sampled", sweep.is_sampled},
               {"cyclic", sweep.cyclic},
               {"intact", outcome_json(topology, sweep.intact, {})},
               {"outcomes", Json::array()}};
  for (const FailureOutcome& outcome : sweep.outcomes)
    json["outcomes"].push_back(
        outcome_json(topology, outcome, cable_names(topology, cables, outcome.cables)));
  return json.dump(2) + "\n";
}

std::string failures_csv(const Topology& topology, const FailureSweep& sweep) {
  const auto cables = cables_of(topology);
  std::string csv = "cables,components,priority,shortest_cycle,routing_loop,cut_off,broken_flows\n";
  const auto add = [&](const FailureOutcome& outcome) {
    csv += fmt::format("{},{},{},{},{},{},{}\n",
                       csv_list(cable_names(topology, cables, outcome.cables)), outcome.components,
                       outcome.priority, csv_list(link_names(topology, outcome.shortest)),
                       outcome.is_loop ? 1 : 0, outcome.cut_off, outcome.broken_flows);
  };
  add(sweep.intact);
  for (const FailureOutcome& outcome : sweep.outcomes) add(outcome);
  return csv;
}

}  // namespace portcullis::pfc::cbd
