// SPDX-License-Identifier: BSD-3-Clause
#include "light/command_times.hpp"

#include "prm/opcodes.hpp"

namespace portcullis::light {

bool is_timed(std::string_view command) noexcept {
  return command != prm::name(prm::Opcode::MANAGE_PAGES);
}

void CommandTimes::add(const trace::TraceCommand& command) {
  OfOne& one = all_[std::string(prm::name(command.opcode()))];
  if (command.answer != trace::TraceAnswer::Given) {
    ++one.unanswered;
  } else if (command.delivery_status != 0 || command.status().value_or(0) != 0) {
    ++one.refused;
  } else {
    ++one.answered;
    if (is_timed(prm::name(command.opcode()))) one.times.record(command.time_ns.value_or(0));
  }
}

std::vector<CommandFact> CommandTimes::facts() const {
  constexpr double kP99 = 0.99;
  std::vector<CommandFact> facts;
  for (const auto& [name, one] : all_)
    facts.push_back({.command = name,
                     .answered = one.answered,
                     .refused = one.refused,
                     .unanswered = one.unanswered,
                     .least_ns = one.times.min_ns(),
                     .median_ns = one.times.percentile_ns(0.5),
                     .p99_ns = one.times.tells(kP99) ? one.times.percentile_ns(kP99) : 0,
                     .most_ns = one.times.max_ns()});
  return facts;
}

}  // namespace portcullis::light
