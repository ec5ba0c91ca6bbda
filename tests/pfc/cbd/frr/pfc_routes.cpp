// SPDX-License-Identifier: BSD-3-Clause
//
// Says what pfc/cbd makes of a fabric, for a judge outside: one line about the fabric, then one for
// each line "REACTION CABLE.." of the standard input, with the routes after these cables failed.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "pfc/cbd/failures.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/cbd/routing.hpp"
#include "pfc/topology_json.hpp"

namespace cbd = portcullis::pfc::cbd;
using portcullis::pfc::NodeKind;
using portcullis::pfc::Topology;

namespace {

Topology read(const std::string& name) {
  if (!name.ends_with(".json")) {
    auto made = cbd::by_name(name);
    if (made) return *std::move(made);
    throw std::runtime_error(made.error().text);
  }
  std::ifstream file(name);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto parsed = portcullis::pfc::parse_topology(text, name);
  if (!parsed) throw std::runtime_error(parsed.error().text);
  return *std::move(parsed);
}

std::optional<cbd::Reaction> reaction_of(const std::string& name) {
  if (name == "converged") return cbd::Reaction::Converged;
  if (name == "valley-free") return cbd::Reaction::ValleyFree;
  if (name == "as-given") return cbd::Reaction::AsGiven;
  if (name == "local") return cbd::Reaction::Local;
  if (name == "transient") return cbd::Reaction::Transient;
  return std::nullopt;
}

template <class Items, class Print>
void list(const Items& items, Print print) {
  std::printf("[");
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) std::printf(",");
    print(items[i]);
  }
  std::printf("]");
}

void describe(const Topology& fabric) {
  std::printf("{\"nodes\":");
  list(fabric.nodes, [](const auto& node) { std::printf("\"%s\"", node.name.c_str()); });
  std::printf(",\"is_host\":");
  list(fabric.nodes,
       [](const auto& node) { std::printf(node.kind == NodeKind::Host ? "true" : "false"); });
  std::printf(",\"links\":");
  list(fabric.links, [](const auto& link) { std::printf("[%u,%u]", link.from, link.to); });
  std::printf(",\"cables\":");
  list(cbd::cables_of(fabric),
       [](const auto& cable) { list(cable, [](auto link) { std::printf("%u", link); }); });
  std::printf(",\"tiers\":");
  list(cbd::tiers_of(fabric).value_or(std::vector<std::uint32_t>{}),
       [](auto tier) { std::printf("%u", tier); });
  std::printf("}\n");
}

void answer(const Topology& fabric, const std::string& line) {
  std::istringstream words(line);
  std::string name;
  words >> name;
  const auto reaction = reaction_of(name);
  if (!reaction) throw std::runtime_error("no reaction \"" + name + "\"");
  const std::vector<std::uint32_t> cables{std::istream_iterator<std::uint32_t>(words), {}};
  list(cbd::routes_after(fabric, cables, *reaction), [](const auto& route) {
    std::printf("[%u,%u,%u]", route.node, route.destination, route.via);
  });
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) try {
  if (count != 2) throw std::runtime_error("usage: pfc_routes FABRIC");
  const Topology fabric = read(words[1]);
  describe(fabric);
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) answer(fabric, line);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "pfc_routes: %s\n", error.what());
  return 2;
}
