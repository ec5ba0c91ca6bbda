// SPDX-License-Identifier: BSD-3-Clause
//
// The one table of fence steps: what each is called, what of a lease it acts on, how it is carried
// out, what it proves when it succeeds, and what may rest on it. Plans, fences, sweeps, grants and
// reports take all of this from here, so a new step is its enumerator, its row and the function
// that the row names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/device.hpp"
#include "base/result.hpp"
#include "lease/fence_step.hpp"
#include "lease/fence_target.hpp"
#include "lease/key_freer.hpp"
#include "pmd/command_channel.hpp"
#include "steering/drop_rule.hpp"

namespace portcullis::lease {

/// What all fences of a function have in the device's hands.
class FenceTraffic {
 public:
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  /// When the device last answered one.
  [[nodiscard]] std::uint64_t answered_ns() const noexcept { return answered_ns_; }
  /// It has commands, and has answered none for so long.
  [[nodiscard]] bool is_silent_for(std::uint64_t ns, std::uint64_t now_ns) const noexcept {
    return in_flight_ != 0 && now_ns - busy_since_ns_ >= ns;
  }
  void note_sent(std::uint64_t now_ns) noexcept {
    if (in_flight_++ == 0) busy_since_ns_ = now_ns;
  }
  void note_answered(std::uint64_t now_ns) noexcept {
    --in_flight_;
    answered_ns_ = busy_since_ns_ = now_ns;
  }
  void note_lost() noexcept { --in_flight_; }

 private:
  std::size_t in_flight_ = 0;
  std::uint64_t answered_ns_ = 0;
  std::uint64_t busy_since_ns_ = 0;  // has commands, and has answered none
};

/// What a fence acts through. All must outlive it.
struct FencePort {
  const Device* device = nullptr;
  pmd::CommandChannel* commands = nullptr;
  steering::DropRule* steering = nullptr;  // null: absent
  KeyFreer* umr = nullptr;                 // null: absent
  std::shared_ptr<FenceTraffic> traffic = std::make_shared<FenceTraffic>();
  /// Frees the slots of what the device has answered other fences. May be empty.
  std::function<void()> take_answers = {};
  /// Hears of every step that failed: of which slot, which, and the error in full. May be empty.
  std::function<void(std::uint32_t slot, Step step, const Error& error)> on_failure = {};
};

/// How a step is carried out.
enum class Way : std::uint8_t {
  Command,   // a device command, which can be in flight
  Steering,  // by flow steering, which waits for the device; left out where there is none
  Umr,       // by the UMR queue, the same
  Host,      // by the host alone: no device keeps it waiting
};

/// What of a lease a step acts on. Until a grant has made it the step has nothing to do.
enum class Subject : std::uint8_t { Qp, Key, TenantKey, Pd, Region, Entry, Always };

/// Whether the outcome stands though the step has failed.
enum class BestEffort : std::uint8_t {
  Never,
  WhereSwept,  // where a sweep follows and takes the step again
  Always,      // nothing rests on it
};

/// What a step that is no command is done with.
struct StepAct {
  const FencePort* port;
  const FenceTarget* target;
  bool is_key_dead;  // the lease's own: nothing names its region any more
  std::uint64_t until_ns;
};

struct StepRow {
  Step step = Step::End;
  std::string_view name = {};  // in reports: the command, where it is one
  Subject subject = Subject::Always;
  Way way = Way::Host;
  Proof proves = Proof::None;
  BestEffort best_effort = BestEffort::Never;
  /// One lease takes it for all that were granted together.
  bool is_shared = false;
  /// It may only follow when every step before it that may not fail has succeeded: what it gives
  /// back could still be in use otherwise. Of a shared one that means every lease that has it in
  /// common.
  bool gives_back = false;
  /// From then on the QP answers the peer's requests with a NAK, while it answers at all.
  bool makes_qp_refuse = false;
  /// Acts on the whole function: once for all leases of a fence.
  bool is_of_function = false;
  /// Way::Command: hands it to the device. Its output is 16 bytes, as await() of
  /// pmd/inline_command.hpp takes it.
  Result<pmd::Ticket> (*submit)(pmd::CommandChannel& channel, const FenceTarget& target,
                                pmd::SlotClass slot_class) = nullptr;
  /// Every other way: done when it returns.
  Result<void> (*act)(const StepAct& how) = nullptr;

  [[nodiscard]] constexpr bool is_command() const noexcept { return way == Way::Command; }
  /// The device is waited for.
  [[nodiscard]] constexpr bool takes_time() const noexcept { return way != Way::Host; }
  [[nodiscard]] constexpr bool is_whole() const noexcept {
    return !name.empty() && (submit != nullptr) == is_command() &&
           (act != nullptr) == !is_command();
  }
};

using StepTable = std::array<StepRow, kSteps>;

/// Never defined: a constant expression that comes to one of them does not compile, and the
/// compiler prints its name.
void row_stands_in_the_place_of_another_step();
void row_is_not_filled();

/// Does not compile unless every step has its row, whole and in its place.
template <std::size_t Rows>
[[nodiscard]] consteval StepTable step_table(const StepRow (&rows)[Rows]) {
  static_assert(Rows == kSteps, "every step has one row");
  StepTable table{};
  for (std::size_t i = 0; i < Rows; ++i) {
    if (rows[i].step != static_cast<Step>(i)) row_stands_in_the_place_of_another_step();
    if (!rows[i].is_whole()) row_is_not_filled();
    table[i] = rows[i];
  }
  return table;
}

/// In the order of their bits.
[[nodiscard]] std::span<const StepRow> step_rows() noexcept;
/// Of a step, not of Step::End.
[[nodiscard]] const StepRow& row(Step step) noexcept;
[[nodiscard]] StepMask steps_on(Subject subject) noexcept;
/// Steps whose failure alone does not change the outcome.
[[nodiscard]] StepMask best_effort_steps(bool is_swept_later) noexcept;

}  // namespace portcullis::lease
