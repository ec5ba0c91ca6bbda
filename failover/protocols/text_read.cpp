// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "base/json.hpp"
#include "failover/protocols/program_faults.hpp"
#include "failover/protocols/text.hpp"
#include "failover/protocols/text_words.hpp"
#include "failover/semantics/machine.hpp"

namespace portcullis::failover {
namespace {

using namespace words;

constexpr std::string_view kFields =
    "$schema, protocol, idea, assumption, clients, operations, shared_cells, own_cells, initial, "
    "bounds, fence, judge, work_requests, steps, environments";
constexpr std::string_view kRequestFields =
    "name, opcode, operation, qp, cell, operand, compare, packets, record, checks_record, counted";
constexpr std::string_view kStepFields =
    "label, post, await, probe, assert, query_psn, test, fence, await_fence, report, end, is, "
    "keep, after_receiver, operation, then, else, on_timeout";

template <class T, std::size_t kCount>
Result<T> meaning_of(const JsonCursor& at, const Words<T, kCount>& list) {
  std::string accepted;
  for (const auto& [word, means] : list) {
    if (at.value().kind == JsonValue::Kind::String && at.value().text == word) return means;
    accepted += fmt::format("{}{}", accepted.empty() ? "one of " : ", ", word);
  }
  return at.refuse(accepted);
}

Result<JsonCursor> member(const JsonCursor& object, std::string_view key) {
  if (!object.has(key))
    return object.bad(fmt::format("no \"{}\"; an object that has it is accepted", key));
  return object.at(key);
}
Result<Word> word_at(const JsonCursor& at) {
  if (!at.value().whole) return at.refuse("a whole number from 0 to 18446744073709551615");
  return *at.value().whole;
}
Result<void> read_count(const JsonCursor& object, std::string_view key, std::uint32_t most,
                        unsigned& to) {
  if (!object.has(key)) return {};
  PORTCULLIS_TRY_ASSIGN(to, object.at(key).count(most));
  return {};
}
Result<void> read_flag(const JsonCursor& object, std::string_view key, bool& to) {
  if (!object.has(key)) return {};
  PORTCULLIS_TRY_ASSIGN(to, object.at(key).boolean());
  return {};
}
Result<void> expect_list(const JsonCursor& list, std::size_t most) {
  PORTCULLIS_TRY(list.expect_array());
  if (list.size() <= most) return {};
  return list.bad(fmt::format("{} items; at most {} are accepted", list.size(), most));
}
bool has_control(std::string_view name) {
  return std::any_of(name.begin(), name.end(),
                     [](unsigned char c) { return c < ' ' || c == 0x7f; });
}
/// What steps name a thing by, and what is printed of it.
Result<std::string> name_at(const JsonCursor& at) {
  PORTCULLIS_TRY_ASSIGN(std::string name, at.string());
  if (name.empty()) return at.refuse("a name with characters");
  if (has_control(name)) return at.bad("a control character; a name without one is accepted");
  return name;
}
constexpr std::uint32_t kMostSequence = 1000;  // of a tag
constexpr std::size_t kMostRequests = 60, kMostSteps = 250, kMostOthers = 60;
constexpr std::size_t kMostEnvironments = 32;
/// The one key of `object` that `list` has.
template <class T, std::size_t kCount>
Result<std::pair<JsonCursor, T>> verb_of(const JsonCursor& object, const Words<T, kCount>& list) {
  std::optional<std::pair<JsonCursor, T>> found;
  std::string accepted;
  for (const auto& [word, means] : list) {
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", word);
    if (!object.has(word)) continue;
    if (found) return object.at(word).bad("a second of them; one is accepted");
    found = std::pair(object.at(word), means);
  }
  if (!found) return object.bad(fmt::format("none of {}; one of them is accepted", accepted));
  return *found;
}

/// Reads one text; names are looked up as they come.
class Reader {
 public:
  explicit Reader(const JsonCursor& root) : root_(root) {}

