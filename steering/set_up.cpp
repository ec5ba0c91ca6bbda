// SPDX-License-Identifier: BSD-3-Clause
#include "steering/set_up.hpp"

#include <string>
#include <utility>

#include "steering/underlay_drop.hpp"

namespace portcullis::steering {

Result<void> check_choice(EntryPlan entry, const Choice& choice) {
  const bool is_underlay = entry == EntryPlan::Underlay;
  const bool is_accepted =
      choice.kind != Choice::Kind::Off && (choice.kind != Choice::Kind::One || !is_underlay);
  if (entry == EntryPlan::AtRevoke || is_accepted) return {};
  return fail(Errc::InvalidArgument,
              "steering " + std::string(name(choice)) +
                  (is_underlay ? ": an underlay has no shape to choose; offered or try is accepted"
                               : ": the plan has its entry from the grant on; offered, try or a "
                                 "shape is accepted"));
}

Result<std::unique_ptr<DropRule>> set_up_rule(const pmd::Context& context, EntryPlan entry,
                                              const FlowDrop::Options& options,
                                              const LogSink& log) {
  PORTCULLIS_TRY(check_choice(entry, options.choice));
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
