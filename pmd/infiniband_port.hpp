// SPDX-License-Identifier: BSD-3-Clause
//
// The port of an InfiniBand function: nothing reaches it before a subnet manager has given it a LID
// and made it active, and the driver can only wait for that.
#pragma once

#include <cstdint>

#include "base/device.hpp"
#include "base/result.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::pmd {

struct InfinibandPort {
  std::uint16_t lid = 0;  // 0: none yet
  bool is_active = false;
};

/// QUERY_HCA_VPORT_CONTEXT, the function's own (mlx5_query_hca_vport_context of mlx5/core/vport.c).
[[nodiscard]] Result<InfinibandPort> query_infiniband_port(CommandChannel& commands);
/// Looks until the port is active; Timeout when `until_ns` passes.
[[nodiscard]] Result<InfinibandPort> wait_for_subnet(const Device& device, CommandChannel& commands,
                                                     std::uint64_t until_ns);

}  // namespace portcullis::pmd
