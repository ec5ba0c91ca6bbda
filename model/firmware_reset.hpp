// SPDX-License-Identifier: BSD-3-Clause
//
// The reset that loads the firmware again, which a driver starts by register MFRL and every driver
// of the card has to agree to (mlx5/core/fw_reset.c of Linux). This card has one function, so its
// driver agrees with itself:
//
//   IDLE --MFRL start--> IN_NEGOTIATION   event RESET_REQUEST; the command that starts waits
//   IN_NEGOTIATION --MFRL agreed--> RESET_IN_PROGRESS   it is answered OK, then event RESET_NOW
//   IN_NEGOTIATION --MFRL refused--> NACK   it is answered with an error
//   RESET_IN_PROGRESS --fast teardown, interface disabled--> the function waits for its PCI link
//   that goes, or is reset--> power-on, IDLE
//   a driver that says nothing for kPatienceNs --> NEG_TIMEOUT
//
// That the starting command waits follows from what Linux makes of its error: it asks for the
// reset's state then, and says that somebody refused, or was silent
// (mlx5_fw_reset_get_reset_state_err). How long firmware is patient is not known: assumed.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "model/eq.hpp"
#include "model/scheduler.hpp"
#include "model/verdict.hpp"
#include "prm/management_registers.hpp"

namespace portcullis::model {

class FirmwareReset {
 public:
  static constexpr std::uint64_t kPatienceNs = 30 * kNsPerSecond;
  /// Between the agreement and RESET_NOW, so that the command that started is answered first.
  static constexpr std::uint64_t kNowNs = kNsPerMs;

  using Resume = void (*)(void* context);
  /// `resume` has the commands that wait run again.
  FirmwareReset(EqTable& eqs, Scheduler& scheduler, Resume resume, void* context) noexcept
      : eqs_(&eqs), scheduler_(&scheduler), resume_(resume), context_(context) {}

  /// The firmware begins; whatever was under way is over, the scheduler has been cleared.
  void power_on() noexcept;
  [[nodiscard]] prm::ResetState state() const noexcept { return state_; }
  /// The command in `slot` starts a reset, or runs again.
  [[nodiscard]] Verdict start(std::uint32_t slot);
  /// What the function's driver says to it.
  [[nodiscard]] Verdict answer(bool agrees);
  /// The driver has switched the function off by a fast teardown.
  void interface_closed() noexcept;
  /// The function is off and the firmware goes with the PCI link.
  [[nodiscard]] bool awaits_link() const noexcept { return awaits_link_; }

 private:
  bool raise(prm::SyncResetState what);
  void be_patient();
  void stop_waiting(prm::ResetState state);
  static void run_now(void* self, std::uint64_t argument);
  static void run_out_of_patience(void* self, std::uint64_t argument);

  EqTable* eqs_;
  Scheduler* scheduler_;
  Resume resume_;
  void* context_;
  prm::ResetState state_ = prm::ResetState::IDLE;
  std::optional<std::uint32_t> starter_;  // slot of the command that waits for the agreement
  TimerId patience_{};
  bool awaits_link_ = false;
};

}  // namespace portcullis::model
