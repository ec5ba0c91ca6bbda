// SPDX-License-Identifier: BSD-3-Clause
#include "light/command_times.hpp"

#include "prm/opcodes.hpp"

namespace portcullis::light {

void CommandTimes::add(const trace::TraceCommand& command) {
  OfOne& one = all_[std::string(prm::name(command.opcode()))];
  if (command.answer != trace::TraceAnswer::Given) {
    ++one.unanswered;
  } else if (command.delivery_status != 0 || command.status().value_or(0) != 0) {
    ++one.refused;
  } else {
    one.answered.record(command.time_ns.value_or(0));
  }
}

std::vector<CommandFact> CommandTimes::facts() const {
  constexpr double kP99 = 0.99;
  std::vector<CommandFact> facts;
  for (const auto& [name, one] : all_)
    facts.push_back({.command = name,
                     .answered = one.answered.count(),
                     .refused = one.refused,
                     .unanswered = one.unanswered,
                     .least_ns = one.answered.min_ns(),
                     .median_ns = one.answered.percentile_ns(0.5),
                     .p99_ns = one.answered.tells(kP99) ? one.answered.percentile_ns(kP99) : 0,
                     .most_ns = one.answered.max_ns()});
  return facts;
}

}  // namespace portcullis::light
