// SPDX-License-Identifier: BSD-3-Clause
//
// Values of the fields of flow steering (prm/flow_commands.hpp). As in prm/enums.hpp each enum says
// how the kernel spells its enumerators, and tests/prm compares them.
#pragma once

#include <cstdint>
#include <string_view>

#include "prm/enums.hpp"

namespace portcullis::prm {

// MLX5_FLOW_TABLE_TYPE_* (mlx5_ifc.h; table_type of every command)
enum class FlowTableType : std::uint8_t {
  NIC_RX = 0x0,
  NIC_TX = 0x1,
  FDB = 0x4,
  RDMA_RX = 0x7,  // source file only: FS_FT_RDMA_RX of mlx5/core/fs_core.h
  RDMA_TX = 0x8,  // source file only: FS_FT_RDMA_TX of mlx5/core/fs_core.h
};
/// "RDMA_RX".
[[nodiscard]] std::string_view name(FlowTableType type) noexcept;

// MLX5_FLOW_TABLE_MISS_ACTION_* (mlx5_ifc.h; flow_table_context.table_miss_action)
enum class FlowTableMiss : std::uint8_t { DEF = 0, FWD = 1, SWITCH_DOMAIN = 2 };

// MLX5_MODIFY_FLOW_TABLE_* (mlx5_ifc.h; modify_flow_table_in.modify_field_select)
enum class ModifyFlowTable : std::uint8_t { MISS_TABLE_ID = 1 };

// MLX5_MATCH_* (device.h; match_criteria_enable)
enum class MatchCriteria : std::uint8_t {
  OUTER_HEADERS = 1,
  MISC_PARAMETERS = 2,
  INNER_HEADERS = 4,
  MISC_PARAMETERS_2 = 8,
  MISC_PARAMETERS_3 = 16,
  MISC_PARAMETERS_4 = 32,
  MISC_PARAMETERS_5 = 64,
};

// MLX5_FLOW_CONTEXT_ACTION_* (mlx5_ifc.h; flow_context.action, each a bit)
enum class FlowAction : std::uint16_t {
  ALLOW = 0x1,
  DROP = 0x2,
  FWD_DEST = 0x4,
  COUNT = 0x8,
  PACKET_REFORMAT = 0x10,
  DECAP = 0x20,
  MOD_HDR = 0x40,
  VLAN_POP = 0x80,
  VLAN_PUSH = 0x100,
};

// MLX5_IFC_FLOW_DESTINATION_TYPE_* (mlx5_ifc.h; dest_format_struct.destination_type)
enum class FlowDestination : std::uint8_t { VPORT = 0x0, FLOW_TABLE = 0x1, TIR = 0x2 };

// MLX5_SET_FTE_MODIFY_ENABLE_MASK_* (mlx5_ifc.h; the number of a bit of modify_enable_mask, as
// del_sw_hw_rule of mlx5/core/fs_core.c writes it: BIT(..ACTION))
enum class ModifyFte : std::uint8_t {
  ACTION = 0,
  FLOW_TAG = 1,
  DESTINATION_LIST = 2,
  FLOW_COUNTERS = 3,
};

// MLX5_SET_FTE_OP_MOD_* (source file only: opmod of mlx5_cmd_create_fte and mlx5_cmd_update_fte in
// mlx5/core/fs_cmd.c)
enum class SetFteOpMod : std::uint8_t { SET = 0, MODIFY = 1 };

// MLX5_SET_FLOW_TABLE_ROOT_OP_MOD_* (source file only: mlx5_cmd_update_root_ft in fs_cmd.c)
enum class FlowTableRootOpMod : std::uint8_t { SET = 0, DISCONNECT = 1 };

/// set_flow_table_root_in.underlay_qpn of a root that belongs to the whole function.
inline constexpr std::uint32_t kNoUnderlayQpn = 0;

}  // namespace portcullis::prm
