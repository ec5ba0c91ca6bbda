// SPDX-License-Identifier: BSD-3-Clause
//
// What an InfiniBand port of the model is: one port at EDR x4, one GID of its own.
// Commands, registers and management datagrams say the same of it, each in its own encoding.
#pragma once

#include <cstdint>

#include "model/port_settings.hpp"

namespace portcullis::model::limits {

inline constexpr std::uint32_t kGids = 8;                      // mlx5_get_gid_table_len(0)
inline constexpr std::uint32_t kPkeys = PortSettings::kPkeys;  // mlx5_to_sw_pkey_sz(0)
inline constexpr std::uint32_t kMtuBytes = 4096;
inline constexpr std::uint32_t kMtuCode = 5;       // IB_MTU_4096, include/rdma/ib_verbs.h
inline constexpr std::uint32_t kVirtualLanes = 4;  // MLX5_VL_HW_0_3, mlx5_ib/main.c
inline constexpr std::uint32_t kOui = 0x0002c9;
inline constexpr std::uint32_t kDeviceId = 0x1017;
/// IB_PORT_SYS_IMAGE_GUID_SUP, _EXTENDED_SPEEDS_SUP, _CLIENT_REG_SUP (enum
/// ib_port_capability_mask_bits).
inline constexpr std::uint32_t kPortCapabilities = 1U << 11 | 1U << 14 | 1U << 25;

/// What the host's agents switch (ib_modify_port): IB_PORT_SM for who opens /dev/infiniband/issm*,
/// _CM_SUP for ib_cm, _SNMP_TUNNEL_SUP, _DEVICE_MGMT_SUP for ib_srpt, _VENDOR_CLASS_SUP. That a
/// card lets all of them be switched is a hypothesis.
inline constexpr std::uint32_t kAgentCapabilities =
    1U << 1 | 1U << 16 | 1U << 17 | 1U << 19 | 1U << 20;
[[nodiscard]] constexpr std::uint32_t port_capabilities(const PortSettings& port) noexcept {
  return kPortCapabilities | port.agent_capabilities;
}

// enum ib_port_phys_state of include/rdma/ib_verbs.h
inline constexpr std::uint32_t kPolling = 2, kDisabled = 3, kLinkUp = 5;
[[nodiscard]] constexpr std::uint32_t physical_state(const PortSettings& port) noexcept {
  if (port.link_up) return kLinkUp;
  return port.admin_up ? kPolling : kDisabled;
}

}  // namespace portcullis::model::limits
