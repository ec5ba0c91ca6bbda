// SPDX-License-Identifier: BSD-3-Clause
//
// CPUs for polling: kept free of other work, ticks and RCU callbacks, at full clock, alone on their
// cores, near the device. All of it is advice; a run on a laptop is a run.
#include "tools/doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string>

namespace portcullis::tools::doctor {
namespace {

using pmd::CpuSet;
using pmd::CpuTopology;
using pmd::format_cpu_list;

constexpr std::string_view kArea = "cpus";
constexpr std::string_view kCpus = "sys/devices/system/cpu";

std::string of_cpu(unsigned cpu, std::string_view file) {
  return fmt::format("{}/cpu{}/{}", kCpus, cpu, file);
}

CpuSet without(const CpuSet& cpus, const CpuSet& others) {
  CpuSet rest;
  std::set_difference(cpus.begin(), cpus.end(), others.begin(), others.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

std::string on_node(int node) { return node < 0 ? "" : fmt::format(" of NUMA node {}", node); }

/// Isolated CPUs that are online, those of `node` if it is not -1.
CpuSet isolated_on(const CpuTopology& topology, int node) {
  CpuSet cpus;
  for (const auto& [cpu, place] : topology.cpus)
    if (topology.isolated.contains(cpu) && (node < 0 || place.node == node)) cpus.insert(cpu);
  return cpus;
}

/// The first CPU of each core that `may_use` accepts.
template <class Predicate>
CpuSet one_a_core(const CpuTopology& topology, int node, Predicate may_use) {
  CpuSet chosen;
  std::set<unsigned> cores;
  for (const auto& [cpu, place] : topology.cpus)
    if (chosen.size() < kPollingCpus && (node < 0 || place.node == node) && may_use(cpu) &&
        cores.insert(place.core).second)
      chosen.insert(cpu);
  return chosen;
}

/// "isolcpus=2,4 .." for CPUs that could be isolated; the core of CPU 0 keeps the kernel's own
/// work. Empty when there are not enough.
std::string parameters_to_isolate(const CpuTopology& topology, int node) {
  const auto first = topology.cpus.find(0);
  const CpuSet cpus = one_a_core(topology, node, [&](unsigned cpu) {
    return first == topology.cpus.end() || topology.cpus.at(cpu).core != first->second.core;
  });
  if (cpus.size() < kPollingCpus) return {};
  return fmt::format("isolcpus={0} nohz_full={0} rcu_nocbs={0}", format_cpu_list(cpus));
}

std::vector<std::string> boot_isolated(const CpuTopology& topology, int node) {
  const std::string parameters = parameters_to_isolate(topology, node);
  return parameters.empty() ? std::vector<std::string>{} : boot_with(parameters);
}

Finding isolcpus(const CpuTopology& topology, int node) {
  const CpuSet isolated = isolated_on(topology, -1);
  if (polling_cpus(topology, -1).size() == kPollingCpus)
    return {kArea, "isolcpus", Status::Ok, format_cpu_list(isolated) + " isolated"};
  Finding finding{kArea, "isolcpus", Status::Advice,
                  isolated.empty()
                      ? "no CPU is isolated: the kernel runs other work on all of them"
                      : fmt::format("only CPU {} isolated; {} on cores of their own wanted",
                                    format_cpu_list(isolated), kPollingCpus),
                  boot_isolated(topology, node)};
  if (finding.mend.empty())
    finding.hint = fmt::format("of {} CPUs{} there are not {} to isolate beside CPU 0 and its core",
                               topology.cpus.size(), on_node(node), kPollingCpus);
  return finding;
}

Finding nohz_full(const CpuTopology& topology, const CpuSet& isolated) {
  const CpuSet ticking = without(isolated, topology.nohz_full);
  if (ticking.empty()) return {kArea, "nohz_full", Status::Ok, "isolated CPUs take no timer ticks"};
  return {kArea, "nohz_full", Status::Advice,
          fmt::format("CPU {} takes timer ticks", format_cpu_list(ticking)),
          boot_with("nohz_full=" + format_cpu_list(isolated))};
}

/// A CPU of nohz_full= is one of rcu_nocbs= too (kernel-parameters.txt of Linux).
Finding rcu_nocbs(const Machine& machine, const CpuTopology& topology, const CpuSet& isolated) {
  const std::string list = machine.boot_value("rcu_nocbs");
  const auto offloaded = pmd::parse_cpu_list(list);
  CpuSet burdened = without(isolated, topology.nohz_full);
  if (offloaded) burdened = without(burdened, *offloaded);
  if (list == "all" || burdened.empty())
    return {kArea, "rcu_nocbs", Status::Ok, "isolated CPUs run no RCU callbacks"};
  return {kArea, "rcu_nocbs", Status::Advice,
          fmt::format("CPU {} runs RCU callbacks", format_cpu_list(burdened)),
          boot_with("rcu_nocbs=" + format_cpu_list(isolated))};
}

Finding governor(const Machine& machine, const CpuSet& isolated) {
  CpuSet slow;
  std::string name;
  for (const unsigned cpu : isolated) {
    const std::string set = machine.line(of_cpu(cpu, "cpufreq/scaling_governor"));
    if (set.empty() || set == "performance") continue;  // no file: the clock is not ours to set
    slow.insert(cpu);
    name = set;
  }
  if (slow.empty()) return {kArea, "governor", Status::Ok, "nothing slows isolated CPUs down"};
  Finding finding{
      kArea, "governor", Status::Advice,
      fmt::format("CPU {} under governor {}, not performance", format_cpu_list(slow), name)};
  for (const unsigned cpu : slow)
    finding.mend.push_back(
        fmt::format("echo performance > /{}", of_cpu(cpu, "cpufreq/scaling_governor")));
  return finding;
}

Finding smt(const CpuTopology& topology, const CpuSet& isolated) {
  CpuSet siblings;
  for (const unsigned cpu : isolated)
    for (const auto& [other, place] : topology.cpus)
      if (place.core == topology.cpus.at(cpu).core && !topology.isolated.contains(other))
        siblings.insert(other);
  if (siblings.empty())
    return {kArea, "smt", Status::Ok, "no other work on the cores of isolated CPUs"};
  Finding finding{kArea, "smt", Status::Advice,
                  fmt::format("CPU {} shares a core with an isolated one and takes other work",
                              format_cpu_list(siblings))};
  for (const unsigned cpu : siblings)
    finding.mend.push_back(fmt::format("echo 0 > /{}", of_cpu(cpu, "online")));
  return finding;
}

Finding numa(const CpuTopology& topology, int node) {
  const auto of_node = [&](const auto& at) { return at.second.node == node; };
  std::set<int> nodes;
  for (const auto& [cpu, place] : topology.cpus) nodes.insert(place.node);
  if (nodes.size() < 2) return {kArea, "numa", Status::Ok, "one NUMA node"};
  if (polling_cpus(topology, -1).size() < kPollingCpus)
    return {kArea, "numa", Status::Waits, "too few isolated CPUs"};
  if (node < 0)
    return {
        kArea, "numa", Status::Ok,
        fmt::format("{} NUMA nodes; the kernel does not say which is the device's", nodes.size())};
  if (polling_cpus(topology, node).size() == kPollingCpus)
    return {kArea, "numa", Status::Ok,
            fmt::format("device and isolated CPUs {} on NUMA node {}",
                        format_cpu_list(isolated_on(topology, node)), node)};
  if (std::none_of(topology.cpus.begin(), topology.cpus.end(), of_node))
    return {kArea,
            "numa",
            Status::Advice,
            fmt::format("the device is on NUMA node {}, which has no CPU", node),
            {},
            "put the card into a slot of the other socket"};
  return {kArea, "numa", Status::Advice,
          fmt::format("isolated CPUs {} are not on NUMA node {}, where the device is",
                      format_cpu_list(isolated_on(topology, -1)), node),
          boot_isolated(topology, node)};
}

}  // namespace

CpuTopology cpu_topology(const Machine& machine) {
  CpuTopology topology;
  topology.isolated = machine.cpus(fmt::format("{}/isolated", kCpus));
  topology.nohz_full = machine.cpus(fmt::format("{}/nohz_full", kCpus));  // "(null)": none
  for (const unsigned cpu : machine.cpus(fmt::format("{}/online", kCpus))) {
    const CpuSet siblings = machine.cpus(of_cpu(cpu, "topology/thread_siblings_list"));
    topology.cpus[cpu].core = siblings.empty() ? cpu : *siblings.begin();
  }
  constexpr std::string_view kNodes = "sys/devices/system/node";
  for (const std::string& name : machine.names(kNodes)) {
    int node = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with("node") || std::from_chars(name.data() + 4, end, node).ptr != end)
      continue;
    for (const unsigned cpu : machine.cpus(fmt::format("{}/{}/cpulist", kNodes, name)))
      if (const auto at = topology.cpus.find(cpu); at != topology.cpus.end())
        at->second.node = node;
  }
  return topology;
}

CpuSet polling_cpus(const CpuTopology& topology, int node) {
  return one_a_core(topology, node, [&](unsigned cpu) { return topology.isolated.contains(cpu); });
}

Findings cpu_findings(const Machine& machine, int node) {
  const CpuTopology topology = cpu_topology(machine);
  const CpuSet isolated = isolated_on(topology, -1);
  Findings findings{isolcpus(topology, node)};
  if (isolated.empty()) {
    for (const char* check : {"nohz_full", "rcu_nocbs", "governor", "smt", "numa"})
      findings.push_back({kArea, check, Status::Waits, "there is no isolated CPU"});
    return findings;
  }
  for (Finding& finding :
       Findings{nohz_full(topology, isolated), rcu_nocbs(machine, topology, isolated),
                governor(machine, isolated), smt(topology, isolated), numa(topology, node)})
    findings.push_back(std::move(finding));
  return findings;
}

}  // namespace portcullis::tools::doctor
