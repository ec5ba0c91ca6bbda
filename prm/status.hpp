// SPDX-License-Identifier: BSD-3-Clause
//
// What a command answers: the delivery status of the queue entry, the status and syndrome of the
// output, and one line of text for all of it. Sources: enum MLX5_CMD_STAT_* of
// include/linux/mlx5/device.h; MLX5_CMD_DELIVERY_STAT_*, cmd_status_str and deliv_status_to_str of
// mlx5/core/cmd.c (Linux 6.12; the delivery values stand in no installed header).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace portcullis::prm {

// MLX5_CMD_STAT_*
enum class CommandStatus : std::uint8_t {
  OK = 0x0,
  INT_ERR = 0x1,
  BAD_OP_ERR = 0x2,
  BAD_PARAM_ERR = 0x3,
  BAD_SYS_STATE_ERR = 0x4,
  BAD_RES_ERR = 0x5,
  RES_BUSY = 0x6,
  NOT_READY = 0x7,  // newer than Linux 6.1
  LIM_ERR = 0x8,
  BAD_RES_STATE_ERR = 0x9,
  IX_ERR = 0xa,
  NO_RES_ERR = 0xf,
  BAD_QP_STATE_ERR = 0x10,
  BAD_PKT_ERR = 0x30,
  BAD_SIZE_OUTS_CQES_ERR = 0x40,
  BAD_INP_LEN_ERR = 0x50,
  BAD_OUTP_LEN_ERR = 0x51,
};

// MLX5_CMD_DELIVERY_STAT_* (source file only)
enum class DeliveryStatus : std::uint8_t {
  OK = 0x0,
  SIGNAT_ERR = 0x1,
  TOK_ERR = 0x2,
  BAD_BLK_NUM_ERR = 0x3,
  OUT_PTR_ALIGN_ERR = 0x4,
  IN_PTR_ALIGN_ERR = 0x5,
  FW_ERR = 0x6,
  IN_LENGTH_ERR = 0x7,
  OUT_LENGTH_ERR = 0x8,
  RES_FLD_NOT_CLR_ERR = 0x9,
  CMD_DESCR_ERR = 0x10,
};

/// "BAD_PARAM_ERR"; "UNKNOWN" for a value that the enum has not.
[[nodiscard]] std::string_view name(CommandStatus status) noexcept;
[[nodiscard]] std::string_view name(DeliveryStatus status) noexcept;
/// "bad parameter".
[[nodiscard]] std::string_view meaning(CommandStatus status) noexcept;
[[nodiscard]] std::string_view meaning(DeliveryStatus status) noexcept;

/// One line: "DESTROY_MKEY (0x202) op_mod 0: status BAD_PARAM_ERR (0x3, bad parameter), syndrome
/// 0x2a". A command that was not delivered has no status of its own, so only the delivery is named.
[[nodiscard]] std::string describe(const CommandFault& fault);

}  // namespace portcullis::prm
