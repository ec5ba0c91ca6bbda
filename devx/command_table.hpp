// SPDX-License-Identifier: BSD-3-Clause
//
// Which of DevX's calls takes which command of this driver. What is not in the table the kernel
// does not take from a process, or nobody here sends it to a NIC that is not ours. Sources:
// devx_is_obj_create_cmd, devx_is_obj_modify_cmd, devx_is_obj_query_cmd, devx_is_general_cmd and
// devx_obj_build_destroy_cmd of drivers/infiniband/hw/mlx5/devx.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "prm/opcodes.hpp"

namespace portcullis::devx {

/// SetEntry creates or modifies, by its op_mod; SetRoot the kernel does not take, and a rule stands
/// in for it (devx/flow_rules.hpp).
enum class Call : std::uint8_t {
  Create,
  Modify,
  Query,
  Destroy,
  General,
  AllocateUar,
  FreeUar,
  SetEntry,
  SetRoot,
};

/// Ids are numbered apart from one another by kind.
enum class Kind : std::uint8_t {
  None,
  Pd,
  Mkey,
  Cq,
  Qp,
  QCounter,
  TransportDomain,
  FlowTable,
  FlowGroup,
  FlowEntry,
};

struct Handling {
  prm::Opcode opcode{};
  Call call = Call::General;
  Kind kind = Kind::None;
  std::size_t id_at = 8;     // the four bytes of the input whose low 24 bits are the object's id
  std::size_t table_at = 0;  // the same, of the flow table that it is in; 0: it is in none
};

/// Whether the kernel answers "ok" to it without asking a device that it takes for broken
/// (mlx5_internal_err_ret_value of mlx5/core/cmd.c): what gives something back, 2ERR_QP, 2RST_QP,
/// SET_FLOW_TABLE_ENTRY, which a rule is as well.
[[nodiscard]] bool may_be_faked(const Handling& how) noexcept;
/// Null for a command that DevX does not take.
[[nodiscard]] const Handling* handling_of(prm::Opcode opcode) noexcept;
/// The low 24 bits of the big-endian word at `at`; 0 where the message is too short.
[[nodiscard]] std::uint32_t id_at(std::span<const std::byte> message, std::size_t at) noexcept;
/// Where a create's output has the new id: pd, mkey_index, cqn, qpn, counter_set_id,
/// transport_domain, table_id and group_id all end at byte 12.
inline constexpr std::size_t kNewIdAt = 8;

}  // namespace portcullis::devx