  Result<ProtocolText> protocol() {
    PORTCULLIS_TRY(root_.expect_object(kFields));
    ProtocolText text;
    PORTCULLIS_TRY_ASSIGN(const JsonCursor name, member(root_, "protocol"));
    PORTCULLIS_TRY_ASSIGN(text.name, name_at(name));
    PORTCULLIS_TRY(root_.read("idea", text.idea));
    PORTCULLIS_TRY(root_.read("assumption", text.assumption));
    s_.name = text.name;
    PORTCULLIS_TRY(sizes());
    PORTCULLIS_TRY(judge());
    PORTCULLIS_TRY(requests());
    PORTCULLIS_TRY(steps());
    PORTCULLIS_TRY(environments(text));
    return text;
  }

 private:
  Result<void> sizes() {
    PORTCULLIS_TRY(read_count(root_, "clients", kMaxClients, s_.clients));
    PORTCULLIS_TRY(read_count(root_, "operations", 8, s_.operations));
    PORTCULLIS_TRY(read_count(root_, "shared_cells", 64, s_.shared_cells));
    PORTCULLIS_TRY(read_count(root_, "own_cells", 64, s_.own_cells));
    if (root_.has("initial")) {
      PORTCULLIS_TRY_ASSIGN(s_.initial_shared, word_at(root_.at("initial")));
    }
    if (root_.has("fence")) {
      PORTCULLIS_TRY_ASSIGN(s_.fence_kind, meaning_of(root_.at("fence"), kFences));
    }
    if (!root_.has("bounds")) return {};
    const JsonCursor bounds = root_.at("bounds");
    PORTCULLIS_TRY(bounds.expect_object("late, duplicates, timeouts, deaths"));
    PORTCULLIS_TRY(read_count(bounds, "late", 7, s_.limits.late));
    PORTCULLIS_TRY(read_count(bounds, "duplicates", 3, s_.limits.duplicates));
    PORTCULLIS_TRY(read_count(bounds, "timeouts", 7, s_.limits.timeouts));
    return read_count(bounds, "deaths", 3, s_.limits.deaths);
  }
  Result<void> judge() {
    s_.judges_placement_order = true;
    if (!root_.has("judge")) return {};
    const JsonCursor judge = root_.at("judge");
    PORTCULLIS_TRY(judge.expect_object("counts, history, placement_order, posting_order"));
    if (judge.has("counts")) {
      PORTCULLIS_TRY_ASSIGN(s_.counts_effects, meaning_of(judge.at("counts"), kCounts));
    }
    PORTCULLIS_TRY(read_flag(judge, "history", s_.has_history));
    PORTCULLIS_TRY(read_flag(judge, "placement_order", s_.judges_placement_order));
    return read_flag(judge, "posting_order", s_.keeps_posting_order);
  }

  Result<Address> address(const JsonCursor& at) const {
    PORTCULLIS_TRY(at.expect_object("shared, own, owner_slot"));
    PORTCULLIS_TRY_ASSIGN(const auto space, verb_of(at, kSpaces));
    const bool is_shared = space.second == Address::Space::Shared;
    const unsigned cells = is_shared ? s_.shared_cells : s_.own_cells;
    if (cells == 0)
      return space.first.bad(fmt::format("there are no such cells; \"{}\" says how many there are",
                                         is_shared ? "shared_cells" : "own_cells"));
    PORTCULLIS_TRY_ASSIGN(const unsigned cell, space.first.count(cells - 1));
    return Address{space.second, cell};
  }
  static Result<Operand> operand(const JsonCursor& at) {
    if (at.value().whole) return Operand{Operand::Source::Constant, *at.value().whole};
    if (at.value().kind == JsonValue::Kind::Object) {
      PORTCULLIS_TRY(at.expect_object("own_tag"));
      PORTCULLIS_TRY_ASSIGN(const JsonCursor tag, member(at, "own_tag"));
      PORTCULLIS_TRY_ASSIGN(const Word sequence, tag.count(kMostSequence));
      return Operand{Operand::Source::OwnTag, sequence};
    }
    for (const auto& [word, source] : kRegisterOperands)
      if (at.value().text == word) return Operand{source, 0};
    return at.refuse("a whole number, {\"own_tag\": N}, \"register\" or \"register-sequence\"");
  }
  static Result<Condition> condition(const JsonCursor& at) {
    if (at.value().kind != JsonValue::Kind::Object) {
      PORTCULLIS_TRY_ASSIGN(const Condition::Kind kind, meaning_of(at, kPlainConditions));
      return Condition{kind, 0};
    }
    PORTCULLIS_TRY(at.expect_object("equals, own_tag"));
    constexpr Words<Condition::Kind, 2> kNumbered = {
        {{"equals", Condition::Kind::Equals}, {"own_tag", Condition::Kind::OwnTag}}};
    PORTCULLIS_TRY_ASSIGN(const auto kind, verb_of(at, kNumbered));
    if (kind.second == Condition::Kind::OwnTag) {
      PORTCULLIS_TRY_ASSIGN(const Word sequence, kind.first.count(kMostSequence));
      return Condition{kind.second, sequence};
    }
    PORTCULLIS_TRY_ASSIGN(const Word word, word_at(kind.first));
    return Condition{kind.second, word};
  }

