// SPDX-License-Identifier: BSD-3-Clause
//
// The vendor specific capability of a physical function: a gateway from configuration space to the
// address spaces of the device, under a semaphore. No installed header has it; the numbers are
// those of mlx5/core/lib/pci_vsc.c and pci_vsc.h of Linux, and of enum mlx5_semaphore_space_address
// (mlx5_core.h there).
#pragma once

#include <cstdint>

namespace portcullis::prm::vsc {

/// Bytes of the capability, its header with it, as `lspci -vv` shows it ("Len=18", hexadecimal).
inline constexpr std::uint32_t kBytes = 0x18;

// From the capability's beginning.
inline constexpr std::uint32_t kControl = 0x4;  // which space, and what the device says of it
inline constexpr std::uint32_t kCounter = 0x8;  // never twice the same
inline constexpr std::uint32_t kSemaphore = 0xc;
inline constexpr std::uint32_t kAddress = 0x10;
inline constexpr std::uint32_t kData = 0x14;

// Of kControl.
inline constexpr std::uint32_t kSpaceMask = 0xffff;
inline constexpr std::uint32_t kSizeValid = std::uint32_t{1}
                                            << 28;  // kAddress says how large it is
inline constexpr unsigned kStatusShift = 29;        // three bits; 0: there is no such space

// Of kAddress.
inline constexpr std::uint32_t kFlag = std::uint32_t{1} << 31;  // read: done; write: to be done
inline constexpr std::uint32_t kAddressMask = (std::uint32_t{1} << 30) - 1;

// Spaces. Those that no file of Linux has are mstflint's and iPXE's (AS_ICMD_EXT and others of
// mtcr_com_defs.h, PCI_GW_SPACE_CR0 and _ALL_ICMD of mlx_pci_gw.h).
inline constexpr std::uint16_t kIcmdExtSpace = 0x1;
inline constexpr std::uint16_t kCrSpace = 0x2;
inline constexpr std::uint16_t kIcmdSpace = 0x3;  // prm/icmd.hpp
inline constexpr std::uint16_t kScanCrSpace = 0x7;
inline constexpr std::uint16_t kSemaphoreDomain = 0xa;
/// In kSemaphoreDomain: who holds it gives the commands of kIcmdSpace (MLX_ICMD_SEMAPHORE_ADDR).
inline constexpr std::uint32_t kIcmdSemaphore = 0x0;
/// In kSemaphoreDomain: who holds it neither resets the device nor dumps it beside another.
inline constexpr std::uint32_t kSwResetSemaphore = 0x20;

/// In kCrSpace: which chip it is (HW_ID_ADDR of mtcr_com_defs.h), as health_buffer.hw_id says it.
inline constexpr std::uint32_t kHwId = 0xf0014;

}  // namespace portcullis::prm::vsc
