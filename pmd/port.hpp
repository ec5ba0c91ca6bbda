// SPDX-License-Identifier: BSD-3-Clause
//
// The port of an Ethernet function: its administrative state, the length of its frames and the
// addresses that it takes, which the driver sets, and its link, which it can only wait for.
// ConnectX-5 has one port a function.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/device.hpp"
#include "base/result.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/context.hpp"
#include "pmd/gid.hpp"
#include "prm/enums.hpp"

namespace portcullis::pmd {

struct PortState {
  bool admin_up = false;
  bool link_up = false;
};

/// "admin up, link down".
[[nodiscard]] std::string describe(PortState state);

/// ACCESS_REG write of PAOS: administratively up or down, as opening and closing a network
/// interface does (mlx5_set_port_admin_status of Linux).
[[nodiscard]] Result<void> set_port_admin(CommandChannel& commands, bool is_up);
[[nodiscard]] inline Result<void> set_port_up(CommandChannel& commands) {
  return set_port_admin(commands, true);
}
/// QUERY_VPORT_STATE of the function's own vport, which a virtual function has too
/// (mlx5e_update_carrier of Linux).
[[nodiscard]] Result<PortState> query_port_state(CommandChannel& commands);
/// Looks until the link is up or `until_ns` passes; the last state seen.
[[nodiscard]] Result<PortState> wait_for_link(const Device& device, CommandChannel& commands,
                                              std::uint64_t until_ns);

/// The longest frame that a packet of that path MTU can be, as register PMTU counts: with the
/// Ethernet header, a VLAN tag and the FCS. What stands between is what iboe_get_mtu of Linux
/// (include/rdma/ib_addr.h) takes off.
[[nodiscard]] constexpr std::uint32_t frame_bytes(prm::QpcMtu mtu) noexcept {
  constexpr std::uint32_t kEthernet = 14 + 4 + 4;                 // MLX5E_ETH_HARD_MTU
  constexpr std::uint32_t kTransport = 40 + 8 + 12 + 4 + 28 + 4;  // IPv6, UDP, BTH to ICRC
  return prm::bytes_of(mtu) + kTransport + kEthernet;
}

/// Register PMTU, in bytes of a frame as frame_bytes() counts.
struct FrameLimits {
  std::uint32_t in_force = 0;
  std::uint32_t greatest = 0;
};
[[nodiscard]] Result<FrameLimits> query_frame_limits(CommandChannel& commands);
/// Register PMTU, and the vport's mtu beside it (mlx5e_set_mtu of Linux).
[[nodiscard]] Result<void> set_frame_limit(CommandChannel& commands, std::uint32_t bytes);

/// MODIFY_NIC_VPORT_CONTEXT with `mac` as the one unicast address: without it the switch inside a
/// card sends a virtual function nothing (mlx5e_vport_context_update_addr_list of Linux).
[[nodiscard]] Result<void> announce_address(CommandChannel& commands, const Mac& mac);
/// The same with multicast addresses, broadcast among them: what the port takes beside its own
/// (mlx5e_fill_addr_array of Linux puts broadcast into that list).
[[nodiscard]] Result<void> listen_to_groups(CommandChannel& commands, std::span<const Mac> groups);

/// InvalidArgument when packets of `mtu` do not fit the port's frames, with the greatest that does;
/// ok where nobody knows how long those are.
[[nodiscard]] Result<void> check_path_mtu(const Context& context, prm::QpcMtu mtu);
/// The greatest path MTU up to `most` whose packets fit the port's frames; 256 where none does.
[[nodiscard]] prm::QpcMtu fitting_path_mtu(const Context& context, prm::QpcMtu most) noexcept;

}  // namespace portcullis::pmd
