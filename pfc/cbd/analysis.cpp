// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace portcullis::pfc::cbd {
namespace {

void rename(Vertex& vertex, const std::vector<Vertex>& names) { vertex = names[vertex]; }

Breaks breaks_of(const Dependencies& dependencies, const Graph& graph,
                 const std::vector<Cycle>& cycles, const std::vector<LinkId>& names) {
  std::vector<std::vector<User>> users;
  for (Vertex from = 0; from < graph.size(); ++from)
    for (const Vertex to : graph.out(from))
      users.push_back(dependencies.users(names[from], names[to]));
  Breaks breaks = break_cycles(graph, cycles, users);
  for (auto& [from, to] : breaks.turns.changes) {
    rename(from, names);
    rename(to, names);
  }
  for (LinkId& link : breaks.links.changes) rename(link, names);
  return breaks;
}

Component component_of(const Dependencies& dependencies, std::vector<LinkId> links,
                       const AnalysisOptions& options) {
  const Graph graph = induced(dependencies.graph(), links);
  Component component;
  component.edges = graph.edges();
  component.shortest = shortest_cycle(graph);
  for (Vertex& vertex : component.shortest) rename(vertex, links);
  for (std::size_t i = 0; i < component.shortest.size(); ++i)
    component.users.push_back(dependencies.users(
        component.shortest[i], component.shortest[(i + 1) % component.shortest.size()]));
  component.loop = common_user(component.users);
  const std::vector<Cycle> cycles = simple_cycles(graph, kExactCycles);
  component.cycles = cycles.size();
  if (options.with_breaks) component.breaks = breaks_of(dependencies, graph, cycles, links);
  component.links = std::move(links);
  return component;
}

}  // namespace

std::optional<User> common_user(const std::vector<std::vector<User>>& users) {
  std::vector<User> common = users.front();
  for (const std::vector<User>& next : users) {
    std::vector<User> both;
    std::ranges::set_intersection(common, next, std::back_inserter(both));
    common = std::move(both);
  }
  return common.empty() ? std::nullopt : std::optional(common.front());
}

Analysis analyse(const Dependencies& dependencies, std::uint32_t priority,
                 const AnalysisOptions& options) {
  Analysis analysis;
  analysis.priority = priority;
  analysis.links = dependencies.graph().size();
  analysis.edges = dependencies.graph().edges();
  analysis.flows = dependencies.flows();
  analysis.destinations = dependencies.destinations();
  analysis.dead_ends = dependencies.dead_ends();
  analysis.cut_flows = dependencies.cut_flows();
  for (std::vector<Vertex>& links : cyclic_components(dependencies.graph()))
    analysis.components.push_back(component_of(dependencies, std::move(links), options));
  return analysis;
}

namespace {

/// Where data begins that gets other priorities on the way: in those of flows, and on routes in
/// those that are rewritten and that nothing becomes. What is asked for may be neither: data comes
/// to have it.
std::vector<std::uint32_t> beginnings(const Topology& topology,
                                      const std::vector<std::uint32_t>& asked, Traffic traffic) {
  std::set<std::uint32_t> begins;
  if (traffic != Traffic::Routes)
    for (const Flow& flow : topology.flows) begins.insert(flow.priority);
  if (traffic != Traffic::Flows && !topology.routes.empty()) {
    std::set<std::uint32_t> become;
    std::set<std::uint32_t> were;
    for (const Rewrite& rewrite : topology.rewrites) become.insert(rewrite.becomes);
    for (const Rewrite& rewrite : topology.rewrites) were.insert(rewrite.was);
    for (const std::uint32_t was : were)
      if (!become.contains(was)) begins.insert(was);
    begins.insert(asked.begin(), asked.end());
    if (begins.empty()) begins = were;
  }
  return {begins.begin(), begins.end()};
}

/// Of what was asked for, where priorities are rewritten: one that data neither begins with nor
/// gets.
std::optional<std::uint32_t> never_had(const Topology& topology,
                                       const std::vector<std::uint32_t>& asked,
                                       const std::vector<std::uint32_t>& begins) {
  if (topology.rewrites.empty()) return std::nullopt;
  for (const std::uint32_t priority : asked)
    if (std::ranges::find(begins, priority) == begins.end() &&
        std::ranges::find(topology.rewrites, priority, &Rewrite::becomes) ==
            topology.rewrites.end())
      return priority;
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::uint32_t>> check_question(const Topology& topology,
                                                  const std::vector<std::uint32_t>& asked,
                                                  Traffic traffic) {
  std::vector<std::uint32_t> priorities = asked;
  if (!topology.rewrites.empty()) priorities = beginnings(topology, asked, traffic);
  if (priorities.empty()) priorities = priorities_of(topology);
  // "No cycle" would be said of one that does not exist.
  for (const std::uint32_t priority : asked)
    if (priority >= kPriorities)
      return fail(Errc::InvalidArgument,
                  fmt::format("priority {}; 0 to {} is accepted", priority, kPriorities - 1));
  if (const auto unused = never_had(topology, asked, priorities))
    return fail(Errc::InvalidArgument,
                fmt::format("no data comes to have priority {}; one of them needed", *unused));
  if (traffic != Traffic::Flows && !topology.routes.empty()) return priorities;
  if (traffic == Traffic::Routes)
    return fail(Errc::InvalidArgument,
                "no routes to analyse; \"routes\" in the fabric, or the traffic of flows, needed");
  for (const std::uint32_t priority : priorities)
    if (std::ranges::find(topology.flows, priority, &Flow::priority) == topology.flows.end())
      return fail(Errc::InvalidArgument,
                  fmt::format("no flow of priority {}{} to analyse; one of them needed", priority,
                              traffic == Traffic::All ? " and no routes" : ""));
  return priorities;
}

Result<void> check_looked_at(std::span<const Analysis> analyses) {
  for (const Analysis& analysis : analyses)
    if (analysis.flows == 0 && analysis.destinations == 0)
      return fail(Errc::InvalidArgument,
                  fmt::format("nothing to look at in priority {}: no data begins where the routes "
                              "lead on; hosts, or flows, are needed",
                              analysis.priority));
  return {};
}

Analysis analyse(const Topology& topology, std::uint32_t priority, const AnalysisOptions& options) {
  return analyse(Dependencies(topology, priority, options.traffic), priority, options);
}

}  // namespace portcullis::pfc::cbd
