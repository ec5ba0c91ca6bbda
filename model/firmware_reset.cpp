// SPDX-License-Identifier: BSD-3-Clause
#include "model/firmware_reset.hpp"

#include <algorithm>
#include <array>

#include "prm/eqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::ResetState;

enum Refusal : std::uint32_t {
  kUnderWay = 0x12001,
  kNobodyHears,
  kNotAgreed,
  kNotAsked,
};

}  // namespace

void FirmwareReset::power_on() noexcept {
  state_ = ResetState::IDLE;
  starter_.reset();
  patience_ = {};
  awaits_link_ = false;
}

Verdict FirmwareReset::start(std::uint32_t slot) {
  if (starter_ == slot) {
    if (state_ == ResetState::IN_NEGOTIATION) return not_yet();
    starter_.reset();
    if (state_ == ResetState::RESET_IN_PROGRESS) return {};
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kNotAgreed);
  }
  if (state_ == ResetState::IN_NEGOTIATION || state_ == ResetState::RESET_IN_PROGRESS)
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kUnderWay);
  if (!raise(prm::SyncResetState::RESET_REQUEST))
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kNobodyHears);
  state_ = ResetState::IN_NEGOTIATION;
  starter_ = slot;
  be_patient();
  return not_yet();
}

Verdict FirmwareReset::answer(bool agrees) {
  if (state_ != ResetState::IN_NEGOTIATION)
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kNotAsked);
  stop_waiting(agrees ? ResetState::RESET_IN_PROGRESS : ResetState::NACK);
  if (!agrees) return {};
  static_cast<void>(
      scheduler_->schedule(scheduler_->now_ns() + kNowNs, Task{&FirmwareReset::run_now, this, 0}));
  be_patient();
  return {};
}

void FirmwareReset::interface_closed() noexcept {
  if (state_ != ResetState::RESET_IN_PROGRESS) return;
  scheduler_->cancel(patience_);
  awaits_link_ = true;
}

bool FirmwareReset::raise(prm::SyncResetState what) {
  std::array<std::byte, EqTable::kEventBytes> event{};
  prm::View<prm::mlx5_eqe_sync_fw_update>::at(event).put<"sync_rst_state">(what);
  return eqs_->raise(prm::EventType::GENERAL_EVENT, event,
                     prm::number(prm::GeneralSubtype::PCI_SYNC_FOR_FW_UPDATE_EVENT));
}

void FirmwareReset::be_patient() {
  patience_ = scheduler_->schedule(scheduler_->now_ns() + kPatienceNs,
                                   Task{&FirmwareReset::run_out_of_patience, this, 0});
}

void FirmwareReset::stop_waiting(ResetState state) {
  scheduler_->cancel(patience_);
  state_ = state;
  resume_(context_);
}

void FirmwareReset::run_now(void* self, std::uint64_t /*argument*/) {
  static_cast<void>(static_cast<FirmwareReset*>(self)->raise(prm::SyncResetState::RESET_NOW));
}

void FirmwareReset::run_out_of_patience(void* self, std::uint64_t /*argument*/) {
  static_cast<FirmwareReset*>(self)->stop_waiting(ResetState::NEG_TIMEOUT);
}

}  // namespace portcullis::model
