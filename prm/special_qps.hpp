// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers and addresses that mean the same on every port: queue pairs 0 and 1, to which management
// datagrams go and which qpc.st names, and what is for many. The rest is of include/rdma/ib_mad.h
// and ib_verbs.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace portcullis::prm {

inline constexpr std::uint32_t kServiceQp0 = 0x7;  // MLX5_QP_ST_QP0
inline constexpr std::uint32_t kServiceQp1 = 0x8;  // MLX5_QP_ST_QP1

inline constexpr std::uint32_t kQp0 = 0;  // IB_QP0: subnet management
inline constexpr std::uint32_t kQp1 = 1;  // IB_QP1: all other management
/// The LID of whoever is at the other end of the link.
inline constexpr std::uint16_t kPermissiveLid = 0xffff;  // IB_LID_PERMISSIVE
inline constexpr std::size_t kManagementBytes = 256;     // IB_MGMT_MAD_SIZE

/// Whom a datagram for a multicast group says it is for.
inline constexpr std::uint32_t kMulticastQpn = 0xffffff;  // IB_MULTICAST_QPN
/// From IB_MULTICAST_LID_BASE to below the permissive one.
[[nodiscard]] constexpr bool is_multicast_lid(std::uint16_t lid) noexcept {
  constexpr std::uint16_t kBase = 0xc000;
  return lid >= kBase && lid != kPermissiveLid;
}

}  // namespace portcullis::prm
