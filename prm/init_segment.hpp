// SPDX-License-Identifier: BSD-3-Clause
//
// The initialisation segment at the start of BAR0: revision, command queue registers, health.
// Two readings of the same bytes: initial_seg as mlx5_ifc.h has it (fields), mlx5_init_seg as
// device.h has it (whole dwords, and more of them). Registers are written whole, so a driver writes
// through the second. Sources: include/linux/mlx5 of Linux 6.1, struct mlx5_ifc_NAME_bits of
// mlx5_ifc.h; struct mlx5_init_seg and struct health_buffer of device.h; tests/prm holds each
// against its header.
#pragma once

#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct health_buffer : Layout<"health_buffer", 0x200,
    Reserved<0x0, 0x100>,
    RoField<"assert_existptr", 0x100, 0x20>,
    RoField<"assert_callra", 0x120, 0x20>,
    Reserved<0x140, 0x20>,
    RoField<"time", 0x160, 0x20>,
    RoField<"fw_version", 0x180, 0x20>,
    RoField<"hw_id", 0x1a0, 0x20>,
    RoField<"rfr", 0x1c0, 0x1>,
    Reserved<0x1c1, 0x3>,
    RoField<"valid", 0x1c4, 0x1>,
    RoField<"severity", 0x1c5, 0x3>,
    Reserved<0x1c8, 0x18>,
    RoField<"irisc_index", 0x1e0, 0x8>,
    RoField<"synd", 0x1e8, 0x8>,
    RoField<"ext_synd", 0x1f0, 0x10>> {};

struct initial_seg : Layout<"initial_seg", 0x20060,
    RoField<"fw_rev_minor", 0x0, 0x10>,
    RoField<"fw_rev_major", 0x10, 0x10>,
    RoField<"cmd_interface_rev", 0x20, 0x10>,
    RoField<"fw_rev_subminor", 0x30, 0x10>,
    Reserved<0x40, 0x40>,
    Field<"cmdq_phy_addr_63_32", 0x80, 0x20>,
    Field<"cmdq_phy_addr_31_12", 0xa0, 0x14>,
    Reserved<0xb4, 0x2>,
    Field<"nic_interface", 0xb6, 0x2>,
    RoField<"log_cmdq_size", 0xb8, 0x4>,
    RoField<"log_cmdq_stride", 0xbc, 0x4>,
    Field<"command_doorbell_vector", 0xc0, 0x20>,
    Reserved<0xe0, 0xf00>,
    RoField<"initializing", 0xfe0, 0x1>,
    Reserved<0xfe1, 0x4>,
    RoField<"nic_interface_supported", 0xfe5, 0x3>,
    RoField<"embedded_cpu", 0xfe8, 0x1>,
    Reserved<0xfe9, 0x17>,
    Nested<"health_buffer", 0x1000, health_buffer>,
    RoField<"no_dram_nic_offset", 0x1200, 0x20>,
    Reserved<0x1220, 0x6e5f>,
    Field<"clear_int", 0x807f, 0x1>,
    RoField<"health_syndrome", 0x8080, 0x8>,
    RoField<"health_counter", 0x8088, 0x18>,
    Reserved<0x80a0, 0x17fc0>> {};

/// struct health_buffer of device.h, whose name mlx5_ifc.h's health_buffer has above.
struct mlx5_health_buffer : Layout<"mlx5_health_buffer", 0x200,
    RoField<"assert_var[0]", 0x0, 0x20>,
    RoField<"assert_var[1]", 0x20, 0x20>,
    RoField<"assert_var[2]", 0x40, 0x20>,
    RoField<"assert_var[3]", 0x60, 0x20>,
    RoField<"assert_var[4]", 0x80, 0x20>,
    RoField<"assert_var[5]", 0xa0, 0x20>,
    Reserved<0xc0, 0x40>,
    RoField<"assert_exit_ptr", 0x100, 0x20>,
    RoField<"assert_callra", 0x120, 0x20>,
    Reserved<0x140, 0x20>,
    RoField<"time", 0x160, 0x20>,
    RoField<"fw_ver", 0x180, 0x20>,
    RoField<"hw_id", 0x1a0, 0x20>,
    RoField<"rfr_severity", 0x1c0, 0x8>,
    Reserved<0x1c8, 0x18>,
    RoField<"irisc_index", 0x1e0, 0x8>,
    RoField<"synd", 0x1e8, 0x8>,
    RoField<"ext_synd", 0x1f0, 0x10>> {};

