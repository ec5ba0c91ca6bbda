// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lease/deadline.hpp"
#include "pmd/command_queue.hpp"

namespace portcullis::lease {
namespace {

/// Commands of a fence that nobody waits for that are in flight at once. A device that stops to
/// answer costs the function so many of its common slots, and others find the rest.
constexpr std::size_t kUnawaitedInFlight = 8;
/// How often a fence looks for an answer or a free slot.
constexpr std::uint64_t kLookAgainNs = 100 * kNsPerUs;

}  // namespace

Fence::Fence(const FencePort& port, const Plan& plan, std::span<const FenceTarget> targets,
             const FenceOptions& options)
    : port_(&port),
      plan_(plan),
      deadline_span_ns_(ns_of_ms(options.deadline_ms)),
      steps_(plan.order_for(targets.size())),
      budget_(std::make_unique<FenceBudget>(
          FenceBudget{.deadline_ns = after_ns(now_ns(), deadline_span_ns_),
                      .least_ns = deadline_span_ns_ / 32,
                      .may_reset_function = options.may_reset_function})),
      linger_ns_(ns_of_ms(options.linger_ms)) {
  steps_.insert(steps_.end(), ladder().begin(), ladder().end());
  runs_.reserve(targets.size());
  std::unordered_map<std::uint32_t, std::size_t> first_of;  // by group
  for (const FenceTarget& target : targets) {
    const std::size_t index = runs_.size();
    runs_.emplace_back(port, *budget_, plan, target);
    leaders_.push_back(target.group == 0 ? index
                                         : first_of.try_emplace(target.group, index).first->second);
  }
}

void Fence::go_on_unawaited() noexcept {
  budget_->patience_ns = std::max<std::uint64_t>(deadline_span_ns_ / 2, 1);
  budget_->unanswered = budget_->answered = 0;
  slot_until_ns_ = 0;
}

void Fence::give_up() noexcept {
  budget_->gives_up = true;
  for (Flight& flight : flights_) flight.deadline_ns = now_ns();
}

Fence::Progress Fence::advance_until(std::uint64_t until_ns) {
  while (next_ < steps_.size()) {
    if (stage_.empty()) {
      if (is_lingering(steps_[next_])) return Progress::Lingers;
      open_stage();
    }
    if (const auto halted = run_stage(until_ns)) return *halted;
    next_ += std::exchange(stage_, {}).size();
  }
  for (FenceRun& run : runs_) run.finish();
  return Progress::Through;
}

bool Fence::is_lingering(const PlanStep& planned) {
  if (!planned.after_linger || plan_.overlaps || budget_->gives_up) return false;
  if (std::ranges::none_of(runs_, &FenceRun::is_worth_a_linger)) return false;
  if (lingers_until_ns_ == 0)
    lingers_until_ns_ =
        std::min(after_ns(now_ns(), linger_ns_), budget_->step_deadline_ns(now_ns()));
  return now_ns() < lingers_until_ns_;
}

std::span<const PlanStep> Fence::next_stage() const noexcept {
  std::size_t end = next_ + 1;
  while (plan_.overlaps && !steps_[next_].is_rung() && end < steps_.size() &&
         !row(steps_[end].step).gives_back && !steps_[end].is_fallback && !steps_[end].is_rung())
    ++end;
  return std::span(steps_).subspan(next_, end - next_);
}

void Fence::open_stage() {
  stage_ = next_stage();
  cursor_ = {};
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (!runs_[i].is_unharmed()) runs_[leaders_[i]].keep_shared();
}

std::optional<Fence::Progress> Fence::run_stage(std::uint64_t until_ns) {
  constexpr std::size_t kPasses = 2;
  while (cursor_.pass < kPasses)
    if (const auto halted = begin_at_cursor(until_ns)) return halted;
  if (!land_all(until_ns)) return Progress::Waits;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    for (const PlanStep& planned : stage_)
      if (is_led(i, planned.step)) runs_[i].follow(planned.step, runs_[leaders_[i]]);
  return std::nullopt;
}

std::optional<Fence::Progress> Fence::begin_at_cursor(std::uint64_t until_ns) {
  const PlanStep& planned = stage_[cursor_.step];
  FenceRun& run = runs_[cursor_.index];
  const bool is_in_pass = row(planned.step).is_command() == (cursor_.pass == 0);
  if (!is_in_pass || is_led(cursor_.index, planned.step)) return move_on();
  while (flights_.size() >= most_in_flight(planned.step))
    if (!land(until_ns)) return Progress::Waits;
  if (now_ns() >= until_ns && run.would_wait(planned)) return Progress::Waits;
  const FenceRun::Begun begun = run.begin_step(planned, flights_.empty());
  switch (begun.kind) {
    case FenceRun::Begun::Kind::InFlight:
      flights_.push_back({&run, begun, 0});
      return move_on();
    case FenceRun::Begun::Kind::Through:
      return move_on();
    case FenceRun::Begun::Kind::NoSlot:
      return find_slot(planned, until_ns);
    case FenceRun::Begun::Kind::Unsent:
      break;
  }
  if (!land_all(until_ns)) return Progress::Waits;
  return judge_device();
}

std::optional<Fence::Progress> Fence::move_on() noexcept {
  slot_until_ns_ = 0;
  if (++cursor_.step < stage_.size()) return std::nullopt;
  cursor_.step = 0;
  if (++cursor_.index < runs_.size()) return std::nullopt;
  cursor_.index = 0;
  ++cursor_.pass;
  return std::nullopt;
}

/// What the device has answered others holds a slot until somebody looks. While one of our own is
/// in flight its slot will do. Else all are another's, or lost: they come back as long as the
/// device answers anybody, and when it has answered nobody for so long, nothing is to be hoped for.
std::optional<Fence::Progress> Fence::find_slot(const PlanStep& planned, std::uint64_t until_ns) {
  const std::size_t held = port_->traffic->in_flight();
  if (held != flights_.size() && port_->take_answers) {
    port_->take_answers();
    if (port_->traffic->in_flight() < held) return std::nullopt;
  }
  if (!flights_.empty()) return land(until_ns) ? std::nullopt : std::optional(Progress::Waits);
  if (slot_until_ns_ == 0 || port_->traffic->answered_ns() > slot_since_ns_) {
    slot_since_ns_ = now_ns();
    slot_until_ns_ = budget_->step_deadline_ns(now_ns());
  }
  if (now_ns() >= slot_until_ns_) {
    budget_->gives_up = true;
    runs_[cursor_.index].record_failure(
        planned.step, {Errc::Busy, fmt::format("{}: no fence slot is free", name(planned.step))});
    return move_on();
  }
  if (now_ns() >= until_ns) return Progress::Waits;
  port_->device->relax(std::min({until_ns, slot_until_ns_, now_ns() + kLookAgainNs}));
  return std::nullopt;
}

std::optional<Fence::Progress> Fence::judge_device() {
  const bool is_alive = budget_->answered != 0 || budget_->unanswered == 0;
  if (is_alive && budget_->is_awaited()) return Progress::OutOfTime;
  budget_->gives_up = !is_alive;
  budget_->unanswered = budget_->answered = 0;
  return std::nullopt;
}

bool Fence::land(std::uint64_t until_ns) {
  Flight& oldest = flights_.front();
  if (oldest.deadline_ns == 0) oldest.deadline_ns = budget_->step_deadline_ns(now_ns());
  const std::uint64_t limit_ns = std::min(until_ns, oldest.deadline_ns);
  const bool is_limited = until_ns != kNoLimit;
  while (is_limited && !port_->commands->is_done(oldest.begun.ticket) &&
         now_ns() < oldest.deadline_ns) {
    if (now_ns() >= limit_ns) return false;
    port_->device->relax(std::min(limit_ns, now_ns() + kLookAgainNs));
  }
  const Flight landed = oldest;
  flights_.pop_front();
  landed.run->end_step(landed.begun, landed.deadline_ns);
  return true;
}

void Fence::land_answered() {
  std::erase_if(flights_, [this](const Flight& flight) {
    const bool is_done = port_->commands->is_done(flight.begun.ticket);
    if (is_done) flight.run->end_step(flight.begun, now_ns());
    return is_done;
  });
}

bool Fence::land_all(std::uint64_t until_ns) {
  while (!flights_.empty())
    if (!land(until_ns)) return false;
  return true;
}

std::size_t Fence::most_in_flight(Step next) const noexcept {
  if (!budget_->is_awaited()) return kUnawaitedInFlight;
  // An entry is a command too, in a fence slot.
  return row(next).way == Way::Steering ? pmd::CommandQueue::kFenceSlots
                                        : std::numeric_limits<std::size_t>::max();
}

}  // namespace portcullis::lease
