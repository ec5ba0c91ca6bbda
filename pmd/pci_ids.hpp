// SPDX-License-Identifier: BSD-3-Clause
//
// The functions this driver drives: ConnectX-5 and its virtual functions. Ids as in
// mlx5_core_pci_table of Linux (mlx5/core/main.c).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace portcullis::pmd {

inline constexpr std::uint16_t kMellanoxVendorId = 0x15b3;
inline constexpr std::uint16_t kConnectX5DeviceId = 0x1017;
inline constexpr std::uint16_t kConnectX5VfDeviceId = 0x1018;

/// "15b3:1017".
[[nodiscard]] std::string pci_id_text(std::uint16_t vendor_id, std::uint16_t device_id);
/// Unsupported, with the ids that are accepted.
[[nodiscard]] Result<void> check_pci_id(std::uint16_t vendor_id, std::uint16_t device_id);

}  // namespace portcullis::pmd
