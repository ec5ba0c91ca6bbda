// SPDX-License-Identifier: BSD-3-Clause
//
// Wall-clock round trips through the provider: what of a fence's time is the driver's, beside the
// cost of one trapped register access.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/vfio_peer/device.hpp"
#include "tools/vfio_peer/queue_pair.hpp"

namespace portcullis::tools::vfio_peer {

struct Series {
  std::string name;
  std::vector<std::uint64_t> ns;  // one a sample, in the order they were taken
};

struct Latencies {
  Series register_read;          // one dword of BAR0 through the provider's mapping
  std::vector<Series> commands;  // 2ERR_QP, DESTROY_MKEY, QUERY_ISSI
};

/// `samples` of each, after one that is not counted. Timed is the provider's call alone.
[[nodiscard]] Result<Latencies> measure(Device& device, const Port& port, std::uint32_t eqn,
                                        std::uint32_t samples);

}  // namespace portcullis::tools::vfio_peer
