// SPDX-License-Identifier: BSD-3-Clause
//
// The two queue pairs of a port that have the same number on every port, 0 and 1: management
// datagrams go to them. qpc.st names them; the rest is of include/rdma/ib_mad.h and ib_verbs.h.
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

}  // namespace portcullis::prm
