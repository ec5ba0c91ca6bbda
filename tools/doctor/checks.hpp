// SPDX-License-Identifier: BSD-3-Clause
//
// What the doctor looks at without opening the function, a source for each area: what VFIO needs of
// the kernel, the PCI function as the kernel shows it, memory for DMA, CPUs for polling.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pmd/lcores.hpp"
#include "tools/doctor/finding.hpp"
#include "tools/doctor/machine.hpp"

namespace portcullis::tools::doctor {

/// An IOMMU is on and has devices in groups; groups that VFIO made up do not count.
[[nodiscard]] bool iommu_is_on(const Machine& machine);

/// modules, container, iommu, intremap, noiommu.
[[nodiscard]] Findings vfio_findings(const Machine& machine);

/// BDFs of the ConnectX-5 functions there are.
[[nodiscard]] std::vector<std::string> connectx5_functions(const Machine& machine);

/// device, pci-id, config-space, bar0, link, reset, group, driver, group-file. `bdf` as
/// pmd::canonical_bdf gives it. Ends with the first two when there is no such ConnectX-5.
[[nodiscard]] Findings device_findings(const Machine& machine, const std::string& bdf);

/// What VFIO pins for one function before the first lease: the EAL's least memory (-m 64), and what
/// the firmware asks for. A ConnectX-4 of a published bring-up asked for 6 and 12,868 pages of 4
/// KiB (tests/trace/data, QUERY_PAGES), 50 MiB; rounded up.
inline constexpr std::uint64_t kLeastLockedBytes = std::uint64_t{128} << 20;

/// Huge pages are reserved and not in use, on `node` if it is not -1.
[[nodiscard]] bool has_free_hugepages(const Machine& machine, int node);

/// This process has it in effect (CAP_* of linux/capability.h), as proc/self/status tells.
[[nodiscard]] bool has_capability(const Machine& machine, unsigned capability);

/// Locked memory: what a NIC that its kernel driver keeps needs of these.
[[nodiscard]] Finding memlock_finding(const Machine& machine);

/// memlock, hugepages, hugetlbfs. `node` is the device's NUMA node, -1 when there is none.
[[nodiscard]] Findings memory_findings(const Machine& machine, int node);

/// The driver polls on one and its peer or the model on another.
inline constexpr std::size_t kPollingCpus = 2;

/// Online CPUs, their cores and nodes, and what the kernel keeps away from them.
[[nodiscard]] pmd::CpuTopology cpu_topology(const Machine& machine);

/// Isolated CPUs to poll on: one a core, on `node` unless it is -1; at most kPollingCpus.
[[nodiscard]] pmd::CpuSet polling_cpus(const pmd::CpuTopology& topology, int node);

/// isolcpus, nohz_full, rcu_nocbs, governor, smt, numa. `node` is the device's, -1 when the kernel
/// does not know.
[[nodiscard]] Findings cpu_findings(const Machine& machine, int node);

}  // namespace portcullis::tools::doctor
