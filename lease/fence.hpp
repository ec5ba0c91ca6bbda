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
// One deadline holds for all commands of a fence. Each may use half of the time that is left, so
// one that never returns leaves time for those behind it; what could not be sent in time has
// failed. Many leases are fenced in passes, one step of the plan for all of them before the next,
// every key first: as many commands are in flight as there are fence slots. What leases that were
// granted together have in common is taken back once, by the first of them; their protection domain
// only when every one of them has given up all that names it. After a failure it stays with those
// that are Fenced, until the function is reset, and the others are TornDown without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  /// Nothing is sent before advance(). The deadline counts from here.
  Fence(const FencePort& port, const Plan& plan, std::span<const FenceTarget> targets,
        const FenceOptions& options);
  Fence(const FencePort& port, const Plan& plan, const FenceTarget& target,
        const FenceOptions& options)
      : Fence(port, plan, std::span(&target, 1), options) {}

  /// Runs until the plan is through for every lease, or until it lingers: call again at
  /// lingers_until_ns() or after the access-error events. True once every verdict stands.
  [[nodiscard]] bool advance();
  /// The QP of `index` reported its access error: the peer has its NAK and needs no linger.
  void access_error_seen(std::size_t index) noexcept { runs_[index].access_error_seen(); }
  [[nodiscard]] std::uint64_t lingers_until_ns() const noexcept { return lingers_until_ns_; }
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return budget_->deadline_ns; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::size_t size() const noexcept { return runs_.size(); }
  /// Of the targets' order; stands once advance() was true.
  [[nodiscard]] const Verdict& verdict(std::size_t index) const noexcept {
    return runs_[index].verdict();
  }
  /// Steps that succeeded.
  [[nodiscard]] StepMask done_mask(std::size_t index) const noexcept {
    return runs_[index].done_mask();
  }

 private:
  [[nodiscard]] bool is_lingering(const PlanStep& planned);
  /// The steps from `next_` on that are issued together: one, unless the plan overlaps.
  [[nodiscard]] std::span<const PlanStep> next_stage() const noexcept;
  void run_stage(std::span<const PlanStep> stage);
  /// Another lease takes the step for this one too.
  [[nodiscard]] bool is_led(std::size_t index, Step step) const noexcept {
    return is_shared(step) && leaders_[index] != index;
  }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return port_->device->clock.now_ns(); }

  const FencePort* port_;
  Plan plan_;
  std::vector<PlanStep> steps_;          // in their order here
  std::unique_ptr<FenceBudget> budget_;  // stays where it is when the fence moves
  std::vector<FenceRun> runs_;           // one for each lease
  std::vector<std::size_t> leaders_;     // the first lease of the same group
  std::uint64_t linger_ns_;
  std::uint64_t lingers_until_ns_ = 0;
  std::size_t next_ = 0;  // of the steps
  bool is_through_ = false;
};

}  // namespace portcullis::lease
