// SPDX-License-Identifier: BSD-3-Clause
#include "lease/sweep.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "lease/fence_plan.hpp"
#include "pmd/inline_command.hpp"

namespace portcullis::lease {
namespace {

/// A step that is no command is waited for on the idle path, and who revokes meanwhile waits with
/// it.
constexpr std::uint64_t kActNs = 100 * kNsPerMs;
/// And for the host's own side. Whoever has the function in another process may be slow on a busy
/// machine, and a slot whose step has failed is gone until the function is reset.
constexpr std::uint64_t kHostActNs = 400 * kNsPerMs;

}  // namespace

void Sweep::sweep_due(std::uint64_t now_ns, std::uint64_t until_ns) {
  while (current_ || take(now_ns)) {
    if (!run_steps()) return;
    if (current_) finish_phase();
    // A channel that waits in await() would go on to the last slot.
    if (port_->device->clock.now_ns() >= until_ns) return;
  }
}

bool Sweep::take(std::uint64_t now_ns) {
  const auto slot = table_->take_due(now_ns);
  if (!slot) return false;
  current_ = Current{.slot = *slot,
                     .steps = table_->is_quarantined(*slot) ? destroy_phase() : reset_phase(),
                     .ticket = std::nullopt};
  return true;
}

bool Sweep::run_steps() {
  const Holding& holding = holding_of_(current_->slot);
  for (; current_->next < current_->steps.size(); ++current_->next) {
    const Step step = current_->steps[current_->next];
    if (holding.is_left_out(step)) continue;
    const auto result = run(step, holding);
    if (!result) return false;
    if (!*result) {
      if (port_->on_failure) port_->on_failure(current_->slot, step, result->error());
      fence(step);
      return true;
    }
    current_->done = static_cast<StepMask>(current_->done | bit(step));
  }
  return true;
}

std::optional<Result<void>> Sweep::run(Step step, const Holding& holding) {
  const StepRow& how = row(step);
  if (how.is_command()) return run_command(how, holding.target);
  const std::uint64_t most_ns = how.takes_time() ? kActNs : kHostActNs;
  // The key is destroyed before the region is unmapped.
  return how.act({.port = port_,
                  .target = &holding.target,
                  .is_key_dead = true,
                  .until_ns = std::min(command_deadline_ns(),
                                       after_ns(port_->device->clock.now_ns(), most_ns))});
}

std::optional<Result<void>> Sweep::run_command(const StepRow& how, const FenceTarget& target) {
  pmd::CommandChannel& commands = *port_->commands;
  if (!current_->ticket) {
    auto ticket = how.submit(commands, target, pmd::SlotClass::Common);
    // A step that was not sent has not failed.
    if (!ticket && ticket.error().code == Errc::Busy) return std::nullopt;
    if (!ticket) return Result<void>(forward_error(std::move(ticket)));
    current_->ticket = *ticket;
    current_->deadline_ns = command_deadline_ns();
  }
  const bool is_late = port_->device->clock.now_ns() >= current_->deadline_ns;
  if (!is_late && !commands.is_done(*current_->ticket)) return std::nullopt;
  const pmd::Ticket ticket = *std::exchange(current_->ticket, std::nullopt);
  return pmd::InlineCommand::await(commands, ticket, current_->deadline_ns);
}

void Sweep::abandon() {
  while (current_ || take(std::numeric_limits<std::uint64_t>::max())) {
    const std::uint64_t now_ns = port_->device->clock.now_ns();
    if (current_->ticket)
      (void)pmd::InlineCommand::await(*port_->commands, *current_->ticket, now_ns);
    const Holding& holding = holding_of_(current_->slot);
    const auto is_to_do = [&holding](Step step) { return !holding.is_left_out(step); };
    const auto rest = current_->steps.subspan(current_->next);
    const auto next = std::ranges::find_if(rest, is_to_do);
    fence(next != rest.end() ? *next : current_->steps.back());
  }
}

void Sweep::finish_phase() {
  Holding& holding = holding_of_(current_->slot);
  const std::uint32_t slot = current_->slot;
  holding.confirm(current_->done);
  if (!table_->is_quarantined(slot)) {
    // A wait that is over already is due at once, and the loop takes the slot again.
    (void)table_->quarantine(slot, holding.quarantine_ns);
  } else {
    (void)table_->free(slot);
    on_free_(slot);
  }
  current_.reset();
}

void Sweep::fence(Step failed) {
  const std::uint32_t slot = current_->slot;
  holding_of_(slot).confirm(current_->done);
  Verdict verdict = table_->verdict(slot);
  verdict.origin = Origin::Sweep;
  verdict.failed_mask = static_cast<StepMask>(verdict.failed_mask | bit(failed));
  (void)table_->fence(slot, verdict, port_->device->clock.now_ns());
  current_.reset();
}

}  // namespace portcullis::lease
