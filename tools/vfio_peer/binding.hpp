// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the provider can open a function at all. It answers with an errno alone, often 0; this
// says what is missing and what mends it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace portcullis::tools::vfio_peer {

/// Where sysfs and /dev are; a test has its own.
struct Roots {
  std::filesystem::path sys = "/sys";
  std::filesystem::path dev = "/dev";
};

/// One line for the first thing in the way: no such device, another vendor's, no IOMMU group, bound
/// elsewhere, no VFIO, group not accessible or in use.
[[nodiscard]] Result<void> check_binding(const std::string& bdf, const Roots& roots = {});

}  // namespace portcullis::tools::vfio_peer
