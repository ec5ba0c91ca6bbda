// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/cbd/split_flows.hpp"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <utility>

#include "pfc/cbd/flow_paths.hpp"

namespace portcullis::pfc::cbd {
namespace {

struct Way {
  std::vector<LinkId> links;
  std::uint64_t parts = 1;  // one of so many of the flow
};

tl::unexpected<Error> too_many(const Flow& flow) {
  return fail(Errc::Unsupported,
              fmt::format("flow {}: ECMP gives it more than {} parts; --ecmp first, or flows with "
                          "paths of their own, are accepted",
                          flow.name, kMostParts));
}

class Splitter {
 public:
  explicit Splitter(const Topology& topology) : topology_(topology), paths_(topology) {}

  Result<SplitFlows> run() {
    std::map<LinkId, std::uint64_t> parts_of;  // by the link that flows begin at
    for (const Flow& flow : topology_.flows) {
      PORTCULLIS_TRY(find_ways(flow));
      for (const Way& way : ways_.back()) {
        if (way.links.empty()) continue;  // a loop, which begins wherever the routes say
        std::uint64_t& parts = parts_of.try_emplace(way.links.front(), 1).first->second;
        parts = std::lcm(parts, way.parts);
        if (parts > kMostParts) return too_many(flow);
      }
    }
    SplitFlows split{topology_, {}, {}, {}};
    split.topology.flows.clear();
    for (std::uint32_t i = 0; i < topology_.flows.size(); ++i) add(i, parts_of, split);
    split.note += whole_;
    return split;
  }

 private:
  bool goes_round(const Flow& flow) {
    return !cyclic_components(Graph(topology_.links.size(), paths_.of(flow).turns)).empty();
  }

  Result<void> find_ways(const Flow& flow) {
    std::vector<Way>& ways = ways_.emplace_back();
    if (!paths_.has_choice(flow)) {
      ways.push_back({flow.path, 1});
      return {};
    }
    // Round a loop there is no way that ends; the simulator follows the first next hops.
    if (goes_round(flow)) {
      if (flow.ttl == 0)
        return fail(Errc::Unsupported,
                    fmt::format("flow {}: its routes go round; a ttl, --ecmp first or other routes "
                                "are accepted",
                                flow.name));
      ways.push_back({flow.path, 1});
      whole_ += fmt::format(
          "flow {}: several next hops are offered, and the routes go round: not split, the first "
          "of "
          "each is taken\n",
          flow.name);
      return {};
    }
    std::vector<Way> open{{{}, 1}};
    while (!open.empty()) {
      Way way = std::move(open.back());
      open.pop_back();
      const NodeId at = way.links.empty() ? flow.from : topology_.links[way.links.back()].to;
      if (at == flow.to) {
        ways.push_back(std::move(way));
        continue;
      }
      const std::vector<LinkId> next = paths_.next_hops(flow, at);
      if (next.empty())
        return fail(Errc::Unsupported,
                    fmt::format("flow {}: no next hop at {}, where a part of it comes; --ecmp "
                                "first, or a route there, is accepted",
                                flow.name, topology_.nodes[at].name));
      for (auto link = next.rbegin(); link != next.rend(); ++link) {
        Way longer = way;
        longer.links.push_back(*link);
        longer.parts *= next.size();
        if (longer.parts > kMostParts) return too_many(flow);
        open.push_back(std::move(longer));
      }
      if (open.size() + ways.size() > kMostParts) return too_many(flow);
    }
    return {};
  }

  void add(std::uint32_t index, const std::map<LinkId, std::uint64_t>& parts_of,
           SplitFlows& to) const {
    const Flow& flow = topology_.flows[index];
    const std::vector<Way>& ways = ways_[index];
    std::uint32_t number = 0;
    std::string names;
    for (const Way& way : ways) {
      const std::uint64_t parts =
          way.links.empty() ? 1 : parts_of.at(way.links.front()) / way.parts;
      const double share = 1.0 / static_cast<double>(way.parts * parts);
      for (std::uint64_t i = 0; i < parts; ++i) {
        Flow part = flow;
        part.path = way.links;
        if (way.parts * parts > 1) part.name = fmt::format("{}/{}", flow.name, ++number);
        if (ways.size() > 1) part.is_routed = false;
        scale(part.source, share);
        to.topology.flows.push_back(std::move(part));
        to.origin.push_back(index);
        to.share.push_back(share);
      }
      if (ways.size() > 1) names += (names.empty() ? "" : ", ") + text_of(way);
    }
    if (ways.size() > 1)
      to.note +=
          fmt::format("flow {}: split over {} ways (ECMP): {}\n", flow.name, ways.size(), names);
  }

  static void scale(Source& source, double share) {
    source.rate *= share;
    source.buffer *= share;
    for (SourcePoint& point : source.points) point.data *= share;
  }

  [[nodiscard]] std::string text_of(const Way& way) const {
    const auto name = [&](NodeId node) { return topology_.nodes[node].name; };
    std::string text = name(topology_.links[way.links.front()].from);
    for (const LinkId link : way.links) text += ">" + name(topology_.links[link].to);
    return text;
  }

  const Topology& topology_;
  FlowPaths paths_;
  std::vector<std::vector<Way>> ways_;  // by flow
  std::string whole_;                   // who is not split though it has a choice
};

}  // namespace

Result<SplitFlows> split_flows(const Topology& topology) { return Splitter(topology).run(); }

}  // namespace portcullis::pfc::cbd
