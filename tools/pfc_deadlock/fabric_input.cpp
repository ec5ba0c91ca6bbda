// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/fabric_input.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "pfc/cbd/generators.hpp"
#include "pfc/scenarios.hpp"
#include "pfc/topology_json.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

/// "4,2,1" as exactly `count` numbers.
Result<std::vector<std::uint32_t>> parse_shape(std::string_view name, std::string_view text,
                                               std::size_t count, std::string_view accepted) {
  std::vector<std::uint32_t> numbers;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + comma, number);
    if (error != std::errc() || end != text.data() + comma) break;
    numbers.push_back(number);
    if (comma == text.size()) {
      if (numbers.size() == count) return numbers;
      break;
    }
    text.remove_prefix(comma + 1);
  }
  return fail(Errc::InvalidArgument,
              fmt::format("scenario \"{}\"; {} with whole numbers is accepted", name, accepted));
}

Result<pfc::Topology> generate(const std::string& name) {
  const std::string_view all = name;
  const std::size_t colon = all.find(':');
  const std::string_view kind = all.substr(0, colon);
  const std::string_view shape = all.substr(colon + 1);
  if (kind == "leaf-spine") {
    PORTCULLIS_TRY_ASSIGN(const auto n,
                          parse_shape(name, shape, 3, "leaf-spine:LEAVES,SPINES,HOSTS"));
    return pfc::cbd::leaf_spine({.leaves = n[0], .spines = n[1], .hosts = n[2]});
  }
  if (kind == "fat-tree") {
    PORTCULLIS_TRY_ASSIGN(const auto n, parse_shape(name, shape, 1, "fat-tree:PORTS"));
    return pfc::cbd::fat_tree(n[0], true);
  }
  if (kind == "ring") {
    PORTCULLIS_TRY_ASSIGN(const auto n, parse_shape(name, shape, 2, "ring:SWITCHES,SPAN"));
    return pfc::cbd::ring(n[0], n[1]);
  }
  return fail(Errc::InvalidArgument,
              fmt::format("scenario \"{}\"; leaf-spine:, fat-tree: and ring: are generated", name));
}

Result<pfc::Topology> load(const std::string& name) {
  if (name == "-" || name.ends_with(".json")) {
    PORTCULLIS_TRY_ASSIGN(const std::string text, read_file(name));
    return pfc::parse_topology(text, name == "-" ? "standard input" : name);
  }
  return name.find(':') == std::string::npos ? pfc::scenario(name) : generate(name);
}

}  // namespace

Result<pfc::Topology> load_fabric(const std::string& name,
                                  const std::vector<std::string>& settings) {
  PORTCULLIS_TRY_ASSIGN(pfc::Topology topology, load(name));
  if (!settings.empty()) PORTCULLIS_TRY(pfc::apply_settings(topology, settings));
  return topology;
}

}  // namespace portcullis::tools::pfc_deadlock
