// SPDX-License-Identifier: BSD-3-Clause
//
// What a function's Device Control register (PCI Express) says of its DMA.
#pragma once

#include <cstdint>
#include <optional>

namespace portcullis::pmd {

/// Whether the function may ask for relaxed ordering. A VF's bit is wired to 0 and its PF's counts,
/// so there 0 says nothing (Linux's commit "Allow relaxed ordering read in VFs and VMs").
[[nodiscard]] std::optional<bool> relaxed_ordering_of(std::uint16_t device_control,
                                                      std::uint16_t device_id) noexcept;

}  // namespace portcullis::pmd
