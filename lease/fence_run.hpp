// SPDX-License-Identifier: BSD-3-Clause
//
// One lease's part in a fence: begins the steps that it is told to, records what became of each,
// and when one that may not fail has failed, climbs the ladder until the memory is proved out of
// reach. Nothing here is optimistic: a step has succeeded when the device said so, and whatever is
// not known to have succeeded has failed. lease/fence.hpp says which step comes when.
#pragma once

#include <array>
#include <cstdint>

#include "base/device.hpp"
#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "lease/fence_step.hpp"
#include "lease/fence_target.hpp"
#include "lease/step_table.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::lease {

/// What all leases of one fence have together.
struct FenceBudget {
  /// A fence that has lost so many command slots sends nothing more before somebody has judged the
  /// device: one that does not answer must not take every slot of the function. One lease alone
  /// never loses more.
  static constexpr std::uint32_t kMostUnanswered = 4;

  std::uint64_t deadline_ns = 0;  // of all commands, ladder included (device clock)
  /// Less than this is no time for a command: a healthy device might not meet it either.
  std::uint64_t least_ns = 0;
  /// Nobody waits for the outcome: there is no deadline for all, each command has this long.
  /// 0: somebody waits.
  std::uint64_t patience_ns = 0;
  bool may_reset_function = false;
  /// The device is taken for dead: what is not sent any more has failed.
  bool gives_up = false;
  StepMask done_to_function = 0;                      // once for all leases
  std::uint32_t unanswered = 0;                       // commands, since the device was last judged
  std::uint32_t answered = 0;                         // and those that came back
  std::array<std::uint64_t, kSteps> longest_ns = {};  // that a step took so far
  /// While one command was waited for in vain nobody looked at the others in flight: what they took
  /// is counted from here.
  std::uint64_t looked_away_until_ns = 0;

  [[nodiscard]] bool is_awaited() const noexcept { return patience_ns == 0; }
  /// Half of what is left: one command that never returns leaves time for those behind it.
  [[nodiscard]] std::uint64_t step_deadline_ns(std::uint64_t now_ns) const noexcept {
    if (!is_awaited()) return now_ns + patience_ns;
    return now_ns < deadline_ns ? now_ns + (deadline_ns - now_ns) / 2 : deadline_ns;
  }
  /// The same for what the host waits for in one go, entries and UMRs.
  [[nodiscard]] std::uint64_t act_deadline_ns(std::uint64_t now_ns) const noexcept;
  /// What the host does by itself: no device keeps it waiting, but whoever has the function in
  /// another process may. Some is left for it behind commands that were not answered.
  [[nodiscard]] std::uint64_t host_deadline_ns(std::uint64_t now_ns) const noexcept;
  /// Fence slots are for what is waited for; the rest takes what everybody takes.
  [[nodiscard]] pmd::SlotClass slot_class() const noexcept {
    return is_awaited() ? pmd::SlotClass::Fence : pmd::SlotClass::Common;
  }
  /// Why the step is not begun: nobody could wait for it, and its slot would be lost. Null when it
  /// may be.
  [[nodiscard]] const char* objection(Step step, std::uint64_t now_ns) const noexcept;
};

class FenceRun {
 public:
  /// `port` and `budget` must outlive it.
  FenceRun(const FencePort& port, FenceBudget& budget, const Plan& plan, const FenceTarget& target);

  /// What became of a step that was begun.
  struct Begun {
    enum class Kind : std::uint8_t {
      Through,   // done, failed or left out, and recorded
      InFlight,  // end_step() must follow
      NoSlot,    // not sent: no command slot is free
      Unsent,    // not sent: nobody could wait for it. It has not failed
    };
    Kind kind = Kind::Through;
    Step step = Step::End;
    pmd::Ticket ticket = {};
    std::uint64_t sent_ns = 0;
  };
  /// begin_step() would have the host wait for the device, as for an entry or a UMR.
  [[nodiscard]] bool would_wait(const PlanStep& planned) const noexcept;
  /// `has_none`: the fence has nothing in flight, so it may take a slot of another class.
  [[nodiscard]] Begun begin_step(const PlanStep& planned, bool has_none);
  /// Waits for a command in flight.
  void end_step(const Begun& begun, std::uint64_t deadline_ns);
  void record_failure(Step step, const Error& error);
  /// What became of a step that `leader` took for both. A failure was logged when `leader` met it.
  void follow(Step step, const FenceRun& leader);
  /// No step has failed that may not.
  [[nodiscard]] bool is_unharmed() const noexcept;
  /// Another lease has kept, or may have kept, an object that names what they share: that is not
  /// given back, which harms nobody.
  void keep_shared() noexcept { keeps_shared_ = true; }
  /// The verdict, once plan and ladder are through; done twice is done.
  void finish();

  /// The QP refuses the peer by now and has not reported that it did.
  [[nodiscard]] bool is_worth_a_linger() const noexcept;
  /// The QP reported an access error: the peer has its NAK.
  void access_error_seen() noexcept { access_error_seen_ = true; }
  [[nodiscard]] std::uint32_t slot() const noexcept { return target_.slot; }
  [[nodiscard]] const Verdict& verdict() const noexcept { return verdict_; }
  /// Steps that succeeded.
  [[nodiscard]] StepMask done_mask() const noexcept { return done_; }

 private:
  [[nodiscard]] bool is_torn_down() const noexcept;
  [[nodiscard]] bool needs(Rung rung) const noexcept;
  [[nodiscard]] bool is_left_out(const PlanStep& planned) const noexcept;
  /// Without it the lease cannot be TornDown, and nobody takes it later.
  [[nodiscard]] bool must_be_sent(const PlanStep& planned) const noexcept;
  [[nodiscard]] Begun send(Step step, bool has_none);
  [[nodiscard]] Result<void> act(const StepRow& how);
  void record(Step step, const Result<void>& result, std::uint64_t started_ns);
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return port_->device->clock.now_ns(); }
  [[nodiscard]] bool is_done(Step step) const noexcept { return (done_ & bit(step)) != 0; }
  void succeed(Step step);
  /// The lease's own key.
  [[nodiscard]] bool is_key_dead() const noexcept {
    return verdict_.proof == Proof::Mkey || verdict_.proof == Proof::Umr;
  }
  [[nodiscard]] bool is_fenced_by_key() const noexcept {
    return is_key_dead() || verdict_.proof == Proof::TenantMkey;
  }

  const FencePort* port_;
  FenceBudget* budget_;
  Plan plan_;
  FenceTarget target_;
  Verdict verdict_;
  StepMask done_ = 0;
  bool access_error_seen_ = false;
  bool keeps_shared_ = false;
};

}  // namespace portcullis::lease
