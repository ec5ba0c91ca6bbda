// SPDX-License-Identifier: BSD-3-Clause
#include "steering/set_up.hpp"

#include "steering/underlay_drop.hpp"

namespace portcullis::steering {

Result<std::unique_ptr<DropRule>> set_up_rule(const pmd::Context& context, EntryPlan entry,
                                              const FlowDrop::Options& options,
                                              const LogSink& log) {
  if (entry != EntryPlan::Underlay)
    return std::unique_ptr<DropRule>(FlowDrop::set_up_or_say(context, options, log));
  UnderlayDrop::Options wanted;
  wanted.slots = options.slots;
  wanted.loopback = options.loopback;
  wanted.quiet_ms = options.quiet_ms;
  wanted.try_anyway = options.choice.kind == Choice::Kind::Try;
  PORTCULLIS_TRY_ASSIGN(auto drop, UnderlayDrop::set_up(context, wanted));
  if (log) log("steering: " + drop->describe());
  return std::unique_ptr<DropRule>(std::move(drop));
}

}  // namespace portcullis::steering