  // ---- Work requests -------------------------------------------------------------------------

  Result<void> requests() {
    PORTCULLIS_TRY_ASSIGN(const JsonCursor list, member(root_, "work_requests"));
    PORTCULLIS_TRY(expect_list(list, kMostRequests));
    for (std::size_t i = 0; i < list.size(); ++i) {
      PORTCULLIS_TRY_ASSIGN(WorkRequest one, request(list.item(i)));
      if (number_of(one.name)) return list.item(i).at("name").refuse("a name that no other has");
      s_.work_requests.push_back(std::move(one));
    }
    if (s_.work_requests.empty()) return list.bad("it is empty; at least one is accepted");
    const auto fault = unlike_attempt_of(s_);
    if (fault) return list.item(fault->request).at(fault->field).bad(fault->what);
    return {};
  }
  Result<WorkRequest> request(const JsonCursor& at) {
    PORTCULLIS_TRY(at.expect_object(kRequestFields));
    WorkRequest one;
    PORTCULLIS_TRY_ASSIGN(const JsonCursor name, member(at, "name"));
    PORTCULLIS_TRY_ASSIGN(one.name, name_at(name));
    PORTCULLIS_TRY_ASSIGN(const JsonCursor opcode, member(at, "opcode"));
    PORTCULLIS_TRY_ASSIGN(one.opcode, meaning_of(opcode, kOpcodes));
    PORTCULLIS_TRY(read_count(at, "operation", std::max(1U, s_.operations) - 1, one.operation));
    PORTCULLIS_TRY(read_count(at, "qp", 31, one.queue));
    PORTCULLIS_TRY(read_count(at, "packets", kMaxPackets, one.packets));
    if (at.has("cell")) {
      PORTCULLIS_TRY_ASSIGN(one.address, address(at.at("cell")));
    }
    if (at.has("operand")) {
      PORTCULLIS_TRY_ASSIGN(one.operand, operand(at.at("operand")));
    }
    if (at.has("compare")) {
      PORTCULLIS_TRY_ASSIGN(one.compare, operand(at.at("compare")));
    }
    PORTCULLIS_TRY(read_flag(at, "checks_record", one.is_deduplicated));
    PORTCULLIS_TRY(read_flag(at, "counted", one.is_counted));
    if (at.has("record")) {
      if (s_.own_cells == 0) return at.at("record").bad("there are no own cells");
      PORTCULLIS_TRY_ASSIGN(one.log_cell, at.at("record").count(s_.own_cells - 1));
    }
    const bool has_operand = one.opcode != Opcode::Read && one.opcode != Opcode::Send;
    if (has_operand) PORTCULLIS_TRY(member(at, "operand"));
    if (one.opcode == Opcode::CompareSwap) PORTCULLIS_TRY(member(at, "compare"));
    return one;
  }
  [[nodiscard]] std::optional<unsigned> number_of(std::string_view name) const {
    for (unsigned i = 0; i < s_.work_requests.size(); ++i)
      if (s_.work_requests[i].name == name) return i;
    return std::nullopt;
  }

