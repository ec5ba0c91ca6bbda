// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>

#include "pmd/command_queue.hpp"

namespace portcullis::lease {
namespace {

/// Commands in flight, as many as the device has slots for.
class Window {
 public:
  /// Begins the step; while no slot is free, the oldest command is waited for.
  void begin(FenceRun& run, const PlanStep& planned) {
    while (true) {
      const FenceRun::Begun begun = run.begin(planned);
      if (begun.kind == FenceRun::Begun::Kind::InFlight) flights_.push_back({&run, begun});
      if (begun.kind != FenceRun::Begun::Kind::NoSlot) return;
      if (flights_.empty()) {
        run.record_failure(planned.step, {Errc::Busy, std::string(name(planned.step)) +
                                                          ": no fence slot is free"});
        return;
      }
      land();
    }
  }
  /// Waits until a fence slot is free for a step that sends a command of its own.
  void make_room() {
    while (flights_.size() >= pmd::CommandQueue::kFenceSlots) land();
  }
  void land_all() {
    while (!flights_.empty()) land();
  }

 private:
  struct Flight {
    FenceRun* run;
    FenceRun::Begun begun;
  };
  void land() {
    const Flight oldest = flights_.front();
    flights_.pop_front();
    oldest.run->end(oldest.begun);
  }

  std::deque<Flight> flights_;
};

}  // namespace

Fence::Fence(const FencePort& port, const Plan& plan, std::span<const FenceTarget> targets,
             const FenceOptions& options)
    : port_(&port),
      plan_(plan),
      steps_(plan.order_for(targets.size())),
      budget_(std::make_unique<FenceBudget>(
          FenceBudget{.deadline_ns = now_ns() + options.deadline_ms * kNsPerMs,
                      .may_reset_function = options.may_reset_function})),
      linger_ns_(options.linger_ms * kNsPerMs) {
  runs_.reserve(targets.size());
  std::unordered_map<std::uint32_t, std::size_t> first_of;  // by group
  for (const FenceTarget& target : targets) {
    const std::size_t index = runs_.size();
    runs_.emplace_back(port, *budget_, plan, target);
    leaders_.push_back(target.group == 0 ? index
                                         : first_of.try_emplace(target.group, index).first->second);
  }
}

bool Fence::advance() {
  while (next_ < steps_.size()) {
    if (is_lingering(steps_[next_])) return false;
    const auto stage = next_stage();
    run_stage(stage);
    next_ += stage.size();
  }
  if (!is_through_)
    for (FenceRun& run : runs_) run.finish();
  is_through_ = true;
  return true;
}

bool Fence::is_lingering(const PlanStep& planned) {
  if (!planned.after_linger || plan_.overlaps) return false;
  if (std::ranges::none_of(runs_, &FenceRun::is_worth_a_linger)) return false;
  if (lingers_until_ns_ == 0)
    lingers_until_ns_ = std::min(now_ns() + linger_ns_, budget_->step_deadline_ns(now_ns()));
  return now_ns() < lingers_until_ns_;
}

std::span<const PlanStep> Fence::next_stage() const noexcept {
  std::size_t end = next_ + 1;
  while (plan_.overlaps && end < steps_.size() && !gives_back(steps_[end].step) &&
         !steps_[end].is_fallback)
    ++end;
  return std::span(steps_).subspan(next_, end - next_);
}

void Fence::run_stage(std::span<const PlanStep> stage) {
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (!runs_[i].is_unharmed()) runs_[leaders_[i]].keep_shared();
  Window window;
  // What is no command waits by itself, so the commands go first.
  for (const bool commands : {true, false})
    for (std::size_t i = 0; i < runs_.size(); ++i)
      for (const PlanStep& planned : stage) {
        if (is_command(planned.step) != commands || is_led(i, planned.step)) continue;
        if (planned.step == Step::InstallDrop) window.make_room();
        window.begin(runs_[i], planned);
      }
  window.land_all();
  for (std::size_t i = 0; i < runs_.size(); ++i)
    for (const PlanStep& planned : stage)
      if (is_led(i, planned.step)) runs_[i].follow(planned.step, runs_[leaders_[i]]);
}

}  // namespace portcullis::lease
