// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_version.h>

#include <algorithm>
#include <variant>

#include "pmd/lcores.hpp"
#include "probes/probe.hpp"

namespace portcullis::bench {
namespace {

std::string lcores_text() {
  std::vector<std::string> lcores;
  for (const pmd::Lcore& lcore : pmd::eal_lcores())
    lcores.push_back(fmt::format("{}@{}", lcore.id, pmd::format_cpu_list(lcore.cpus)));
  return fmt::format("{} (driver and clients on {})", fmt::join(lcores, " "),
                     pmd::Eal::main_lcore());
}

std::string value_of(const RunContext& context, std::string_view key) {
  const auto entry = std::find_if(context.begin(), context.end(),
                                  [key](const auto& each) { return each.first == key; });
  return entry == context.end() ? "" : entry->second;
}

}  // namespace

RunContext describe_run(const Options& options, const attach::DeviceSpec& spec,
                        proof::Session& session, const std::string& clocks,
                        const std::vector<std::string>& lcore_findings) {
  RunContext context;
  const auto add = [&](const char* key, std::string value) {
    context.emplace_back(key, std::move(value));
  };
  const std::string& firmware = session.driver().firmware_version();
  const auto* model = std::get_if<model::Options>(&spec.kind);
  const std::string& description = session.device().description;
  const bool is_emulated = model != nullptr || session.driver().is_emulated();
  const std::string far = is_emulated ? "as its server was told" : "hardware";
  add("device", model != nullptr ? description : description + " fw " + firmware);
  add("emulated", is_emulated ? "yes: not NIC latency" : "no");
  add("board", session.driver().board_id());
  add("timing", model != nullptr ? model->timing : far);
  add("behaviours", model == nullptr ? far : model::behaviours_in_force(*model).value_or("none"));
  add("clock", clocks);
  add("peer", options.peer);
  add("lcores", lcores_text());
  add("lcore_findings",
      lcore_findings.empty() ? "none" : fmt::format("{}", fmt::join(lcore_findings, "; ")));
  add("portcullis", PORTCULLIS_VERSION);
  if (const std::string probes = probes::build_note(); !probes.empty()) add("build", probes);
  add("dpdk", rte_version());
  add("firmware", firmware);
  add("project_build_type", PORTCULLIS_BUILD);
  add("counters_unit", "ns");
  return context;
}

std::string subtitle_of(const RunContext& context) {
  const bool is_emulated = value_of(context, "emulated") != "no";
  return fmt::format("device: {}{}; lcores: {}; portcullis {}, {}, {}", value_of(context, "device"),
                     is_emulated ? ", emulated, not NIC latency" : "", value_of(context, "lcores"),
                     value_of(context, "portcullis"), value_of(context, "dpdk"),
                     value_of(context, "project_build_type"));
}

std::vector<std::string> find_lcore_faults(const attach::DeviceSpec& spec) {
  const auto topology = pmd::read_cpu_topology();
  if (!topology) return {topology.error().text};
  const std::string bdf = spec.bdf();
  const int node = bdf.empty() ? -1 : pmd::numa_node_of(bdf);
  auto findings = pmd::lcore_findings(*topology, pmd::eal_lcores(), node);
  if (spec.is_in_process() && pmd::Eal::worker_lcores().empty())
    findings.emplace_back(
        "one lcore only: a polled model shares its CPU with the driver; give it another, -l 0-1");
  return findings;
}

}  // namespace portcullis::bench
