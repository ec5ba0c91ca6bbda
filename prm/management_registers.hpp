// SPDX-License-Identifier: BSD-3-Clause
//
// Management registers of ACCESS_REG: which there are, the one that reloads the firmware, how warm
// the card is, and the light of a port.
// Source of every layout here: struct mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux
// 6.1, of mtcap_reg and mtmp_reg that of 6.8; tests/prm holds each against the header that has it.
#pragma once

#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

// MLX5_REG_* (driver.h; access_register_in.register_id)
enum class ManagementRegisterId : std::uint16_t {
  MTCAP = 0x9009,  // newer than Linux 6.1
  MTMP = 0x900a,   // newer than Linux 6.1
  MFRL = 0x9028,
  MLCR = 0x902b,
  MCAM = 0x907f,
};

// MLX5_MFRL_REG_RESET_STATE_* (mlx5_ifc.h; mfrl_reg.reset_state)
enum class ResetState : std::uint8_t {
  IDLE = 0,
  IN_NEGOTIATION = 1,
  RESET_IN_PROGRESS = 2,
  NEG_TIMEOUT = 3,  // newer than Linux 6.1, which says MLX5_MFRL_REG_RESET_STATE_TIMEOUT
  NACK = 4,
};

// MLX5_MFRL_REG_* (mlx5_ifc.h; bits of mfrl_reg.reset_level)
enum class ResetLevel : std::uint8_t {
  RESET_LEVEL0 = 1,  // the new firmware takes over as it runs
  RESET_LEVEL3 = 8,  // by the driver and a reset of the PCI function
};

// MLX5_MFRL_REG_* (mlx5_ifc.h; bits of mfrl_reg.reset_type)
enum class ResetType : std::uint8_t { RESET_TYPE_FULL_CHIP = 1 };

/// mfrl_reg.pci_sync_for_fw_update_resp (mlx5_fw_reset_set_reset_sync_ack and _nack of
/// mlx5/core/fw_reset.c).
inline constexpr std::uint32_t kResetAgreed = 1;
inline constexpr std::uint32_t kResetRefused = 2;

/// mlcr_reg.beacon_duration, in seconds, and beacon_remain: "The value of 0xffff will set the
/// beacon to infinity" (node mlcr of mstflint's
/// tools_layouts/adb/prm/hca/ext/register_access_table.adb).
inline constexpr std::uint16_t kBeaconForEver = 0xffff;

/// mtmp_reg.sensor_index of that file: the chip's, and of module 0 on the modules'.
inline constexpr std::uint32_t kSensorOfChip = 0;
inline constexpr std::uint32_t kFirstSensorOfModules = 64;
/// Its temperatures: "Units of 0.125 Celsius degrees".
inline constexpr std::uint16_t kTicksPerDegree = 8;

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct mfrl_reg : Layout<"mfrl_reg", 0x40,
    Reserved<0x0, 0x20>,
    Reserved<0x20, 0x2>,
    Field<"pci_sync_for_fw_update_start", 0x22, 0x1>,
    Field<"pci_sync_for_fw_update_resp", 0x23, 0x2>,
    Field<"rst_type_sel", 0x25, 0x3>,
    Reserved<0x28, 0x4>,
    Field<"reset_state", 0x2c, 0x4>,
    Field<"reset_type", 0x30, 0x8>,
    Field<"reset_level", 0x38, 0x8>> {};

/// mng_access_reg_cap_mask: bit N from the end for register 0x9000 + N, of group 0.
struct mcam_reg : Layout<"mcam_reg", 0x240,
    Reserved<0x0, 0x8>,
    Field<"feature_group", 0x8, 0x8>,
    Reserved<0x10, 0x8>,
    Field<"access_reg_group", 0x18, 0x8>,
    Reserved<0x20, 0x20>,
    Bytes<"mng_access_reg_cap_mask", 0x40, 0x80>,
    Reserved<0xc0, 0x80>,
    Bytes<"mng_feature_cap_mask", 0x140, 0x80>,
    Reserved<0x1c0, 0x80>> {};

struct mlcr_reg : Layout<"mlcr_reg", 0x60,
    Reserved<0x0, 0x8>,
    Field<"local_port", 0x8, 0x8>,
    Reserved<0x10, 0x20>,
    Field<"beacon_duration", 0x30, 0x10>,
    Reserved<0x40, 0x10>,
    Field<"beacon_remain", 0x50, 0x10>> {};

struct mtcap_reg : Layout<"mtcap_reg", 0x80,
    Reserved<0x0, 0x19>,
    Field<"sensor_count", 0x19, 0x7>,
    Reserved<0x20, 0x20>,
    Field<"sensor_map", 0x40, 0x40>> {};

struct mtmp_reg : Layout<"mtmp_reg", 0x100,
    Reserved<0x0, 0x14>,
    Field<"sensor_index", 0x14, 0xc>,
    Reserved<0x20, 0x10>,
    Field<"temperature", 0x30, 0x10>,
    Field<"mte", 0x40, 0x1>,
    Field<"mtr", 0x41, 0x1>,
    Reserved<0x42, 0xe>,
    Field<"max_temperature", 0x50, 0x10>,
    Field<"tee", 0x60, 0x2>,
    Reserved<0x62, 0xe>,
    Field<"temp_threshold_hi", 0x70, 0x10>,
    Reserved<0x80, 0x10>,
    Field<"temp_threshold_lo", 0x90, 0x10>,
    Reserved<0xa0, 0x20>,
    Field<"sensor_name_hi", 0xc0, 0x20>,
    Field<"sensor_name_lo", 0xe0, 0x20>> {};
// clang-format on

}  // namespace portcullis::prm
