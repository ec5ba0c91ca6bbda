// SPDX-License-Identifier: BSD-3-Clause
//
// CAS on one word to a value that nobody ever writes again: (client, sequence). After a timeout the
// owner reads the word; somebody may have overwritten the tag meanwhile, and then only help tells:
// whoever overwrites a tag first notes its sequence in a slot of its owner.
#include "failover/protocols/families.hpp"
#include "failover/protocols/program.hpp"

namespace portcullis::failover {
namespace {

using namespace program;

enum class Help : std::uint8_t { None, Write, Cas };

constexpr unsigned kSlot = 0;  // own cell

/// Each help is tried on two QPs; help by CAS takes one request for each sequence it may follow.
void add_helps(Scenario& scenario, unsigned k, Help help, unsigned& queue) {
  const unsigned kinds = help == Help::Cas ? scenario.operations : help == Help::Write ? 1 : 0;
  for (unsigned before = 0; before < kinds; ++before)
    for (unsigned attempt = 0; attempt < 2; ++attempt) {
      WorkRequest request;
      request.name = attempt == 0 ? "help" : "help again";
      request.operation = k;
      request.opcode = help == Help::Cas ? Opcode::CompareSwap : Opcode::Write;
      request.address = {Address::Space::OwnerSlot, kSlot};
      request.operand.source = Operand::Source::Sequence;
      request.compare.word = before;
      request.queue = queue++;
      request.is_counted = false;
      scenario.work_requests.push_back(request);
    }
}

void add_swaps(Scenario& scenario, unsigned k, unsigned& queue) {
  for (const char* name : {"CAS", "CAS again"}) {
    WorkRequest request;
    request.name = name;
    request.operation = k;
    request.opcode = Opcode::CompareSwap;
    request.operand = {Operand::Source::OwnTag, k + Word{1}};
    request.compare.source = Operand::Source::Register;
    request.queue = queue++;
    scenario.work_requests.push_back(request);
  }
}

/// Reads the word, helps the owner of what it found; ends at instruction `end` of the part, and at
/// `give_up` when even the help timed out twice.
std::vector<Instruction> helping(unsigned first, unsigned helps, unsigned give_up) {
  const unsigned end = 2 + 4 * helps;
  std::vector<Instruction> part = {
      probe({Address::Space::Shared, 0}, {Condition::Kind::OwnerIsNobody}, end, 1),
      test({Condition::Kind::OwnerIsMe}, end, 2)};
  part[0].keeps = true;
  for (unsigned help = 0; help < helps; ++help) {
    const unsigned at = 2 + 4 * help;
    const unsigned request = first + 2 * help;
    part.push_back(post(request, at + 1));
    part.push_back(await(request, at + 4, at + 2));
    part.push_back(post(request + 1, at + 3));
    part.push_back(await(request + 1, at + 4, give_up));
  }
  return part;
}

void operation(Scenario& scenario, unsigned k, Help help, unsigned& queue) {
  const auto first = static_cast<unsigned>(scenario.work_requests.size());
  add_helps(scenario, k, help, queue);
  const auto swap = static_cast<unsigned>(scenario.work_requests.size());
  add_swaps(scenario, k, queue);
  const unsigned helps = (swap - first) / 2;
  const unsigned base = 2 + 4 * helps;
  const unsigned done = base + 8;
  const unsigned unknown = base + 9;
  const unsigned not_done = base + 10;
  const unsigned end = base + 11;
  const Condition is_mine{Condition::Kind::OwnTag, k + Word{1}};
  const Condition as_read{Condition::Kind::EqualsRegister};
  const Address word{Address::Space::Shared, 0};
  const bool looks = help != Help::None;
  // Without help there are no slots, and the two instructions that would read one are not reached.
  const Address slot = looks ? Address{Address::Space::Own, kSlot} : word;
  std::vector<Instruction> part = helping(first, helps, unknown);
  part.push_back(post(swap, base + 1));
  part.push_back(await_if(swap, as_read, done, not_done, base + 2));
  part.push_back(probe(word, is_mine, done, looks ? base + 3 : base + 4));
  part.push_back(probe(slot, equals(k + Word{1}), done, base + 4));
  part.push_back(post(swap + 1, base + 5));
  part.push_back(await_if(swap + 1, as_read, done, base + 6, unknown));
  part.push_back(probe(word, is_mine, done, looks ? base + 7 : not_done));
  part.push_back(probe(slot, equals(k + Word{1}), done, not_done));
  part.push_back(report(k, Claim::Done, end));
  part.push_back(report(k, Claim::Unknown, end));
  part.push_back(report(k, Claim::NotDone, end));
  append(scenario.program, std::move(part));
}

void tagged(Scenario& scenario, const Parameters& parameters, Help help) {
  scenario.own_cells = help == Help::None ? 0 : 1;
  scenario.counts_effects = true;
  const unsigned count = scenario.operations;
  unsigned queue = 0;
  for (unsigned k = 0; k < count; ++k) operation(scenario, k, help, queue);
  surround_word(scenario, parameters.environment, std::nullopt);
}

}  // namespace

void tagged_cas(Scenario& s, const Parameters& p) { tagged(s, p, Help::None); }
void tagged_help_write(Scenario& s, const Parameters& p) { tagged(s, p, Help::Write); }
void tagged_help_cas(Scenario& s, const Parameters& p) { tagged(s, p, Help::Cas); }

}  // namespace portcullis::failover
