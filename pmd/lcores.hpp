// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the lcores are fit for polling: on CPUs that the kernel keeps free of other work, on the
// NIC's NUMA node, and not two on one core. Says what is wrong and which list to use instead; it
// never refuses, since a run on a laptop is a run.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::pmd {

using CpuSet = std::set<unsigned>;

/// "2-3,6" as the kernel writes CPU lists; empty for none.
[[nodiscard]] Result<CpuSet> parse_cpu_list(std::string_view text);
[[nodiscard]] std::string format_cpu_list(const CpuSet& cpus);

/// Where the CPUs are and what the kernel does with them.
struct CpuTopology {
  struct Place {
    unsigned core = 0;
    int node = 0;
  };
  std::map<unsigned, Place> cpus;  // by number; those this process may use
  CpuSet isolated;
  CpuSet nohz_full;
};

/// hwloc for places, `sys`/devices/system/cpu/{isolated,nohz_full} for the kernel's part. A file
/// that is not there means no CPU.
[[nodiscard]] Result<CpuTopology> read_cpu_topology(const std::filesystem::path& sys = "/sys");
/// `sys`/bus/pci/devices/BDF/numa_node; -1 when the kernel does not know or there is no device.
[[nodiscard]] int numa_node_of(std::string_view bdf, const std::filesystem::path& sys = "/sys");

/// An lcore and the CPUs it may run on.
struct Lcore {
  unsigned id = 0;
  CpuSet cpus;
};

/// The lcores of the running EAL.
[[nodiscard]] std::vector<Lcore> eal_lcores();

/// One line a finding, and a last one with the list to use instead; empty when all is well.
/// `device_node` is -1 when there is none.
[[nodiscard]] std::vector<std::string> lcore_findings(const CpuTopology& topology,
                                                      const std::vector<Lcore>& lcores,
                                                      int device_node);

}  // namespace portcullis::pmd