struct mlx5_init_seg : Layout<"mlx5_init_seg", 0x10080,
    RoField<"fw_rev", 0x0, 0x20>,
    RoField<"cmdif_rev_fw_sub", 0x20, 0x20>,
    Reserved<0x40, 0x40>,
    Field<"cmdq_addr_h", 0x80, 0x20>,
    Field<"cmdq_addr_l_sz", 0xa0, 0x20>,
    Field<"cmd_dbell", 0xc0, 0x20>,
    Reserved<0xe0, 0xf00>,
    RoField<"initializing", 0xfe0, 0x20>,
    Nested<"health", 0x1000, mlx5_health_buffer>,
    Reserved<0x1200, 0x6dc0>,
    RoField<"cmd_exec_to", 0x7fc0, 0x20>,
    RoField<"cmd_q_init_to", 0x7fe0, 0x20>,
    RoField<"internal_timer_h", 0x8000, 0x20>,
    RoField<"internal_timer_l", 0x8020, 0x20>,
    Reserved<0x8040, 0x40>,
    RoField<"health_counter", 0x8080, 0x20>,
    Reserved<0x80a0, 0x160>,
    RoField<"real_time_h", 0x8200, 0x20>,
    RoField<"real_time_l", 0x8220, 0x20>,
    Reserved<0x8240, 0x7dc0>,
    RoField<"ieee1588_clk", 0x10000, 0x40>,
    RoField<"ieee1588_clk_type", 0x10040, 0x20>,
    Field<"clr_intx", 0x10060, 0x20>> {};

// clang-format on

/// fw_rev and cmdif_rev_fw_sub (fw_rev_maj and following of driver.h, cmdif_rev of
/// mlx5/core/cmd.c).
[[nodiscard]] constexpr std::uint32_t fw_rev(std::uint32_t major, std::uint32_t minor) noexcept {
  return minor << 16 | (major & 0xffff);
}
[[nodiscard]] constexpr std::uint32_t cmdif_rev_fw_sub(std::uint32_t cmdif_rev,
                                                       std::uint32_t fw_sub) noexcept {
  return cmdif_rev << 16 | (fw_sub & 0xffff);
}

/// cmdq_addr_l_sz: bits 31:12 of the queue's address, which must be page aligned, above
/// nic_interface (10:8) and what the device says of the queue (7:0, ignored in a write). Linux
/// reads three bits of nic_interface (mlx5_get_nic_state), mlx5_ifc.h names two.
[[nodiscard]] constexpr std::uint32_t cmdq_addr_l_sz(std::uint64_t address,
                                                     std::uint32_t nic_interface,
                                                     std::uint32_t log_sz = 0,
                                                     std::uint32_t log_stride = 0) noexcept {
  return (static_cast<std::uint32_t>(address) & 0xfffff000) | (nic_interface & 7) << 8 |
         (log_sz & 0xf) << 4 | (log_stride & 0xf);
}
[[nodiscard]] constexpr std::uint32_t cmdq_addr_l(std::uint32_t cmdq_addr_l_sz) noexcept {
  return cmdq_addr_l_sz & 0xfffff000;
}
[[nodiscard]] constexpr std::uint32_t nic_interface(std::uint32_t cmdq_addr_l_sz) noexcept {
  return cmdq_addr_l_sz >> 8 & 7;
}
[[nodiscard]] constexpr std::uint32_t log_cmdq_size(std::uint32_t cmdq_addr_l_sz) noexcept {
  return cmdq_addr_l_sz >> 4 & 0xf;
}
[[nodiscard]] constexpr std::uint32_t log_cmdq_stride(std::uint32_t cmdq_addr_l_sz) noexcept {
  return cmdq_addr_l_sz & 0xf;
}

/// Bits of initializing (fw_initializing of mlx5/core/main.c; device.h).
inline constexpr std::uint32_t kInitializing = 1u << 31;
inline constexpr std::uint32_t kFwResetSupported = 1u << 30;
/// The counter in health_counter; what stands above it is a syndrome (mlx5/core/health.c).
inline constexpr std::uint32_t kHealthCounterMask = 0xffffff;
/// rfr of rfr_severity: the firmware asks for a reset (mlx5_health_get_rfr of mlx5/core/health.c).
inline constexpr std::uint32_t kRfr = 1u << 7;

/// cmd_exec_to and cmd_q_init_to in milliseconds: a unit (ms, s, min, h) above a value; 0 when the
/// device does not say (tout_convert_iseg_to_ms of mlx5/core/lib/tout.c).
[[nodiscard]] constexpr std::uint64_t iseg_timeout_ms(std::uint32_t to) noexcept {
  constexpr std::uint64_t kUnitMs[] = {1, 1000, 60'000, 3'600'000};
  return (to & 0xfffff) * kUnitMs[to >> 29 & 3];
}

}  // namespace portcullis::prm
