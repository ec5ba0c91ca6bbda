// SPDX-License-Identifier: BSD-3-Clause
#include "failover/report/json_report.hpp"

namespace portcullis::failover {

const char* verdict_name(const Judged& judged) noexcept {
  switch (judged.explored.ending) {
    case Ending::Complete:
    case Ending::Violated:
      return judged.verdict() == Verdict::Stopped ? "interrupted" : name_of(judged.verdict());
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

namespace {

nlohmann::ordered_json to_json(const Scenario& scenario, const std::vector<Unreached>& unreached) {
  auto all = nlohmann::ordered_json::array();
  for (const Unreached& one : unreached) {
    const bool is_step = one.part == Unreached::Part::Client;
    nlohmann::ordered_json object = {{"list", is_step                                 ? "steps"
                                              : one.part == Unreached::Part::Receiver ? "receiver"
                                                                                      : "others"},
                                     {"item", one.step},
                                     {"client", nullptr},
                                     {"what", describe(scenario, one)}};
    if (one.client) object["client"] = *one.client;
    all.push_back(std::move(object));
  }
  return all;
}

}  // namespace

void add_judged(nlohmann::ordered_json& object, const Scenario& scenario, const Judged& judged) {
  const Exploration& explored = judged.explored;
  object["verdict"] = verdict_name(judged);
  object["violation"] = name_of(explored.violation);
  object["depth"] = explored.depth;
  object["states"] = explored.states;
  object["stuck_states"] = explored.stuck;
  object["cut_states"] = explored.cut;
  object["hanging_states"] = nullptr;
  if (judged.progress) object["hanging_states"] = judged.progress->hanging;
  object["gives_up"] = nullptr;
  if (explored.gives_up || explored.ending == Ending::Complete)
    object["gives_up"] = explored.gives_up;
  object["unreached"] = nullptr;
  if (explored.ending == Ending::Complete)
    object["unreached"] = to_json(scenario, explored.unreached);
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

std::string name_of_request(const OutstandingRequest& request) {
  return request.opcode ? name_of(*request.opcode) : request.opcode_name;
}

namespace {

nlohmann::ordered_json to_json(const std::vector<Requirement>& conditions) {
  auto all = nlohmann::ordered_json::array();
  for (const Requirement& condition : conditions) {
    nlohmann::ordered_json one = {{"condition", name_of(condition.kind)}};
    if (!condition.requests.empty()) one["requests"] = condition.requests;
    all.push_back(std::move(one));
  }
  return all;
}

nlohmann::ordered_json to_json(const std::vector<std::vector<Proviso>>& lists) {
  auto one_of = nlohmann::ordered_json::array();
  for (const auto& provisos : lists) {
    auto all = nlohmann::ordered_json::array();
    for (const Proviso proviso : provisos) all.push_back(name_of(proviso));
    one_of.push_back(std::move(all));
  }
  return one_of;
}

nlohmann::ordered_json to_json(const BufferAdvice& buffer) {
  if (buffer.answer == BufferAdvice::Answer::None) return nullptr;
  nlohmann::ordered_json object = {
      {"advice", name_of(buffer.answer)},  {"conditions", to_json(buffer.conditions)},
      {"one_of", to_json(buffer.one_of)},  {"reason", buffer.reason},
      {"shared_with", buffer.shared_with}, {"states", buffer.states},
      {"by_rule", buffer.is_by_rule}};
  if (buffer.trace) object["trace"] = to_json(*buffer.machine, *buffer.trace);
  return object;
}

}  // namespace

nlohmann::ordered_json to_json(const OutstandingRequest& request, const Classification& c) {
  nlohmann::ordered_json object = {{"line", request.line},
                                   {"wr_id", request.wr_id},
                                   {"opcode", name_of_request(request)},
                                   {"advice", name_of(c.advice)},
                                   {"conditions", to_json(c.conditions)},
                                   {"one_of", to_json(c.one_of)},
                                   {"reason", c.reason},
                                   {"lemma", c.lemma},
                                   {"explored_with", c.explored_with},
                                   {"states", c.states},
                                   {"by_rule", c.is_by_rule}};
  if (c.trace) object["trace"] = to_json(*c.machine, *c.trace);
  object["buffer"] = to_json(c.buffer);
  return object;
}

}  // namespace portcullis::failover
