// SPDX-License-Identifier: BSD-3-Clause
//
// The function itself, through pmd: opened over VFIO, brought up, asked for its firmware and for
// the capabilities that leases need, torn down and reset. Only for a function nobody else uses.
#pragma once

#include <optional>
#include <string>

#include "base/device.hpp"
#include "pmd/context.hpp"
#include "tools/doctor/finding.hpp"

namespace portcullis::tools::doctor {

/// port-type, roce, room.
[[nodiscard]] Findings capability_findings(const pmd::Capabilities& caps);

/// room: how many leases there can be.
[[nodiscard]] Finding room_finding(const pmd::Capabilities& caps);

/// ordering: whether DMA may overtake DMA, by PCI Express (`of_function`) and by a key. No fault:
/// no key of this driver asks for it.
[[nodiscard]] Finding ordering_finding(const pmd::Capabilities& caps,
                                       std::optional<bool> of_function);

/// firmware, the capabilities, ordering, tear-down; ends with the first when the function does not
/// come up.
[[nodiscard]] Findings bring_up_findings(const Device& device);

/// Starts the EAL (once in a process), with huge pages or without, and attaches `bdf`: open, and
/// what bring_up_findings has.
[[nodiscard]] Findings function_findings(const std::string& bdf, bool hugepages);

}  // namespace portcullis::tools::doctor
