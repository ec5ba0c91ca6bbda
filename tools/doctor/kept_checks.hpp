// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC that its kernel driver keeps, as --device=mlx5_0 wants it: what /sys and /dev show of the
// RDMA device, and then the device itself, through libmlx5.
#pragma once

#include <string>

#include "tools/doctor/finding.hpp"
#include "tools/doctor/machine.hpp"

namespace portcullis::tools::doctor {

/// A name of /sys/class/infiniband, or what could be one: no PCI address.
[[nodiscard]] bool may_be_kept(const std::string& device);

/// rdma-device, kernel-driver, uverbs, port, address, iommu-domain, drop-entries. Ends with the
/// first when there is no such device.
[[nodiscard]] Findings kept_nic_findings(const Machine& machine, const std::string& name);

/// devx, firmware, room: opened, asked, and closed again. The kernel goes on as before.
[[nodiscard]] Findings devx_findings(const std::string& name);

/// Where its PCI function is, as BDF; empty where sysfs does not say.
[[nodiscard]] std::string bdf_of(const Machine& machine, const std::string& name);

}  // namespace portcullis::tools::doctor
