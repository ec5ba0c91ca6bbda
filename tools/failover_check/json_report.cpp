// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/json_report.hpp"

namespace portcullis::tools::failover_check {

using namespace failover;

const char* verdict_name(const Judged& judged) noexcept {
  switch (judged.explored.ending) {
    case Ending::Complete:
    case Ending::Violated:
      return name_of(judged.verdict());
    case Ending::Interrupted:
      return "interrupted";
    case Ending::MemoryLimit:
      return "memory-limit";
    case Ending::StateLimit:
      return "state-limit";
  }
  return "?";
}

nlohmann::ordered_json to_json(const Scenario& scenario, std::string_view environment) {
  return {{"protocol", scenario.name},
          {"environment", environment},
          {"clients", scenario.clients},
          {"ops", scenario.operations},
          {"late", scenario.limits.late},
          {"duplicates", scenario.limits.duplicates},
          {"timeouts", scenario.limits.timeouts},
          {"deaths", scenario.limits.deaths}};
}

void add_judged(nlohmann::ordered_json& object, const Judged& judged) {
  const Exploration& explored = judged.explored;
  object["verdict"] = verdict_name(judged);
  object["violation"] = name_of(explored.violation);
  object["depth"] = explored.depth;
  object["states"] = explored.states;
  object["stuck_states"] = explored.stuck;
  object["cut_states"] = explored.cut;
  object["hanging_states"] = nullptr;
  if (judged.progress) object["hanging_states"] = judged.progress->hanging;
  object["gives_up"] = explored.gives_up;
  object["not_judged"] = nlohmann::ordered_json::array();
  if (!judged.progress) object["not_judged"].push_back("progress");
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
