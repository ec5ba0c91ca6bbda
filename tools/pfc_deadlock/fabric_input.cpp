// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/fabric_input.hpp"

#include <numeric>

#include "pfc/cbd/flow_paths.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/scenarios.hpp"
#include "pfc/topology_json.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

Result<pfc::Topology> load(const std::string& name) {
  if (!fabric_file(name).empty()) {
    PORTCULLIS_TRY_ASSIGN(const std::string text, read_file(name));
    return pfc::parse_topology(text, name == "-" ? "standard input" : name);
  }
  auto found = pfc::cbd::by_name(name);
  if (!found && found.error().code == Errc::NotFound)
    found.error().text += "; so is a file that ends in .json, and - for standard input";
  return found;
}

}  // namespace

std::string fabric_file(const std::string& name) {
  return name == "-" || name.ends_with(".json") ? name : "";
}

Result<pfc::Topology> load_fabric(const std::string& name,
                                  const std::vector<std::string>& settings) {
  PORTCULLIS_TRY_ASSIGN(pfc::Topology topology, load(name));
  if (!settings.empty()) PORTCULLIS_TRY(pfc::apply_settings(topology, settings));
  return topology;
}

Result<pfc::cbd::SplitFlows> spread_flows(const pfc::Topology& topology, Ecmp ecmp) {
  if (ecmp == Ecmp::Split) return pfc::cbd::split_flows(topology);
  pfc::cbd::SplitFlows same{topology,
                            {},
                            std::vector<double>(topology.flows.size(), 1),
                            pfc::cbd::first_hops_note(topology)};
  same.origin.resize(topology.flows.size());
  std::iota(same.origin.begin(), same.origin.end(), 0U);
  return same;
}

}  // namespace portcullis::tools::pfc_deadlock
