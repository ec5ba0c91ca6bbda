// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/json_report.hpp"

namespace portcullis::tools::failover_check {

using namespace failover;

const char* verdict_name(const Exploration& explored) noexcept {
  switch (explored.ending) {
    case Ending::Complete:
      return "safe";
    case Ending::Violated:
      return "refuted";
    case Ending::Interrupted:
      return "interrupted";
    case Ending::MemoryLimit:
      return "memory-limit";
    case Ending::StateLimit:
      return "state-limit";
  }
  return "?";
}

nlohmann::ordered_json to_json(std::string_view model, const Parameters& parameters) {
  return {{"protocol", model},
          {"environment", name_of(parameters.environment)},
          {"clients", parameters.clients},
          {"ops", parameters.operations},
          {"late", parameters.limits.late},
          {"duplicates", parameters.limits.duplicates},
          {"timeouts", parameters.limits.timeouts}};
}

void add_exploration(nlohmann::ordered_json& object, const Exploration& explored) {
  object["verdict"] = verdict_name(explored);
  object["violation"] = name_of(explored.violation);
  object["depth"] = explored.depth;
  object["states"] = explored.states;
  object["stuck_states"] = explored.stuck;
  object["not_judged"] = {"hanging", "queue-pair-order"};
  object["transitions"] = explored.transitions;
  object["bytes"] = explored.bytes;
  object["seconds"] = explored.seconds;
}

nlohmann::ordered_json to_json(const Machine& machine, const Trace& trace) {
  auto steps = nlohmann::ordered_json::array();
  for (const TraceStep& step : trace.steps) steps.push_back(describe(machine, step.label));
  return steps;
}

}  // namespace portcullis::tools::failover_check
