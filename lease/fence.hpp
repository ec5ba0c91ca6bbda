// SPDX-License-Identifier: BSD-3-Clause
//
// The fence: runs one plan on one lease, and when a step that may not fail fails, climbs the ladder
// until the memory is proved out of reach. Nothing here is optimistic: a step has succeeded when
// the device said so, and whatever is not known to have succeeded has failed.
//
//   rung 1  the plan itself                      DESTROY_MKEY proves the memory (A1)
//   rung 2  2ERR_QP again, RTS2RTS_QP without    ends new requests, proves nothing about DMA (A3)
//           rights if that fails too
//   rung 3  IOMMU unmap of this region only      proves the memory (A5)
//   rung 4  bus master off, function reset;      proves it for every lease of the function, and
//           only where configured                ends them all
//
// One deadline holds for all commands of a fence. Each may use half of the time that is left, so
// one that never returns leaves time for those behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/device.hpp"
#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "lease/fence_step.hpp"
#include "lease/fence_target.hpp"
#include "pmd/command_channel.hpp"
#include "steering/drop_rule.hpp"

namespace portcullis::lease {

/// What a fence acts through. All must outlive it.
struct FencePort {
  const Device* device = nullptr;
  pmd::CommandChannel* commands = nullptr;
  steering::DropRule* steering = nullptr;  // null: absent
  /// Hears of every step that failed: of which slot, which, and the error in full. May be empty.
  std::function<void(std::uint32_t slot, Step step, const Error& error)> on_failure;
};

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
  Fence(const FencePort& port, const Plan& plan, const FenceTarget& target,
        const FenceOptions& options);

  /// Runs until the plan is through and returns its verdict, or until it lingers: call again at
  /// lingers_until_ns() or after the access-error event. Once through, repeats the verdict.
  [[nodiscard]] std::optional<Verdict> advance();
  /// The QP reported its access error: the peer has its NAK, lingering is over.
  void access_error_seen() noexcept { access_error_seen_ = true; }
  [[nodiscard]] std::uint64_t lingers_until_ns() const noexcept { return lingers_until_ns_; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  /// Steps that succeeded.
  [[nodiscard]] StepMask done_mask() const noexcept { return done_; }

 private:
  [[nodiscard]] bool is_lingering(const PlanStep& planned);
  void run_planned(Step step);
  void climb();
  void finish();
  /// Runs one step, records what became of it, true on success.
  bool run(Step step);
  [[nodiscard]] Result<void> send(Step step);
  [[nodiscard]] std::uint64_t step_deadline_ns() const noexcept;
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return port_->device->clock.now_ns(); }
  [[nodiscard]] bool has_failed(Step step) const noexcept {
    return (verdict_.failed_mask & bit(step)) != 0;
  }
  [[nodiscard]] bool is_unharmed() const noexcept;

  const FencePort* port_;
  Plan plan_;
  FenceTarget target_;
  FenceOptions options_;
  std::uint64_t deadline_ns_;
  std::uint64_t lingers_until_ns_ = 0;
  std::size_t next_ = 0;  // of the plan's steps
  Verdict verdict_;
  StepMask done_ = 0;
  bool access_error_seen_ = false;
  bool is_through_ = false;
};

}  // namespace portcullis::lease
