// SPDX-License-Identifier: BSD-3-Clause
//
// The port of an Ethernet function: its administrative state, which the driver sets, and its link,
// which it can only wait for. ConnectX-5 has one port a function.
#pragma once

#include <cstdint>
#include <string>

#include "base/device.hpp"
#include "base/result.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::pmd {

struct PortState {
  bool admin_up = false;
  bool link_up = false;
};

/// "admin up, link down".
[[nodiscard]] std::string describe(PortState state);

/// ACCESS_REG write of PAOS: administratively up, as opening a network interface does
/// (mlx5_set_port_admin_status of Linux).
[[nodiscard]] Result<void> set_port_up(CommandChannel& commands);
/// QUERY_VPORT_STATE of the function's own vport, which a virtual function has too
/// (mlx5e_update_carrier of Linux).
[[nodiscard]] Result<PortState> query_port_state(CommandChannel& commands);
/// Looks until the link is up or `until_ns` passes; the last state seen.
[[nodiscard]] Result<PortState> wait_for_link(const Device& device, CommandChannel& commands,
                                              std::uint64_t until_ns);

}  // namespace portcullis::pmd
