// SPDX-License-Identifier: BSD-3-Clause
#include "failover/protocols/policies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "failover/protocols/families.hpp"
#include "failover/protocols/program.hpp"

namespace portcullis::failover {
namespace {

using namespace program;

struct Entry {
  PolicyModel model;
  void (*build)(Scenario& scenario);
};

WorkRequest request(const char* name, Opcode opcode, unsigned queue) {
  WorkRequest request;
  request.name = name;
  request.opcode = opcode;
  request.operand.word = 1;
  request.queue = queue;
  return request;
}

/// A buffer that the receiver polls, consumes and reuses.
void add_consumer(Scenario& scenario) {
  scenario.counts_effects = true;
  scenario.own_cells = 1;
  scenario.receiver = {{ReceiverStep::Kind::AwaitWord, 0, 1, kData},
                       {ReceiverStep::Kind::Consume, 0, 1, kData},
                       {ReceiverStep::Kind::Reuse, 0, 1, kReused}};
}

/// After each of `rounds` timeouts: decide; at the end the application is told that it is done.
void add_rounds(Scenario& scenario, Opcode opcode, const char* name, unsigned rounds) {
  std::vector<Instruction> part;
  const unsigned done = 3 * rounds + 2;
  for (unsigned round = 0; round <= rounds; ++round) {
    const unsigned at = 3 * round;
    scenario.work_requests.push_back(request(name, opcode, round));
    if (round > 0) scenario.work_requests.back().name += " again";
    part.push_back(post(round, at + 1));
    // The last attempt has no timeout left (Limits::timeouts).
    part.push_back(await(round, done, round < rounds ? at + 2 : done));
    if (round < rounds) part.push_back(decide(round, at + 3, done));
  }
  part.push_back(report(0, Claim::Done, done + 1));
  append(scenario.program, std::move(part));
  scenario.limits.timeouts = rounds;
}

void write_reuse(Scenario& scenario, unsigned rounds) {
  add_consumer(scenario);
  add_rounds(scenario, Opcode::Write, "WRITE", rounds);
  for (WorkRequest& write : scenario.work_requests) write.address = {Address::Space::Own, 0};
}

void fadd_quiet(Scenario& scenario, unsigned rounds) {
  add_rounds(scenario, Opcode::FetchAdd, "FADD", rounds);
}

void cas_aba(Scenario& scenario, unsigned rounds) {
  scenario.counts_effects = true;
  add_rounds(scenario, Opcode::CompareSwap, "CAS", rounds);
  surround_word(scenario, Environment::Aba, 1);
}

/// Two FADDs on one QP. Views: both unknown (decisions 0 and 1); A completed, B unknown (2).
void pipelined(Scenario& scenario) {
  const char* names[] = {"FADD A", "FADD B", "FADD A again", "FADD B again"};
  const unsigned queues[] = {0, 0, 1, 2};
  for (unsigned number = 0; number < 4; ++number) {
    scenario.work_requests.push_back(request(names[number], Opcode::FetchAdd, queues[number]));
    scenario.work_requests.back().operation = number % 2;
  }
  scenario.operations = 2;
  append(scenario.program,
         {post(0, 1), post(1, 2), await(0, 3, 4), await(1, 11, 7), decide(0, 5, 8), post(2, 6),
          await(2, 8, 8), decide(2, 9, 11), decide(1, 9, 11), post(3, 10), await(3, 11, 11),
          report(0, Claim::Done, 12), report(1, Claim::Done, 13)});
}

/// After the timeout another operation looks at the word; the table is over what it returned.
void cas_probe(Scenario& scenario, Opcode opcode, Word operand) {
  scenario.counts_effects = true;
  scenario.work_requests = {request("CAS", Opcode::CompareSwap, 0), request("probe", opcode, 1),
                            request("CAS again", Opcode::CompareSwap, 2)};
  scenario.work_requests[1].operand.word = operand;
  scenario.work_requests[1].compare.word = operand;
  scenario.work_requests[1].is_counted = false;
  append(scenario.program, {post(0, 1), await(0, 7, 2), post(1, 3), await(1, 4, 4), decide(0, 5, 7),
                            post(2, 6), await(2, 7, 7), report(0, Claim::Done, 8)});
  scenario.program[3].keeps = true;
  scenario.program[4].decides_by_register = true;
  surround_word(scenario, Environment::Aba, 1);
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"write-reuse", "sent, timed out"}, [](Scenario& s) { write_reuse(s, 1); }},
      {{"write-reuse-3", "one, two and three timeouts"}, [](Scenario& s) { write_reuse(s, 3); }},
      {{"fadd-quiet", "sent, timed out"}, [](Scenario& s) { fadd_quiet(s, 1); }},
      {{"fadd-quiet-3", "one, two and three timeouts"}, [](Scenario& s) { fadd_quiet(s, 3); }},
      {{"cas-aba", "sent, timed out"}, [](Scenario& s) { cas_aba(s, 1); }},
      {{"cas-aba-3", "one, two and three timeouts"}, [](Scenario& s) { cas_aba(s, 3); }},
      {{"fadd-pipelined", "two on one QP: both unknown; the first completed, the second unknown"},
       pipelined},
      {{"cas-aba-read", "sent, timed out, and what a READ then returned"},
       [](Scenario& s) { cas_probe(s, Opcode::Read, 0); }},
      {{"cas-aba-cas", "sent, timed out, and what a CAS (1 to 1) then returned"},
       [](Scenario& s) { cas_probe(s, Opcode::CompareSwap, 1); }},
      {{"cas-aba-fadd", "sent, timed out, and what a FADD of 0 then returned"},
       [](Scenario& s) { cas_probe(s, Opcode::FetchAdd, 0); }},
  };
  return all;
}

