// SPDX-License-Identifier: BSD-3-Clause
//
// How the function's port is addressed, so that two queue pairs of it can reach each other.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "prm/enums.hpp"
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"
#include "tools/vfio_peer/device.hpp"

namespace portcullis::tools::vfio_peer {

struct Port {
  prm::PortType type = prm::PortType::ETH;
  std::array<std::uint8_t, 6> mac{};   // Ethernet
  std::array<std::uint8_t, 16> gid{};  // Ethernet: what stands at index 0 of the address table
  std::uint16_t lid = 0;               // InfiniBand

  /// "RoCE fe80::.." or "LID 3".
  [[nodiscard]] std::string text() const;
};

/// fe80::/64 and the EUI-64 of a MAC, as Linux makes the first GID of a port
/// (addrconf_addr_eui48, rdma_addr.h).
[[nodiscard]] std::array<std::uint8_t, 16> link_local_gid(const std::array<std::uint8_t, 6>& mac);

/// Asks for the port's type; writes its link-local GID to the RoCE address table, or waits for its
/// LID. Timeout when no subnet manager gives it one.
[[nodiscard]] Result<Port> set_up_port(Device& device);

/// The address path of INIT2RTR to `port` itself.
void fill_path(prm::Buffer<prm::init2rtr_qp_in>& in, const Port& port);

}  // namespace portcullis::tools::vfio_peer
