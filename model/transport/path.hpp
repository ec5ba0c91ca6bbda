// SPDX-License-Identifier: BSD-3-Clause
//
// From an address path (ads) or vector (av) and the RoCE address table, or the LID and GID of an
// InfiniBand port, to what the frames of a queue pair say.
#pragma once

#include <optional>

#include "model/port_settings.hpp"
#include "model/transport/frame.hpp"
#include "model/transport/qp.hpp"
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {

/// Taken when the queue pair enters RTR, as mlx5_set_path of mlx5_ib/qp.c fills it. Nothing when
/// RoCE is off, the source entry is unset or not RoCEv2, or source and destination are not of one
/// IP version. With ads.fl the entry may be missing: frames never leave the port, which then speaks
/// to itself by link-local addresses. On InfiniBand nothing when the path names source path bits or
/// a GID index that the port does not have.
[[nodiscard]] std::optional<Path> resolve_path(prm::ConstView<prm::qpc> context,
                                               const PortSettings& port);

/// The same of the address vector in a WQE of UD, as mlx5_create_ah of rdma-core fills it. The
/// short vector has no GRH and no MAC: nothing on Ethernet.
[[nodiscard]] std::optional<Path> resolve_address(prm::ConstView<prm::mlx5_wqe_av> address,
                                                  const PortSettings& port);

/// Makes `address` that of the next datagram of `qp`: path, frame and whether it comes back. False
/// as resolve_address().
bool set_address(Qp& qp, prm::ConstView<prm::mlx5_wqe_av> address, const PortSettings& port);

/// What `qp` sends with and is asked by: its entry of an InfiniBand port's table, of Ethernet the
/// default key.
[[nodiscard]] std::uint16_t pkey_of(const Qp& qp, const PortSettings& port) noexcept;
/// As pkey_match of rxe_verbs.h: alike in their low 15 bits, which are not 0, and one of both is
/// that of a full member.
[[nodiscard]] bool pkeys_match(std::uint16_t one, std::uint16_t other) noexcept;

/// The Q_Key for it. One with its highest bit set stands for `own`, the queue pair's (InfiniBand,
/// Q_Keys that are "controlled").
[[nodiscard]] std::uint32_t q_key_of(prm::ConstView<prm::mlx5_wqe_av> address,
                                     std::uint32_t own) noexcept;

}  // namespace portcullis::model
