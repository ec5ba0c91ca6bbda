// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "failover/protocols/text.hpp"
#include "failover/protocols/text_words.hpp"

namespace portcullis::failover {
namespace {

using namespace words;
using Json = nlohmann::ordered_json;

Json of(const Address& address) {
  return {{std::string(word_of(kSpaces, address.space)), address.cell}};
}
Json of(const Operand& operand) {
  if (operand.source == Operand::Source::Constant) return operand.word;
  if (operand.source == Operand::Source::OwnTag) return {{"own_tag", operand.word}};
  return word_of(kRegisterOperands, operand.source);
}
Json of(const Condition& condition) {
  if (condition.kind == Condition::Kind::Equals) return {{"equals", condition.word}};
  if (condition.kind == Condition::Kind::OwnTag) return {{"own_tag", condition.word}};
  return word_of(kPlainConditions, condition.kind);
}

/// One on a line, without the brackets of the whole.
std::string lines_of(const std::vector<Json>& items) {
  std::string text;
  for (const Json& item : items) text += (text.empty() ? "    " : ",\n    ") + item.dump();
  return text;
}

class Writer {
 public:
  explicit Writer(const ProtocolText& text) : text_(text), s_(text.environments.front().scenario) {
    std::vector<std::string> seen;
    for (const WorkRequest& request : s_.work_requests) {
      std::string name = request.name;
      if (std::find(seen.begin(), seen.end(), name) != seen.end())
        name += fmt::format(" #{}", seen.size());
      seen.push_back(name);
    }
    names_ = std::move(seen);
  }

  std::string text() const {
    std::string head;
    const Json fields = heading();
    for (const auto& [key, value] : fields.items())
      head += fmt::format("  {}: {},\n", Json(key).dump(), value.dump());
    std::string environments;
    for (const NamedScenario& one : text_.environments)
      environments += fmt::format("{}    {}: {}", environments.empty() ? "" : ",\n",
                                  Json(one.environment).dump(), surroundings(one.scenario).dump());
    return fmt::format(
        "{{\n{}  \"work_requests\": [\n{}\n  ],\n  \"steps\": [\n{}\n  ],\n"
        "  \"environments\": {{\n{}\n  }}\n}}\n",
        head, lines_of(requests()), lines_of(steps()), environments);
  }

 private:
  [[nodiscard]] Json heading() const {
    Json head = {{"protocol", text_.name}};
    if (!text_.idea.empty()) head["idea"] = text_.idea;
    if (!text_.assumption.empty()) head["assumption"] = text_.assumption;
    head["clients"] = s_.clients;
    head["operations"] = s_.operations;
    head["shared_cells"] = s_.shared_cells;
    head["own_cells"] = s_.own_cells;
    if (s_.initial_shared != 0) head["initial"] = s_.initial_shared;
    head["bounds"] = {{"late", s_.limits.late},
                      {"duplicates", s_.limits.duplicates},
                      {"timeouts", s_.limits.timeouts},
                      {"deaths", s_.limits.deaths}};
    head["fence"] = word_of(kFences, s_.fence_kind);
    head["judge"] = {{"counts", word_of(kCounts, s_.counts_effects)},
                     {"history", s_.has_history},
                     {"placement_order", s_.judges_placement_order},
                     {"posting_order", s_.keeps_posting_order}};
    return head;
  }

  [[nodiscard]] std::vector<Json> requests() const {
    std::vector<Json> all;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const WorkRequest& request = s_.work_requests[i];
      Json one = {{"name", names_[i]},
                  {"opcode", word_of(kOpcodes, request.opcode)},
                  {"operation", request.operation},
                  {"qp", request.queue}};
      if (request.opcode != Opcode::Send) one["cell"] = of(request.address);
      if (request.opcode != Opcode::Send && request.opcode != Opcode::Read)
        one["operand"] = of(request.operand);
      if (request.opcode == Opcode::CompareSwap) one["compare"] = of(request.compare);
      if (request.packets != 1) one["packets"] = request.packets;
      if (request.log_cell) one["record"] = *request.log_cell;
      if (request.is_deduplicated) one["checks_record"] = true;
      if (!request.is_counted) one["counted"] = false;
      all.push_back(std::move(one));
    }
    return all;
  }

  static std::string label(unsigned step) { return fmt::format("{}", step); }
  [[nodiscard]] Json argument(const Instruction& i) const {
    switch (i.act) {
      case Act::Post:
      case Act::Await:
      case Act::QueryPsn:
        return names_[i.work_request];
      case Act::Probe:
      case Act::Assert:
        return of(i.address);
      case Act::Test:
        return of(i.condition);
      case Act::Fence:
      case Act::AwaitFence:
        return i.queue;
      case Act::Report:
        return word_of(kClaims, i.claim);
      default:
        return true;
    }
  }
  [[nodiscard]] std::vector<Json> steps() const {
    std::vector<Json> all;
    for (unsigned number = 0; number < s_.program.size(); ++number) {
      const Instruction& i = s_.program[number];
      Json one = {{"label", label(number)}, {std::string(word_of(kActs, i.act)), argument(i)}};
      const bool has_condition = i.act == Act::Await || i.act == Act::Probe || i.act == Act::Assert;
      if (has_condition && i.condition.kind != Condition::Kind::Always) one["is"] = of(i.condition);
      if (i.keeps) one["keep"] = true;
      if (i.after_receiver) one["after_receiver"] = true;
      if (i.act == Act::Report) one["operation"] = i.operation;
      if (i.act != Act::End) one["then"] = label(i.next);
      const bool asks = i.act == Act::Await || i.act == Act::Probe || i.act == Act::Test ||
                        i.act == Act::QueryPsn;
      if (asks && (i.otherwise != i.next || i.condition.kind != Condition::Kind::Always))
        one["else"] = label(i.otherwise);
      if (i.act == Act::Await && i.may_time_out) one["on_timeout"] = label(i.on_timeout);
      all.push_back(std::move(one));
    }
    return all;
  }

  static Json surroundings(const Scenario& scenario) {
    Json receiver = Json::array();
    for (const ReceiverStep& step : scenario.receiver) {
      const std::string kind(word_of(kReceiverSteps, step.kind));
      if (step.kind == ReceiverStep::Kind::AwaitArrival)
        receiver.push_back({{kind, true}});
      else
        receiver.push_back({{kind, step.word}, {"cell", step.cell}, {"cells", step.count}});
    }
    Json others = Json::array();
    for (const EnvironmentStep& step : scenario.environment) {
      Json one = {{"name", step.name}, {"cell", of(step.address)}};
      if (step.when) one["when"] = *step.when;
      one["becomes"] = step.becomes;
      others.push_back(std::move(one));
    }
    return {{"receiver", receiver}, {"others", others}, {"budget", scenario.environment_budget}};
  }

  const ProtocolText& text_;
  const Scenario& s_;
  std::vector<std::string> names_;  // of the work requests, no two alike
};

}  // namespace

std::string write_protocol(const ProtocolText& protocol) { return Writer(protocol).text(); }

}  // namespace portcullis::failover
