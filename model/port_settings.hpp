// SPDX-License-Identifier: BSD-3-Clause
//
// The port as commands set it and the transport reads it: MAC, RoCE switch, RoCE address table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace portcullis::model {

using Mac = std::array<std::uint8_t, 6>;
using Gid = std::array<std::uint8_t, 16>;  // IPv4 as ::ffff:a.b.c.d

/// One entry of SET_ROCE_ADDRESS.
struct RoceAddress {
  Gid gid{};
  Mac mac{};
  std::uint8_t version = 0;  // MLX5_ROCE_VERSION_1 0, _2 2
  std::uint8_t l3_type = 0;  // MLX5_ROCE_L3_TYPE_IPV4 0, _IPV6 1
  bool vlan_valid = false;
  std::uint16_t vlan_id = 0;
  bool valid = false;  // false: never set, or cleared by writing zeros
};

struct PortSettings {
  static constexpr std::size_t kRoceAddresses = 256;  // roce_cap.roce_address_table_size

  Mac mac{};
  bool roce_enabled = false;  // nic_vport_context.roce_en
  bool link_up = true;
  std::array<RoceAddress, kRoceAddresses> roce{};
};

}  // namespace portcullis::model
