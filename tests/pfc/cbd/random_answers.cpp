// SPDX-License-Identifier: BSD-3-Clause
//
// Random fabrics and what the analysis says of them, one JSON object a line, for networkx_judge.py.
// A fabric is written as plain lists, so that the judge finds its dependencies by itself.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "pfc/cbd/analysis.hpp"

namespace portcullis::pfc::cbd {
namespace {

using Json = nlohmann::json;

class RandomFabric {
 public:
  explicit RandomFabric(std::uint32_t seed) : random_(seed) {}

  Topology make() {
    Topology topology;
    const std::uint32_t switches = between(3, 8);
    const std::uint32_t hosts = between(0, 4);
    for (std::uint32_t i = 0; i < switches; ++i)
      topology.add_node("s" + std::to_string(i), NodeKind::Switch);
    for (std::uint32_t i = 0; i < hosts; ++i) {
      const NodeId host = topology.add_node("h" + std::to_string(i), NodeKind::Host);
      const NodeId at = between(0, switches - 1);
      topology.add_link(host, at);
      topology.add_link(at, host);
    }
    const std::uint32_t density = between(15, 70);
    for (NodeId from = 0; from < switches; ++from)
      for (NodeId to = 0; to < switches; ++to)
        if (from != to && between(1, 100) <= density) topology.add_link(from, to);
    for (Link& link : topology.links)
      if (between(1, 20) == 1) link.xoff = kUnlimited;
    index(topology);
    add_routes(topology);
    add_flows(topology);
    return topology;
  }

 private:
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_()) % (high - low + 1);
  }

  void index(const Topology& topology) {
    from_.assign(topology.nodes.size(), {});
    for (LinkId link = 0; link < topology.links.size(); ++link)
      from_[topology.links[link].from].push_back(link);
  }

  void add_routes(Topology& topology) {
    const auto nodes = static_cast<NodeId>(topology.nodes.size());
    for (std::uint32_t i = between(0, 3); i > 0; --i) {
      const NodeId destination = between(0, nodes - 1);
      for (NodeId node = 0; node < nodes; ++node)
        for (const LinkId link : from_[node])
          if (between(1, 4) == 1) topology.routes.push_back({node, destination, link});
    }
    std::shuffle(topology.routes.begin(), topology.routes.end(), random_);
  }

  void add_flows(Topology& topology) {
    for (std::uint32_t i = between(0, between(0, 1) == 0 ? 12 : 40); i > 0; --i) {
      Flow flow;
      flow.name = "f" + std::to_string(i);
      flow.from = flow.to = between(0, static_cast<NodeId>(topology.nodes.size() - 1));
      for (std::uint32_t hops = between(2, 6); hops > 0 && !from_[flow.to].empty(); --hops) {
        const auto last = static_cast<std::uint32_t>(from_[flow.to].size() - 1);
        flow.path.push_back(from_[flow.to][between(0, last)]);
        flow.to = topology.links[flow.path.back()].to;
      }
      if (!flow.path.empty()) topology.flows.push_back(std::move(flow));
    }
  }

  std::mt19937 random_;
  std::vector<std::vector<LinkId>> from_;
};

Json to_json(const User& user) {
  return {user.kind == User::Kind::Flow ? "flow" : "destination", user.index};
}

Json fabric_json(const Topology& topology) {
  Json json = {
      {"hosts", Json::array()}, {"nodes", topology.nodes.size()}, {"links", Json::array()}};
  for (NodeId node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].kind == NodeKind::Host) json["hosts"].push_back(node);
  for (const Link& link : topology.links)
    json["links"].push_back({link.from, link.to, link.xoff != kUnlimited});
  json["routes"] = Json::array();
  for (const Route& route : topology.routes)
    json["routes"].push_back({route.node, route.destination, route.via});
  json["flows"] = Json::array();
  for (const Flow& flow : topology.flows) json["flows"].push_back(flow.path);
  return json;
}

template <class Change, class ToJson>
Json set_json(const BreakingSet<Change>& set, ToJson convert) {
  Json changes = Json::array();
  for (const Change& change : set.changes) changes.push_back(convert(change));
  return {{"changes", changes}, {"smallest", set.is_smallest}};
}

Json answer_json(const Topology& topology) {
  const Dependencies dependencies(topology, 0, Traffic::All);
  const Analysis analysis = analyse(dependencies, 0, {});
  Json json = {{"edges", Json::array()}, {"components", Json::array()}};
  for (Vertex from = 0; from < dependencies.graph().size(); ++from)
    for (const Vertex to : dependencies.graph().out(from)) {
      Json users = Json::array();
      for (const User& user : dependencies.users(from, to)) users.push_back(to_json(user));
      json["edges"].push_back({from, to, users});
    }
  const auto same = [](const auto& change) { return Json(change); };
  for (const Component& component : analysis.components)
    json["components"].push_back({{"links", component.links},
                                  {"edges", component.edges},
                                  {"shortest", component.shortest},
                                  {"cycles", component.cycles},
                                  {"turns", set_json(component.breaks->turns, same)},
                                  {"removed", set_json(component.breaks->links, same)},
                                  {"users", set_json(component.breaks->users, to_json)}});
  return json;
}

}  // namespace
}  // namespace portcullis::pfc::cbd

int main(int argc, char** argv) {
  namespace cbd = portcullis::pfc::cbd;
  const int graphs = argc == 2 ? std::atoi(argv[1]) : 0;
  for (int seed = 0; seed < graphs; ++seed) {
    const auto topology = cbd::RandomFabric(static_cast<std::uint32_t>(seed)).make();
    std::cout << cbd::Json{{"fabric", cbd::fabric_json(topology)},
                           {"answer", cbd::answer_json(topology)}}
              << '\n';
  }
  return graphs > 0 ? 0 : 2;
}
