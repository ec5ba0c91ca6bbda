// SPDX-License-Identifier: BSD-3-Clause
#include "model/profile.hpp"

#include <array>
#include <string>

#include "base/clock.hpp"
#include "model/model.hpp"

namespace portcullis::model {
namespace {

std::uint64_t instant_ns(prm::Opcode /*opcode*/) { return 0; }

// Measured on firmware 16.35.4506: 2ERR_QP and DESTROY_MKEY about 1.5 ms together, about 12 ms with
// SET_FLOW_TABLE_ENTRY. Nothing else is known of any command.
std::uint64_t cx5_ns(prm::Opcode opcode) {
  constexpr std::uint64_t kPairNs = 1'500 * kNsPerUs;
  constexpr std::uint64_t kWithFlowEntryNs = 12 * kNsPerMs;
  return opcode == prm::Opcode::SET_FLOW_TABLE_ENTRY ? kWithFlowEntryNs - kPairNs : kPairNs / 2;
}

constexpr std::array kTimings{
    Timing{"instant", "0 ns of firmware time for every command", &instant_ns},
    Timing{"cx5-16.35.4506",
           "2ERR_QP + DESTROY_MKEY 1.5 ms, even split assumed; SET_FLOW_TABLE_ENTRY the rest of "
           "12 ms; every other command 750 us, assumed",
           &cx5_ns},
};

}  // namespace

Result<Timing> find_timing(std::string_view name) {
  std::string accepted;
  for (const Timing& timing : kTimings) {
    if (timing.name == name) return timing;
    accepted += (accepted.empty() ? "" : ", ") + std::string(timing.name);
  }
  return fail(Errc::InvalidArgument,
              "unknown timing '" + std::string(name) + "'; accepted: " + accepted);
}

const std::vector<std::string_view>& timing_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Timing& timing : kTimings) all.push_back(timing.name);
    return all;
  }();
  return names;
}

}  // namespace portcullis::model
