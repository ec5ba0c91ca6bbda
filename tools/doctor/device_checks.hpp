// SPDX-License-Identifier: BSD-3-Clause
//
// One PCI function as the kernel shows it: whether it is a ConnectX-5, answers, has what it needs
// of the bus, and may be had through VFIO.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/finding.hpp"
#include "tools/doctor/machine.hpp"

namespace portcullis::tools::doctor {

/// BDFs of the ConnectX-5 functions there are.
[[nodiscard]] std::vector<std::string> connectx5_functions(const Machine& machine);

/// device, pci-id, config-space, bar0, link, reset, group, driver, group-file. `bdf` as
/// pmd::canonical_bdf gives it. Ends with the first two when there is no such ConnectX-5.
[[nodiscard]] Findings device_findings(const Machine& machine, const std::string& bdf);

}  // namespace portcullis::tools::doctor