  // ---- Steps ---------------------------------------------------------------------------------

  Result<void> steps() {
    PORTCULLIS_TRY_ASSIGN(const JsonCursor list, member(root_, "steps"));
    PORTCULLIS_TRY(expect_list(list, kMostSteps));
    labels_.resize(list.size());
    lines_ = lines_of(root_, "steps");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonCursor at = list.item(i);
      PORTCULLIS_TRY(at.expect_object(kStepFields));
      if (!at.has("label")) continue;
      PORTCULLIS_TRY_ASSIGN(const std::string label, name_at(at.at("label")));
      if (std::find(labels_.begin(), labels_.end(), label) != labels_.end())
        return at.at("label").refuse("a label that no earlier step has");
      labels_[i] = label;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      PORTCULLIS_TRY_ASSIGN(Instruction one, step(list.item(i), i));
      s_.program.push_back(one);
    }
    if (s_.program.empty()) return list.bad("it is empty; at least one is accepted");
    const auto fault = fault_of(s_);
    if (fault) return list.item(fault->step).bad(fault->what);
    for (unsigned number = 0; number < s_.work_requests.size(); ++number)
      if (std::none_of(s_.program.begin(), s_.program.end(), [&](const Instruction& i) {
            return i.act == Act::Post && i.work_request == number;
          }))
        return root_.at("work_requests").item(number).bad("no step posts it; one is accepted");
    return {};
  }
  Result<Instruction> step(const JsonCursor& at, std::size_t number) {
    PORTCULLIS_TRY_ASSIGN(const auto verb, verb_of(at, kActs));
    Instruction i;
    i.act = verb.second;
    PORTCULLIS_TRY(argument(verb.first, i));
    if (at.has("is")) {
      PORTCULLIS_TRY_ASSIGN(i.condition, condition(at.at("is")));
    }
    PORTCULLIS_TRY(read_flag(at, "keep", i.keeps));
    PORTCULLIS_TRY(read_flag(at, "after_receiver", i.after_receiver));
    PORTCULLIS_TRY(read_count(at, "operation", std::max(1U, s_.operations) - 1, i.operation));
    PORTCULLIS_TRY(check_fields(at, i));
    if (i.act == Act::End) return i;
    PORTCULLIS_TRY_ASSIGN(i.next, target(at, "then", number));
    i.otherwise = i.on_timeout = i.next;
    if (at.has("else")) {
      PORTCULLIS_TRY_ASSIGN(i.otherwise, target(at, "else", number));
    }
    i.may_time_out = at.has("on_timeout");
    if (i.may_time_out) {
      PORTCULLIS_TRY_ASSIGN(i.on_timeout, target(at, "on_timeout", number));
    }
    return i;
  }
  Result<void> argument(const JsonCursor& at, Instruction& i) {
    switch (i.act) {
      case Act::Post:
      case Act::Await:
      case Act::QueryPsn: {
        const auto number = number_of(at.value().text);  // empty of what is no string
        if (!number) return at.refuse(names_of_requests());
        i.work_request = *number;
        return {};
      }
      case Act::Probe:
      case Act::Assert: {
        PORTCULLIS_TRY_ASSIGN(i.address, address(at));
        return {};
      }
      case Act::Test: {
        PORTCULLIS_TRY_ASSIGN(i.condition, condition(at));
        return {};
      }
      case Act::Fence:
      case Act::AwaitFence: {
        PORTCULLIS_TRY_ASSIGN(i.queue, at.count(31));
        return {};
      }
      case Act::Report: {
        PORTCULLIS_TRY_ASSIGN(i.claim, meaning_of(at, kClaims));
        return {};
      }
      default:
        if (!at.value().boolean) return at.refuse("true");
        return {};
    }
  }
  /// A field that says nothing where it stands is a slip.
  static Result<void> check_fields(const JsonCursor& at, const Instruction& i) {
    const bool asks =
        i.act == Act::Await || i.act == Act::Probe || i.act == Act::Test || i.act == Act::QueryPsn;
    const bool has_condition = asks && i.act != Act::Test && i.act != Act::QueryPsn;
    const struct {
      std::string_view field;
      bool fits;
    } rules[] = {{"is", has_condition || i.act == Act::Assert},
                 {"keep", has_condition},
                 {"after_receiver", i.act == Act::Probe},
                 {"operation", i.act == Act::Report},
                 {"then", i.act != Act::End},
                 {"else", asks},
                 {"on_timeout", i.act == Act::Await}};
    for (const auto& [field, fits] : rules)
      if (at.has(field) && !fits) return at.at(field).bad("says nothing in such a step");
    if (i.act == Act::Assert && i.condition.kind == Condition::Kind::Always)
      return at.bad("an assertion that holds of everything; \"is\" with a condition is accepted");
    const bool is_question =
        asks && (i.condition.kind != Condition::Kind::Always || i.act == Act::QueryPsn);
    if (is_question && !at.has("else"))
      return at.bad(
          "a question without \"else\"; both answers are accepted, \"then\" and \"else\"");
    return {};
  }
  /// The step that `field` names; without "then" the one below.
  Result<unsigned> target(const JsonCursor& at, std::string_view field, std::size_t number) {
    if (!at.has(field)) {
      if (number + 1 < labels_.size()) return static_cast<unsigned>(number + 1);
      return at.bad("the last step has no \"then\"; a label, or \"end\": true, is accepted");
    }
    const JsonCursor to = at.at(field);
    std::string accepted;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (labels_[i].empty()) continue;
      if (to.value().kind == JsonValue::Kind::String && to.value().text == labels_[i])
        return static_cast<unsigned>(i);
      accepted += fmt::format("{}{}", accepted.empty() ? "one of the labels " : ", ", labels_[i]);
    }
    return to.refuse(accepted.empty() ? "a label, which no step has," : accepted);
  }
  [[nodiscard]] std::string names_of_requests() const {
    std::string names;
    for (const WorkRequest& request : s_.work_requests)
      names += fmt::format("{}{}", names.empty() ? "one of " : ", ", request.name);
    return names;
  }

