// SPDX-License-Identifier: BSD-3-Clause
//
// What VFIO needs of the kernel before any device is looked at: its modules, an IOMMU, and no
// mode that goes without one.
#pragma once

#include "tools/doctor/finding.hpp"
#include "tools/doctor/machine.hpp"

namespace portcullis::tools::doctor {

/// An IOMMU is on and has devices in groups; groups that VFIO made up do not count.
[[nodiscard]] bool iommu_is_on(const Machine& machine);

/// modules, container, iommu, intremap, noiommu.
[[nodiscard]] Findings vfio_findings(const Machine& machine);

}  // namespace portcullis::tools::doctor
