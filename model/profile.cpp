// SPDX-License-Identifier: BSD-3-Clause
#include "model/profile.hpp"

#include <array>

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

struct Behaviour {
  std::string_view name;
  std::string_view description;
  bool Behaviours::*flag;
};

constexpr std::array kBehaviours{
    Behaviour{"page-starved",
              "every fourth CREATE command first asks for a firmware page and waits for it",
              &Behaviours::page_starved},
    Behaviour{"slow-init", "initializing stays set for 3 s after power-on and reset",
              &Behaviours::slow_init},
    Behaviour{"never-ready", "initializing stays set for ever", &Behaviours::never_ready},
    Behaviour{"cmdif-rev-6", "the command interface says revision 6, which no driver speaks",
              &Behaviours::cmdif_rev_6},
};

template <class Range>
std::string join(const Range& names) {
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace

Result<Timing> find_timing(std::string_view name) {
  for (const Timing& timing : kTimings)
    if (timing.name == name) return timing;
  return fail(Errc::InvalidArgument,
              "unknown timing '" + std::string(name) + "'; accepted: " + join(timing_names()));
}

Result<Behaviours> find_behaviours(const std::vector<std::string>& names) {
  Behaviours chosen;
  for (const std::string& name : names) {
    const Behaviour* found = nullptr;
    for (const Behaviour& behaviour : kBehaviours)
      if (behaviour.name == name) found = &behaviour;
    if (found == nullptr)
      return fail(Errc::InvalidArgument,
                  "unknown behaviour '" + name + "'; accepted: " + join(behaviour_names()));
    chosen.*(found->flag) = true;
  }
  if (!names.empty()) chosen.names = join(names);
  return chosen;
}

std::string_view behaviour_description(std::string_view name) {
  for (const Behaviour& behaviour : kBehaviours)
    if (behaviour.name == name) return behaviour.description;
  return {};
}

const std::vector<std::string_view>& timing_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Timing& timing : kTimings) all.push_back(timing.name);
    return all;
  }();
  return names;
}

const std::vector<std::string_view>& behaviour_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Behaviour& behaviour : kBehaviours) all.push_back(behaviour.name);
    return all;
  }();
  return names;
}

}  // namespace portcullis::model
