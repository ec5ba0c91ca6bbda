// SPDX-License-Identifier: BSD-3-Clause
//
// The same transition system in Promela, for SPIN to count: an independent second writing of the
// rules of semantics/step.hpp from the same scenario. One process, one loop, every rule one d_step,
// every field a bit-field of the same width, so that the states SPIN stores are exactly ours.
#pragma once

#include <string>

#include "base/result.hpp"
#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

/// The model as Promela text. Only of an unmonitored machine (Scenario::is_monitored false, no
/// history) that takes no buffer; InvalidArgument otherwise.
[[nodiscard]] Result<std::string> promela(const Machine& machine);

}  // namespace portcullis::failover