  // ---- Environments --------------------------------------------------------------------------

  Result<void> environments(ProtocolText& text) {
    if (!root_.has("environments")) {
      text.environments.push_back({"quiet", s_, {lines_, {}, {}}});
      return check(root_, s_);
    }
    const JsonCursor all = root_.at("environments");
    if (all.value().kind != JsonValue::Kind::Object || all.size() == 0 ||
        all.size() > kMostEnvironments)
      return all.refuse(
          fmt::format("an object with a member for each environment, 1 to {},", kMostEnvironments));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const JsonCursor at = all.item(i);
      if (has_control(all.value().keys[i]))
        return at.bad("a control character; a name without one is accepted");
      PORTCULLIS_TRY(at.expect_object("receiver, others, budget"));
      Scenario scenario = s_;
      PORTCULLIS_TRY(receiver(at, scenario));
      PORTCULLIS_TRY(others(at, scenario));
      PORTCULLIS_TRY(check(at, scenario));
      text.environments.push_back({all.value().keys[i],
                                   std::move(scenario),
                                   {lines_, lines_of(at, "receiver"), lines_of(at, "others")}});
    }
    return {};
  }
  static std::vector<std::uint32_t> lines_of(const JsonCursor& object, std::string_view key) {
    std::vector<std::uint32_t> lines;
    if (!object.has(key)) return lines;
    for (const JsonValue& item : object.at(key).value().items) lines.push_back(item.line);
    return lines;
  }
  /// What the machine refuses as a whole.
  static Result<void> check(const JsonCursor& at, const Scenario& scenario) {
    if (const auto fault = history_fault_of(scenario)) return at.bad(*fault);
    const auto machine = compile(scenario);
    if (!machine) return at.bad(machine.error().text);
    return {};
  }
  Result<unsigned> own_cell(const JsonCursor& object) const {
    PORTCULLIS_TRY_ASSIGN(const JsonCursor at, member(object, "cell"));
    if (s_.own_cells == 0) return at.bad("there are no own cells");
    return at.count(s_.own_cells - 1);
  }
  Result<void> receiver(const JsonCursor& environment, Scenario& scenario) const {
    if (!environment.has("receiver")) return {};
    const JsonCursor list = environment.at("receiver");
    PORTCULLIS_TRY(expect_list(list, kMostOthers));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonCursor at = list.item(i);
      PORTCULLIS_TRY(
          at.expect_object("await_arrival, await_word, consume, set, reuse, cell, cells"));
      PORTCULLIS_TRY_ASSIGN(const auto verb, verb_of(at, kReceiverSteps));
      ReceiverStep step{verb.second, 0, 1, 0};
      if (step.kind == ReceiverStep::Kind::AwaitArrival) {
        step.count = 0;
        if (!verb.first.value().boolean) return verb.first.refuse("true");
      } else {
        PORTCULLIS_TRY_ASSIGN(step.word, word_at(verb.first));
        PORTCULLIS_TRY_ASSIGN(step.cell, own_cell(at));
        PORTCULLIS_TRY(read_count(at, "cells", s_.own_cells - step.cell, step.count));
      }
      scenario.receiver.push_back(step);
    }
    return {};
  }
  Result<void> others(const JsonCursor& environment, Scenario& scenario) const {
    PORTCULLIS_TRY(read_count(environment, "budget", 7, scenario.environment_budget));
    if (!environment.has("others")) return {};
    const JsonCursor list = environment.at("others");
    PORTCULLIS_TRY(expect_list(list, kMostOthers));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonCursor at = list.item(i);
      PORTCULLIS_TRY(at.expect_object("name, cell, when, becomes"));
      EnvironmentStep step;
      PORTCULLIS_TRY_ASSIGN(const JsonCursor name, member(at, "name"));
      PORTCULLIS_TRY_ASSIGN(step.name, name_at(name));
      PORTCULLIS_TRY_ASSIGN(const JsonCursor cell, member(at, "cell"));
      PORTCULLIS_TRY_ASSIGN(step.address, address(cell));
      if (step.address.space == Address::Space::OwnerSlot)
        return cell.refuse("{\"shared\": N} or {\"own\": N}");
      if (at.has("when")) {
        PORTCULLIS_TRY_ASSIGN(step.when, word_at(at.at("when")));
      }
      PORTCULLIS_TRY_ASSIGN(const JsonCursor becomes, member(at, "becomes"));
      PORTCULLIS_TRY_ASSIGN(step.becomes, word_at(becomes));
      scenario.environment.push_back(std::move(step));
    }
    return {};
  }

  JsonCursor root_;
  Scenario s_;
  std::vector<std::string> labels_;   // of each step; empty where it has none
  std::vector<std::uint32_t> lines_;  // of each step
};

}  // namespace

Result<Scenario> ProtocolText::in(std::string_view environment) const {
  PORTCULLIS_TRY_ASSIGN(NamedScenario one, named(environment));
  return std::move(one.scenario);
}

Result<NamedScenario> ProtocolText::named(std::string_view environment) const {
  if (environment.empty()) return environments.front();
  std::string names;
  for (const NamedScenario& one : environments) {
    if (one.environment == environment) return one;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.environment);
  }
  return fail(
      Errc::InvalidArgument,
      fmt::format("environment '{}' is none of {}'s, accepted are {}", environment, name, names));
}

Result<ProtocolText> read_protocol(std::string_view text, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(const JsonValue top, parse_json(text, file));
  return Reader(JsonCursor(top, file)).protocol();
}

}  // namespace portcullis::failover
