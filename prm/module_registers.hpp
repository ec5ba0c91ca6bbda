// SPDX-License-Identifier: BSD-3-Clause
//
// Registers of ACCESS_REG about the transceiver behind a port: which module it is (PMLP), whether
// it is there (PMAOS), and what its EEPROM has (MCIA). Source of every layout here: struct
// mlx5_ifc_NAME_bits of include/linux/mlx5/mlx5_ifc.h of Linux 6.1; tests/prm holds each against
// that header.
#pragma once

#include <cstdint>

#include "prm/layout.hpp"

namespace portcullis::prm {

// MLX5_REG_* (driver.h; access_register_in.register_id)
enum class ModuleRegisterId : std::uint16_t { PMLP = 0x5002, PMAOS = 0x5012, MCIA = 0x9014 };

/// mcia_reg.status: "MODULE_NOT_CONNECTED. No module present indication." (node mcia of mstflint's
/// tools_layouts/adb/prm/hca/ext/register_access_table.adb).
inline constexpr std::uint8_t kModuleNotConnected = 3;

/// pmaos_reg.admin_status and oper_status of that file.
inline constexpr std::uint8_t kModuleEnabled = 1;
inline constexpr std::uint8_t kModuleUnplugged = 2;

// One member a line, in the order of the header, so that the two can be read side by side.
// clang-format off
struct pmlp_reg : Layout<"pmlp_reg", 0x200,
    Field<"rxtx", 0x0, 0x1>,
    Reserved<0x1, 0x7>,
    Field<"local_port", 0x8, 0x8>,
    Reserved<0x10, 0x8>,
    Field<"width", 0x18, 0x8>,
    Field<"lane0_module_mapping", 0x20, 0x20>,
    Field<"lane1_module_mapping", 0x40, 0x20>,
    Field<"lane2_module_mapping", 0x60, 0x20>,
    Field<"lane3_module_mapping", 0x80, 0x20>,
    Reserved<0xa0, 0x160>> {};

struct pmaos_reg : Layout<"pmaos_reg", 0x80,
    Reserved<0x0, 0x8>,
    Field<"module", 0x8, 0x8>,
    Reserved<0x10, 0x4>,
    Field<"admin_status", 0x14, 0x4>,
    Reserved<0x18, 0x4>,
    Field<"oper_status", 0x1c, 0x4>,
    Field<"ase", 0x20, 0x1>,
    Field<"ee", 0x21, 0x1>,
    Reserved<0x22, 0x1c>,
    Field<"e", 0x3e, 0x2>,
    Reserved<0x40, 0x40>> {};

struct mcia_reg : Layout<"mcia_reg", 0x480,
    Field<"l", 0x0, 0x1>,
    Reserved<0x1, 0x7>,
    Field<"module", 0x8, 0x8>,
    Reserved<0x10, 0x8>,
    Field<"status", 0x18, 0x8>,
    Field<"i2c_device_address", 0x20, 0x8>,
    Field<"page_number", 0x28, 0x8>,
    Field<"device_address", 0x30, 0x10>,
    Reserved<0x40, 0x10>,
    Field<"size", 0x50, 0x10>,
    Reserved<0x60, 0x20>,
    Bytes<"dwords", 0x80, 0x400>> {};
// clang-format on

}  // namespace portcullis::prm
