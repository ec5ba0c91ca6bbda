// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "pfc/cbd/breaking.hpp"
#include "pfc/cbd/reroute.hpp"
#include "pfc/cbd/rewritten.hpp"

namespace portcullis::pfc::cbd {
namespace {

class Adviser {
 public:
  Adviser(const Topology& topology, const std::vector<std::uint32_t>& priorities, Traffic traffic)
      : advice_{.topology = topology, .priorities = {}},
        priorities_(priorities),
        traffic_(traffic) {
    used_.insert(priorities.begin(), priorities.end());
    used_.insert(topology.priorities.begin(), topology.priorities.end());
    for (const Flow& flow : topology.flows) used_.insert(flow.priority);
    for (const Rewrite& rewrite : topology.rewrites) used_.insert(rewrite.becomes);
    for (std::uint32_t priority = 0; priority < kPriorities; ++priority)
      if (!used_.contains(priority)) free_.insert(priority);
  }

  Result<Advice> run(Remedy remedy) {
    // A round leaves no cycle within the priorities that it found some in.
    for (std::uint32_t round = 0; round <= kPriorities * kPriorities; ++round) {
      const Graph graph =
          rewritten_dependencies(advice_.topology, priorities_, {.traffic = traffic_});
      const auto components = cyclic_components(graph);
      if (components.empty()) return finish();
      targets_.clear();
      for (const std::vector<Vertex>& buffers : components) {
        const Graph inside = induced(graph, buffers);
        // Who makes an edge is not asked: turns and links are the answer.
        const std::vector<std::vector<User>> nobody(inside.edges(), {User{}});
        const Breaks breaks = break_cycles(inside, simple_cycles(inside, kExactCycles), nobody);
        if (remedy == Remedy::Lossy)
          take_out(breaks.links.changes, buffers);
        else
          PORTCULLIS_TRY(rewrite(breaks.turns.changes, buffers));
      }
    }
    return none_left();
  }

 private:
  Result<Advice> finish() {
    advice_.priorities.assign(used_.begin(), used_.end());
    return std::move(advice_);
  }

  static tl::unexpected<Error> none_left() {
    return fail(Errc::Unsupported,
                fmt::format("{} priorities do not suffice: one more is needed each time that data "
                            "takes a turn of the cycles, as round a routing loop; other paths, or "
                            "lossy links, are accepted",
                            kPriorities));
  }

  void take_out(const std::vector<Vertex>& vertices, const std::vector<Vertex>& buffers) {
    for (const Vertex vertex : vertices) {
      Link& link = advice_.topology.links[link_of(buffers[vertex])];
      advice_.changes += link.xoff == kUnlimited ? 0 : 1;
      link.xoff = kUnlimited;
      link.xon = kUnlimited;
    }
  }

  /// All that leave one priority in a round go to the same one.
  Result<void> rewrite(const std::vector<Edge>& turns, const std::vector<Vertex>& buffers) {
    for (const auto& [from, to] : turns) {
      const std::uint32_t was = priority_of(buffers[from]);
      const std::uint32_t now = priority_of(buffers[to]);
      auto target = targets_.find(was);
      if (target == targets_.end()) {
        if (free_.empty()) return none_left();
        target = targets_.emplace(was, *free_.begin()).first;
        used_.insert(target->second);
        free_.erase(free_.begin());
      }
      Rewrite added{link_of(buffers[from]), link_of(buffers[to]), was, target->second};
      // A turn that is rewritten already leads elsewhere now.
      const auto known = std::ranges::find_if(advice_.topology.rewrites, [&](const Rewrite& one) {
        return one.from == added.from && one.to == added.to && one.was == was;
      });
      if (known != advice_.topology.rewrites.end() && now != was) {
        *known = added;
      } else {
        advice_.topology.rewrites.push_back(added);
      }
      ++advice_.changes;
    }
    return {};
  }

  Advice advice_;
  const std::vector<std::uint32_t>& priorities_;
  const Traffic traffic_;
  std::set<std::uint32_t> used_;
  std::set<std::uint32_t> free_;
  std::map<std::uint32_t, std::uint32_t> targets_;  // of this round, by the priority that data had
};

}  // namespace

Result<Advice> advise(const Topology& topology, const std::vector<std::uint32_t>& priorities,
                      Traffic traffic, Remedy remedy) {
  if (remedy == Remedy::Reroute) {
    PORTCULLIS_TRY_ASSIGN(Rerouted found, reroute(topology, priorities, traffic));
    return Advice{.topology = std::move(found.topology),
                  .priorities = priorities,
                  .changes = found.destinations + found.flows,
                  .destinations = found.destinations,
                  .flows = found.flows};
  }
  return Adviser(topology, priorities, traffic).run(remedy);
}

}  // namespace portcullis::pfc::cbd
