// SPDX-License-Identifier: BSD-3-Clause
#include "trace/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace portcullis::trace {
namespace {

const TraceCommand& command_of(const Step& step, const Recording& a, const Recording& b) {
  return step.a ? a.commands[*step.a] : b.commands[*step.b];
}

std::string sequence_of(const std::optional<std::size_t>& index, const Recording& recording) {
  return index ? std::to_string(recording.commands[*index].sequence) : std::string();
}

void append_step(std::string& text, const Step& step, const Recording& a, const Recording& b) {
  const char mark = !step.b ? '-' : !step.a ? '+' : ' ';
  fmt::format_to(std::back_inserter(text), "{} {:>5} {:>5}  {}\n", mark, sequence_of(step.a, a),
                 sequence_of(step.b, b), identity(command_of(step, a, b)));
  std::size_t widest = 0;
  for (const auto& field : step.fields) widest = std::max(widest, field.field.size());
  for (const auto& field : step.fields)
    fmt::format_to(std::back_inserter(text), "                 {:<{}}  {} -> {}\n", field.field,
                   widest, field.a, field.b);
}

nlohmann::ordered_json json_of(const Named& named) {
  return {{"file", named.file},
          {"source", named.recording.source},
          {"commands", named.recording.commands.size()}};
}

nlohmann::ordered_json json_of(const Step& step, const Recording& a, const Recording& b) {
  nlohmann::ordered_json json;
  json["command"] = identity(command_of(step, a, b));
  if (step.a) json["a"] = a.commands[*step.a].sequence;
  if (step.b) json["b"] = b.commands[*step.b].sequence;
  for (const auto& field : step.fields)
    json["fields"].push_back({{"field", field.field}, {"a", field.a}, {"b", field.b}});
  return json;
}

bool is_same(const Step& step) { return step.a && step.b && step.fields.empty(); }

}  // namespace

std::string text_report(const Named& a, const Named& b, const Comparison& comparison) {
  std::string text;
  for (const auto& [mark, named] : {std::pair("---", &a), std::pair("+++", &b)})
    fmt::format_to(std::back_inserter(text), "{} {}: {} commands, {}\n", mark, named->file,
                   named->recording.commands.size(), named->recording.source);
  for (const Step& step : comparison.steps)
    if (!is_same(step)) append_step(text, step, a.recording, b.recording);
  fmt::format_to(std::back_inserter(text),
                 "{} commands are the same, {} differ, {} only in {}, {} only in {}\n",
                 comparison.same, comparison.different, comparison.only_a, a.file,
                 comparison.only_b, b.file);
  return text;
}

std::string json_report(const Named& a, const Named& b, const Rules& rules,
                        const Comparison& comparison) {
  nlohmann::ordered_json json;
  json["a"] = json_of(a);
  json["b"] = json_of(b);
  json["ignored"] = rules.ignored;
  json["handed_out"] = rules.handed_out;
  json["same"] = comparison.same;
  json["different"] = comparison.different;
  json["only_a"] = comparison.only_a;
  json["only_b"] = comparison.only_b;
  json["differences"] = nlohmann::ordered_json::array();
  for (const Step& step : comparison.steps)
    if (!is_same(step)) json["differences"].push_back(json_of(step, a.recording, b.recording));
  // A file's name or source may be no UTF-8.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace portcullis::trace
