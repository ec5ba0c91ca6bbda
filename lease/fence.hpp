// SPDX-License-Identifier: BSD-3-Clause
//
// The fence: runs one plan on one lease, or on many at once, and when a step that may not fail
// fails, climbs the ladder until the memory is proved out of reach.
//
//   rung 1  the plan itself                      DESTROY_MKEY proves the memory (A1), a UMR (A2)
//   rung 2  2ERR_QP again, RTS2RTS_QP without    ends new requests, proves nothing about DMA (A3)
//           rights if that fails too
//   rung 3  IOMMU unmap of this region only      proves the memory (A5)
//   rung 4  bus master off, function reset;      proves it for every lease of the function, and
//           only where configured                ends them all
//
// One deadline holds for all commands of a fence that somebody waits for. Each may use half of the
// time that is left, so one that never returns leaves time for those behind it. A step that could
// not be sent in time has not failed: the fence says that it is out of time, and goes on when it is
// told to, with a patience for each command in place of the deadline for all. Only where the device
// has answered nothing since it began, and did not come back with what it was sent, is the rest
// given up and proved by the ladder. Who finds no command slot waits for those of others, which
// come back while the device answers any fence; when it has answered none for as long as a command
// may take, it is as dead to this one as to them.
//
// Many leases are fenced in passes, one step of the plan for all of them before the next, every key
// first, with as many commands in flight as there are slots for them: the fence slots for what is
// waited for, some common ones otherwise. What leases that were granted together have in common is
// taken back once, by the first of them; their protection domain only when every one of them has
// given up all that names it. After a failure it stays with those that are Fenced, until the
// function is reset, and the others are TornDown without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lease/fence_plan.hpp"
#include "lease/fence_run.hpp"
#include "lease/fence_step.hpp"
#include "lease/fence_target.hpp"

namespace portcullis::lease {

struct FenceOptions {
  /// For the commands of the immediate phase, ladder included; leaves room in the contract of 1 s.
  std::uint64_t deadline_ms = 800;
  /// How long a QP answers before 2ERR_QP in a plan that lingers.
  std::uint64_t linger_ms = 50;
  /// Rung 4 is allowed. It ends every lease of the function.
  bool may_reset_function = false;
};

class Fence {
 public:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  /// Where a call has come to.
  enum class Progress : std::uint8_t {
    Through,    // every verdict stands
    Lingers,    // until lingers_until_ns(), or the access-error events
    Waits,      // for the device; the call's time is over
    OutOfTime,  // the fence's deadline is over, and steps are left that were not sent
  };

  /// Nothing is sent before advance(). The deadline counts from here.
  Fence(const FencePort& port, const Plan& plan, std::span<const FenceTarget> targets,
        const FenceOptions& options);
  Fence(const FencePort& port, const Plan& plan, const FenceTarget& target,
        const FenceOptions& options)
      : Fence(port, plan, std::span(&target, 1), options) {}

  /// Runs until the plan is through for every lease, until it lingers or is out of time. Waits for
  /// the device until `until_ns` at most (device clock); an entry or a UMR is not begun after that,
  /// and has its own limit when it was.
  [[nodiscard]] Progress advance_until(std::uint64_t until_ns);
  /// The same without a limit of its own; true once every verdict stands.
  [[nodiscard]] bool advance() { return advance_until(kNoLimit) == Progress::Through; }
  /// Takes what the device has answered by now, and sends nothing.
  void land_answered();
  /// From now on nobody waits for the outcome: no deadline for all, a patience for each command, in
  /// common slots. Goes on where it was out of time.
  void go_on_unawaited() noexcept;
  /// There is no time left, or the device is known to be dead: nothing more is sent nor waited for,
  /// and what is left has failed.
  void give_up() noexcept;
  [[nodiscard]] bool has_given_up() const noexcept { return budget_->gives_up; }
  [[nodiscard]] bool is_awaited() const noexcept { return budget_->is_awaited(); }
  /// The QP of `index` reported its access error: the peer has its NAK and needs no linger.
  void access_error_seen(std::size_t index) noexcept { runs_[index].access_error_seen(); }
  [[nodiscard]] std::uint64_t lingers_until_ns() const noexcept { return lingers_until_ns_; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::size_t size() const noexcept { return runs_.size(); }
  /// Of the targets' order; stands once it is Through.
  [[nodiscard]] const Verdict& verdict(std::size_t index) const noexcept {
    return runs_[index].verdict();
  }
  /// Steps that succeeded.
  [[nodiscard]] StepMask done_mask(std::size_t index) const noexcept {
    return runs_[index].done_mask();
  }

 private:
  struct Flight {
    FenceRun* run;
    FenceRun::Begun begun;
    std::uint64_t deadline_ns;  // 0: nobody has waited for it yet
  };
  /// What the stage begins next: first its commands, for each lease, then what waits by itself.
  struct Cursor {
    std::size_t pass = 0;
    std::size_t index = 0;
    std::size_t step = 0;
  };

  [[nodiscard]] bool is_lingering(const PlanStep& planned);
  /// The steps from `next_` on that are issued together: one, unless the plan overlaps.
  [[nodiscard]] std::span<const PlanStep> next_stage() const noexcept;
  void open_stage();
  /// None once it is through.
  [[nodiscard]] std::optional<Progress> run_stage(std::uint64_t until_ns);
  /// Begins what the cursor names; none when that is done and the cursor may move on.
  [[nodiscard]] std::optional<Progress> begin_at_cursor(std::uint64_t until_ns);
  /// None.
  [[nodiscard]] std::optional<Progress> move_on() noexcept;
  [[nodiscard]] std::optional<Progress> find_slot(const PlanStep& planned, std::uint64_t until_ns);
  /// What becomes of a step that nobody could wait for.
  [[nodiscard]] std::optional<Progress> judge_device();
  /// Waits for the oldest command in flight; false when it is not back by `until_ns`.
  [[nodiscard]] bool land(std::uint64_t until_ns);
  [[nodiscard]] bool land_all(std::uint64_t until_ns);
  [[nodiscard]] std::size_t most_in_flight(Step next) const noexcept;
  /// Another lease takes the step for this one too.
  [[nodiscard]] bool is_led(std::size_t index, Step step) const noexcept {
    return row(step).is_shared && leaders_[index] != index;
  }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return port_->device->clock.now_ns(); }

  const FencePort* port_;
  Plan plan_;
  std::uint64_t deadline_span_ns_;
  std::vector<PlanStep> steps_;          // in their order here, then the ladder
  std::unique_ptr<FenceBudget> budget_;  // stays where it is when the fence moves
  std::vector<FenceRun> runs_;           // one for each lease
  std::vector<std::size_t> leaders_;     // the first lease of the same group
  std::uint64_t linger_ns_;
  std::uint64_t lingers_until_ns_ = 0;
  std::size_t next_ = 0;  // of the steps
  std::span<const PlanStep> stage_;
  Cursor cursor_;
  std::deque<Flight> flights_;
  std::uint64_t slot_until_ns_ = 0;  // the step at the cursor waits for a slot; 0: it does not
  std::uint64_t slot_since_ns_ = 0;  // and the device has answered nobody from then on
};

}  // namespace portcullis::lease
