// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/fabric.hpp>

#include <fmt/format.h>

#include <utility>

#include "front/fabric_impl.hpp"
#include "front/one_line.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/scenarios.hpp"
#include "pfc/topology_json.hpp"

namespace portcullis {
namespace {

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

}  // namespace

Result<void> check_from_zero(const char* option, double value, double most) {
  if (value >= 0 && value <= most) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("{} {}; 0 to {:g} is accepted", option, value, most));
}

Result<void> check_run_us(const char* option, double value) {
  if (value > 0 && value <= kMostUs) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("{} {}; above 0 and at most {:g} is accepted", option, value, kMostUs));
}

Result<Fabric> Fabric::parse(std::string_view json, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(auto topology, in_one_line(pfc::parse_topology(json, file)));
  return Fabric(std::make_shared<const Impl>(Impl{std::move(topology)}));
}

Result<Fabric> Fabric::make(std::string_view name) {
  PORTCULLIS_TRY_ASSIGN(auto topology, in_one_line(pfc::cbd::by_name(name)));
  topology.name = name;  // the generators' own would not tell ring:4,1 from ring:4,2
  return Fabric(std::make_shared<const Impl>(Impl{std::move(topology)}));
}

std::vector<std::string> Fabric::names() {
  std::vector<std::string> names;
  for (const pfc::ScenarioName& scenario : pfc::scenario_names()) names.emplace_back(scenario.name);
  return names;
}

Result<Fabric> Fabric::with(std::span<const std::string> settings) const {
  pfc::Topology topology = impl_->topology;
  PORTCULLIS_TRY(in_one_line(pfc::apply_settings(topology, settings)));
  return Fabric(std::make_shared<const Impl>(Impl{std::move(topology)}));
}

const std::string& Fabric::name() const noexcept { return impl_->topology.name; }
std::string Fabric::json() const { return pfc::to_json(impl_->topology); }
std::vector<std::string> Fabric::nodes() const { return names_of(impl_->topology.nodes); }
std::vector<std::string> Fabric::links() const { return names_of(impl_->topology.links); }
std::vector<std::string> Fabric::flows() const { return names_of(impl_->topology.flows); }

}  // namespace portcullis
