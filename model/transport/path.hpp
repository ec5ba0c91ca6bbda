// SPDX-License-Identifier: BSD-3-Clause
//
// From an address path (ads) and the RoCE address table, or the LID and GID of an InfiniBand port,
// to what the frames of a queue pair say.
#pragma once

#include <optional>

#include "model/port_settings.hpp"
#include "model/transport/frame.hpp"
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// Taken when the queue pair enters RTR, as mlx5_set_path of mlx5_ib/qp.c fills it. Nothing when
/// RoCE is off, the source entry is unset or not RoCEv2, or source and destination are not of one
/// IP version. With ads.fl the entry may be missing: frames never leave the port, which then speaks
/// to itself by link-local addresses. On InfiniBand nothing when the path names source path bits or
/// a GID index that the port does not have.
[[nodiscard]] std::optional<Path> resolve_path(prm::ConstView<prm::qpc> context,
                                               const PortSettings& port);

}  // namespace portcullis::model
