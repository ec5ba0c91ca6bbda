// SPDX-License-Identifier: BSD-3-Clause
//
// The commands that bring a function up and down, one function each, in the order of bring-up. What
// they mean together stands in pmd/hca.cpp.
#pragma once

#include <string>

#include "base/result.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::pmd {

[[nodiscard]] Result<void> enable_hca(CommandChannel& commands);
/// QUERY_ISSI, then SET_ISSI with the one interface this driver speaks; Unsupported when the device
/// does not offer it.
[[nodiscard]] Result<void> negotiate_issi(CommandChannel& commands);
/// ACCESS_REG write of HOST_ENDIANNESS; physical functions only (set_hca_ctrl of Linux).
[[nodiscard]] Result<void> set_host_endianness(CommandChannel& commands);
[[nodiscard]] Result<void> init_hca(CommandChannel& commands);
/// QUERY_ADAPTER: the board's PSID, at most 16 characters, as Linux reads it (mlx5_query_board_id).
[[nodiscard]] Result<std::string> read_board_id(CommandChannel& commands);
/// Lets the NIC vport of an Ethernet port carry RoCE.
[[nodiscard]] Result<void> enable_roce_on_vport(CommandChannel& commands);
/// TEARDOWN_HCA, graceful.
[[nodiscard]] Result<void> teardown_hca(CommandChannel& commands);
[[nodiscard]] Result<void> disable_hca(CommandChannel& commands);

}  // namespace portcullis::pmd
