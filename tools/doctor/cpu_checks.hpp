// SPDX-License-Identifier: BSD-3-Clause
//
// CPUs for polling: kept free of other work, ticks and RCU callbacks, at full clock, alone on their
// cores, near the device. All of it is advice; a run on a laptop is a run.
#pragma once

#include "pmd/lcores.hpp"
#include "tools/doctor/finding.hpp"
#include "tools/doctor/machine.hpp"

namespace portcullis::tools::doctor {

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
