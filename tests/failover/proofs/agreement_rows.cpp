// SPDX-License-Identifier: BSD-3-Clause
//
// The small instance of failover/proofs/Agreement.v, enumerated with the C++ semantics: prints its
// two tables, one row of numbers a line, for agreement_test.py to compare with what Coq computes.
// The order of rows, the codes and the digest are those of Agreement.v.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <vector>

#include "failover/semantics/machine.hpp"
#include "failover/semantics/operation.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover {
namespace {

constexpr Word kGreatest = std::numeric_limits<Word>::max();
constexpr std::array<Word, 5> kStepWords = {0, 1, 2, Word{1} << 63, kGreatest};
constexpr std::array<Word, 3> kResponderWords = {0, 1, kGreatest};

struct Addressed {
  Operation operation;
  unsigned cell = 0;
};

/// code_of: WRITE 0, READ 1, FADD 2, CAS 3; cell; operand; compare.
void print_code(const Addressed& o) {
  const auto code = static_cast<unsigned>(o.operation.opcode);
  fmt::print("{} {} {} {} ", code, o.cell, o.operation.operand, o.operation.compare);
}
static_assert(static_cast<unsigned>(Opcode::Write) == 0);
static_assert(static_cast<unsigned>(Opcode::Read) == 1);
static_assert(static_cast<unsigned>(Opcode::FetchAdd) == 2);
static_assert(static_cast<unsigned>(Opcode::CompareSwap) == 3);

template <std::size_t kCount>
std::vector<Addressed> all_operations(unsigned cell, const std::array<Word, kCount>& words) {
  std::vector<Addressed> all;
  for (const Word v : words) all.push_back({{Opcode::Write, v, 0}, cell});
  all.push_back({{Opcode::Read, 0, 0}, cell});
  for (const Word d : words) all.push_back({{Opcode::FetchAdd, d, 0}, cell});
  for (const Word e : words)
    for (const Word n : words) all.push_back({{Opcode::CompareSwap, n, e}, cell});
  return all;
}

void print_step_table() {
  for (const Addressed& o : all_operations(0, kStepWords)) {
    for (const Word memory : kStepWords) {
      const Executed done = execute(o.operation, memory);
      print_code(o);
      fmt::print("{} {} {} {}\n", memory, done.memory, returns_word(o.operation.opcode) ? 2 : 1,
                 done.result);
    }
  }
}

/// One client that posts two work requests on one QP and waits for both; somebody else may write
/// the greatest word to cell 0 at any time.
Scenario scenario_of(const Addressed& first, const Addressed& second, Word initial) {
  Scenario scenario;
  scenario.name = "agreement";
  scenario.shared_cells = 2;
  scenario.initial_shared = initial;
  scenario.operations = 2;
  for (unsigned number = 0; number < 2; ++number) {
    const Addressed& o = number == 0 ? first : second;
    WorkRequest request;
    request.name = fmt::format("wr{}", number);
    request.operation = number;
    request.opcode = o.operation.opcode;
    request.address.cell = o.cell;
    request.operand.word = o.operation.operand;
    request.compare.word = o.operation.compare;
    scenario.work_requests.push_back(request);
  }
  const auto add = [&](Act act, unsigned number, unsigned next) {
    Instruction i;
    i.act = act;
    i.work_request = number;
    i.keeps = act == Act::Await;  // so that results are part of the state
    i.next = i.otherwise = i.on_timeout = next;
    scenario.program.push_back(i);
  };
  add(Act::Post, 0, 1);
  add(Act::Post, 1, 2);
  add(Act::Await, 0, 3);
  add(Act::Await, 1, 4);
  add(Act::End, 0, 4);
  scenario.environment.push_back({"other", {}, std::nullopt, kGreatest});
  scenario.environment_budget = 4;
  scenario.limits.duplicates = 3;
  scenario.is_monitored = false;
  return scenario;
}

class Responder {
 public:
  explicit Responder(const Machine& machine) : machine_(machine) {}

  /// The state after the step with this action on this work request, if it is possible.
  [[nodiscard]] std::optional<AnyState> after(const AnyState& state, Action action,
                                              unsigned number) const {
    std::optional<AnyState> found;
    for_each_step(machine_, state, [&](const AnyState& next, const Label& label, Violation) {
      if (label.action == action && label.number == number) found = next;
    });
    return found;
  }

  [[nodiscard]] AnyState posted() const {
    const AnyState first = after(machine_.initial, Action::Post, 0).value();
    return after(first, Action::Post, 1).value();
  }

  /// A packet of work request `psn` arrives: {reply, word} as code_of_reply. What came back is
  /// taken out of the network again, so that the next packet's reply can be seen.
  std::array<Word, 2> packet(AnyState& state, unsigned psn) const {
    const RequestFields& fields = machine_.fields[0].requests[psn];
    if (state.get(fields.copies[0]) == 0) state = after(state, Action::Duplicate, psn).value();
    auto next = after(state, Action::Execute, psn);
    if (!next) next = after(state, Action::AcknowledgeAgain, psn);
    if (!next) {
      state = after(state, Action::LosePacket, psn).value();
      return {0, 0};
    }
    const bool returns = returns_word(machine_.scenario.work_requests[psn].opcode);
    const Word word = returns ? machine_.words[next->get(fields.result)] : 0;
    state = after(*next, Action::LoseAck, psn).value();
    return {returns ? Word{2} : Word{1}, word};
  }

  /// Somebody else writes; over the same word it is no step.
  std::array<Word, 2> other_write(AnyState& state) const {
    state = after(state, Action::Write, 0).value_or(state);
    return {3, 0};
  }

  [[nodiscard]] std::array<Word, 3> observed(const AnyState& state) const {
    Word expected = 0;
    for (const RequestFields& fields : machine_.fields[0].requests)
      expected += state.get(fields.executed);
    return {machine_.words[state.get(machine_.shared[0])],
            machine_.words[state.get(machine_.shared[1])], expected};
  }

 private:
  const Machine& machine_;
};

Word mix(Word digest, Word x) { return (digest << 5) + digest + x + 1; }

Word explore(const Responder& responder, unsigned depth, const AnyState& state, Word digest) {
  if (depth == 0) return digest;
  for (unsigned arrival = 0; arrival < 3; ++arrival) {
    AnyState next = state;
    const auto reply = arrival < 2 ? responder.packet(next, arrival) : responder.other_write(next);
    for (const Word x : reply) digest = mix(digest, x);
    for (const Word x : responder.observed(next)) digest = mix(digest, x);
    digest = explore(responder, depth - 1, next, digest);
  }
  return digest;
}

bool print_responder_table() {
  std::vector<Addressed> seconds = all_operations(0, kResponderWords);
  for (const Addressed& o : all_operations(1, kResponderWords)) seconds.push_back(o);
  for (const Addressed& first : all_operations(0, kResponderWords)) {
    for (const Addressed& second : seconds) {
      for (const Word initial : kResponderWords) {
        const auto machine = compile(scenario_of(first, second, initial));
        if (!machine) {
          fmt::print(stderr, "agreement_rows: {}\n", machine.error().text);
          return false;
        }
        const Responder responder(*machine);
        print_code(first);
        print_code(second);
        fmt::print("{} {}\n", initial, explore(responder, 4, responder.posted(), 0));
      }
    }
  }
  return true;
}

}  // namespace
}  // namespace portcullis::failover

int main() {
  portcullis::failover::print_step_table();
  return portcullis::failover::print_responder_table() ? 0 : 1;
}
