// SPDX-License-Identifier: BSD-3-Clause
//
// From a fence plan's entry to the rule that makes it: where a program decides what its leases are
// dropped by.
#pragma once

#include <memory>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "pmd/context.hpp"
#include "steering/drop_rule.hpp"
#include "steering/flow_drop.hpp"

namespace portcullis::steering {

/// InvalidArgument where a plan's entry cannot be had by `choice`: with off nothing would stand
/// from the grant on, and an underlay has no shape to choose.
[[nodiscard]] Result<void> check_choice(EntryPlan entry, const Choice& choice);

/// FlowDrop by `options.choice`, null when there is none, which `log` hears of; for an underlay
/// UnderlayDrop, and an error where port type or a capability forbids it: whoever asked for that
/// plan is refused. `context` must outlive it.
[[nodiscard]] Result<std::unique_ptr<DropRule>> set_up_rule(const pmd::Context& context,
                                                            EntryPlan entry,
                                                            const FlowDrop::Options& options,
                                                            const LogSink& log);

}  // namespace portcullis::steering
