// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for DMA: how much a process may lock, and huge pages for the EAL.
#pragma once

#include <cstdint>

#include "tools/doctor/finding.hpp"
#include "tools/doctor/machine.hpp"

namespace portcullis::tools::doctor {

/// What VFIO pins for one function before the first lease: the EAL's least memory (-m 64), and what
/// the firmware asks for. A ConnectX-4 of a published bring-up asked for 6 and 12,868 pages of 4
/// KiB (tests/trace/data, QUERY_PAGES), 50 MiB; rounded up.
inline constexpr std::uint64_t kLeastLockedBytes = std::uint64_t{128} << 20;

/// Huge pages are reserved and not in use, on `node` if it is not -1.
[[nodiscard]] bool has_free_hugepages(const Machine& machine, int node);

/// memlock, hugepages, hugetlbfs. `node` is the device's NUMA node, -1 when there is none.
[[nodiscard]] Findings memory_findings(const Machine& machine, int node);

}  // namespace portcullis::tools::doctor
