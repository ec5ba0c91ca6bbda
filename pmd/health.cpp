// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/health.hpp"

#include <utility>

namespace portcullis::pmd {
namespace {

using Segment = prm::Registers<prm::mlx5_init_seg>;

std::string hex(std::uint32_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[value % 16]);
    value /= 16;
  } while (value != 0);
  return "0x" + text;
}

/// What the firmware leaves for its maker, in the words of print_health_info (core/health.c).
std::string describe_assert(const Segment& segment) {
  return "assert_var " + hex(segment.get<"health.assert_var[0]">()) + " " +
         hex(segment.get<"health.assert_var[1]">()) + " " +
         hex(segment.get<"health.assert_var[2]">()) + " " +
         hex(segment.get<"health.assert_var[3]">()) + " " +
         hex(segment.get<"health.assert_var[4]">()) + " " +
         hex(segment.get<"health.assert_var[5]">()) + ", assert_exit_ptr " +
         hex(segment.get<"health.assert_exit_ptr">()) + ", assert_callra " +
         hex(segment.get<"health.assert_callra">()) + ", hw_id " +
         hex(segment.get<"health.hw_id">()) + ", irisc_index " +
         hex(segment.get<"health.irisc_index">());
}

std::string describe_syndrome(const Segment& segment) {
  const auto synd = static_cast<prm::HealthSyndrome>(segment.get<"health.synd">());
  return "health syndrome " + hex(segment.get<"health.synd">()) + " (" +
         std::string(prm::meaning(synd)) + "), ext_synd " + hex(segment.get<"health.ext_synd">()) +
         ", the firmware asks for a reset; " + describe_assert(segment);
}

}  // namespace

const char* name(HealthState state) noexcept {
  switch (state) {
    case HealthState::Good:
      return "good";
    case HealthState::Stuck:
      return "stuck";
    case HealthState::Failed:
      return "failed";
    case HealthState::Gone:
      return "gone";
  }
  return "unknown";
}

void Health::diagnose() {
  const Segment segment(device_->bar);
  if (segment.get<"health.fw_ver">() == kAllOnes)
    return latch(HealthState::Gone, "the device is gone: its registers read all ones");
  const std::uint32_t interface = prm::nic_interface(segment.get<"cmdq_addr_l_sz">());
  if (interface == prm::number(prm::NicInterface::DISABLED))
    return latch(HealthState::Failed, "the NIC interface is disabled (nic_interface 1)");
  if (interface == prm::number(prm::NicInterface::SW_RESET))
    return latch(HealthState::Failed, "the NIC is being reset (nic_interface 7)");
  if (segment.get<"health.synd">() != 0 && (segment.get<"health.rfr_severity">() & prm::kRfr) != 0)
    latch(HealthState::Failed, describe_syndrome(segment));
}

HealthState Health::poll() {
  const std::uint64_t now_ns = device_->clock.now_ns();
  if (now_ns < next_poll_ns_) return state_;
  next_poll_ns_ = now_ns + kPollIntervalNs;
  if (check() != HealthState::Good) return state_;

  const std::uint32_t counter =
      Segment(device_->bar).get<"health_counter">() & prm::kHealthCounterMask;
  misses_ = counted_ && counter == last_counter_ ? misses_ + 1 : 0;
  counted_ = true;
  last_counter_ = counter;
  if (misses_ == kMaxMisses)
    latch(HealthState::Stuck, "the health counter stands still at " + hex(counter));
  return state_;
}

void Health::report_failure(std::string why) { latch(HealthState::Failed, std::move(why)); }

Error Health::error() const {
  const Errc code = state_ == HealthState::Gone ? Errc::DeviceGone : Errc::DeviceFailed;
  return Error{code, reason_, std::nullopt};
}

void Health::latch(HealthState state, std::string reason) {
  if (!is_good()) return;
  state_ = state;
  reason_ = std::move(reason);
}

}  // namespace portcullis::pmd