/// Decisions of the program: those named, and one a word where the register decides.
unsigned decisions_of(const Machine& machine) {
  unsigned decisions = 0;
  for (const Instruction& instruction : machine.scenario.program) {
    if (instruction.act != Act::Decide) continue;
    const unsigned wide = instruction.decides_by_register ? machine.word_count() : 1;
    decisions = std::max(decisions, instruction.decision + wide);
  }
  return decisions;
}

}  // namespace

const std::vector<PolicyModel>& policy_models() {
  static const std::vector<PolicyModel> all = [] {
    std::vector<PolicyModel> models;
    for (const Entry& entry : entries()) models.push_back(entry.model);
    return models;
  }();
  return all;
}

bool PolicyRun::all_refuted() const noexcept {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const PolicyVerdict& verdict) {
    return verdict.violation != Violation::None;
  });
}

Result<PolicyRun> refute_all_policies(std::string_view name) {
  const auto& all = entries();
  const auto entry =
      std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.model.name == name; });
  if (entry == all.end()) {
    std::string names;
    for (const Entry& known : all)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", known.model.name);
    return fail(Errc::InvalidArgument,
                fmt::format("policy model '{}' is unknown, accepted are {}", name, names));
  }
  Scenario scenario;
  scenario.name = std::string(name);
  entry->build(scenario);
  scenario.program.emplace_back();
  PolicyRun run;
  PORTCULLIS_TRY_ASSIGN(run.machine, compile(scenario));
  run.decisions = decisions_of(run.machine);
  for (std::uint64_t policy = 0; policy < std::uint64_t{1} << run.decisions; ++policy) {
    Machine machine = run.machine;
    machine.scenario.policy = policy;
    PORTCULLIS_TRY_ASSIGN(const Exploration explored, explore(machine, {}));
    PolicyVerdict verdict{policy, explored.violation, explored.states, {}};
    if (auto trace = shortest_violation(machine, false, ~std::uint64_t{0})) {
      verdict.violation = trace->violation;
      verdict.trace = std::move(*trace);
    }
    run.verdicts.push_back(std::move(verdict));
  }
  return run;
}

}  // namespace portcullis::failover
