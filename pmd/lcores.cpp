// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/lcores.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <rte_lcore.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

namespace portcullis::pmd {
namespace {

/// More than any kernel knows; a range beyond it is a misprint.
constexpr unsigned kMostCpus = 1u << 16;

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<unsigned> number_in(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value >= kMostCpus) return {};
  return value;
}

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

Result<Topology> load_hwloc() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(Errc::System, "hwloc cannot start");
  Topology topology(raw);
  if (hwloc_topology_load(raw) != 0)
    return fail(Errc::System, "hwloc cannot read this machine's topology");
  return topology;
}

CpuTopology::Place place_of(hwloc_topology_t topology, hwloc_obj_t pu) {
  const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
  // NUMA nodes hang beside the tree; a PU's nodeset names those it belongs to.
  const int node = pu->nodeset == nullptr ? -1 : hwloc_bitmap_first(pu->nodeset);
  return {core == nullptr ? pu->logical_index : core->logical_index, std::max(node, 0)};
}

/// CPUs to poll on, best first: isolated ones of the node, one a core before their siblings.
CpuSet choose(const CpuTopology& topology, std::size_t count, int device_node, bool isolated) {
  std::vector<unsigned> siblings;
  std::set<unsigned> cores;
  CpuSet chosen;
  for (const auto& [cpu, place] : topology.cpus) {
    if (device_node >= 0 && place.node != device_node) continue;
    if (isolated && !topology.isolated.contains(cpu)) continue;
    const bool first_of_core = cores.insert(place.core).second;
    // CPU 0 takes the work that the kernel can put nowhere else.
    if (!isolated && cpu == 0 && topology.cpus.size() > count) continue;
    if (!first_of_core) {
      siblings.push_back(cpu);
      continue;
    }
    if (chosen.size() < count) chosen.insert(cpu);
  }
  for (const unsigned cpu : siblings)
    if (chosen.size() < count) chosen.insert(cpu);
  return chosen;
}

/// The closing line: what to type, or what to boot with first.
std::string advice(const CpuTopology& topology, const std::vector<Lcore>& lcores, int device_node) {
  const std::size_t count = lcores.size();
  CpuSet used;
  for (const Lcore& lcore : lcores) used.insert(lcore.cpus.begin(), lcore.cpus.end());
  const std::string where =
      device_node >= 0 ? fmt::format(" of NUMA node {}", device_node) : std::string();
  const CpuSet ready = choose(topology, count, device_node, true);
  const std::string ready_list = format_cpu_list(ready);
  if (ready == used) return fmt::format("boot with nohz_full={} to be rid of ticks", ready_list);
  if (ready.size() >= count) return fmt::format("use instead: -l {}", ready_list);
  const CpuSet free = choose(topology, count, device_node, false);
  if (free.size() < count)
    return fmt::format("{} lcores{} cannot be had: {} can", count, where, free.size());
  const std::string list = format_cpu_list(free);
  return fmt::format(
      "too few CPUs{0} are isolated: boot with isolcpus={1} nohz_full={1}, "
      "then use -l {1}",
      where, list);
}

}  // namespace

Result<CpuSet> parse_cpu_list(std::string_view text) {
  CpuSet cpus;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const std::string_view low = range.substr(0, range.find('-'));
    const std::string_view high = low.size() == range.size() ? low : range.substr(low.size() + 1);
    const auto first = number_in(low);
    const auto last = number_in(high);
    if (!first || !last || *first > *last)
      return fail(Errc::Malformed, fmt::format("\"{}\" is no CPU list like 2-3,6", range));
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

std::string format_cpu_list(const CpuSet& cpus) {
  std::string text;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const unsigned first = *at;
    unsigned last = first;
    for (++at; at != cpus.end() && *at == last + 1; ++at) last = *at;
    if (!text.empty()) text += ",";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

Result<CpuTopology> read_cpu_topology(const std::filesystem::path& sys) {
  PORTCULLIS_TRY_ASSIGN(const Topology hwloc, load_hwloc());
  CpuTopology topology;
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_by_type(hwloc.get(), HWLOC_OBJ_PU, pu)) != nullptr;)
    topology.cpus.emplace(pu->os_index, place_of(hwloc.get(), pu));
  const std::filesystem::path cpu = sys / "devices/system/cpu";
  PORTCULLIS_TRY_ASSIGN(topology.isolated, parse_cpu_list(first_line(cpu / "isolated")));
  // The kernel writes "(null)" where it was built for nohz_full and booted without.
  const std::string nohz_full = first_line(cpu / "nohz_full");
  if (nohz_full.find("(null)") == std::string::npos) {
    PORTCULLIS_TRY_ASSIGN(topology.nohz_full, parse_cpu_list(nohz_full));
  }
  return topology;
}

int numa_node_of(std::string_view bdf, const std::filesystem::path& sys) {
  const std::string line = first_line(sys / "bus/pci/devices" / bdf / "numa_node");
  const auto node = number_in(line);
  return node ? static_cast<int>(*node) : -1;
}

std::vector<Lcore> eal_lcores() {
  std::vector<Lcore> lcores;
  unsigned id = 0;
  RTE_LCORE_FOREACH(id) {
    Lcore lcore{id, {}};
    const rte_cpuset_t cpus = rte_lcore_cpuset(id);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &cpus)) lcore.cpus.insert(cpu);
    lcores.push_back(std::move(lcore));
  }
  return lcores;
}

std::vector<std::string> lcore_findings(const CpuTopology& topology,
                                        const std::vector<Lcore>& lcores, int device_node) {
  std::vector<std::string> lines;
  std::map<unsigned, unsigned> lcore_of_core;
  const auto say = [&lines](const Lcore& lcore, const std::string& what) {
    lines.push_back(
        fmt::format("lcore {} (CPU {}) {}", lcore.id, format_cpu_list(lcore.cpus), what));
  };
  for (const Lcore& lcore : lcores) {
    if (lcore.cpus.size() != 1) say(lcore, "may move between CPUs");
    for (const unsigned cpu : lcore.cpus) {
      const auto at = topology.cpus.find(cpu);
      if (at == topology.cpus.end()) continue;
      if (!topology.isolated.contains(cpu)) {
        say(lcore, "is not isolated: the kernel runs other work there");
      } else if (!topology.nohz_full.contains(cpu)) {
        say(lcore, "takes timer ticks: it is not in nohz_full");
      }
      if (device_node >= 0 && at->second.node != device_node)
        say(lcore,
            fmt::format("is on NUMA node {}, the NIC on node {}", at->second.node, device_node));
      const auto [other, fresh] = lcore_of_core.emplace(at->second.core, lcore.id);
      if (!fresh && other->second != lcore.id)
        say(lcore, fmt::format("shares its core with lcore {}", other->second));
    }
  }
  if (!lines.empty()) lines.push_back(advice(topology, lcores, device_node));
  return lines;
}

}  // namespace portcullis::pmd
