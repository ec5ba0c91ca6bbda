// SPDX-License-Identifier: BSD-3-Clause
//
// Protocols that look for evidence before they repost: a record that the receiver CPU sets, the
// responder's ePSN, a log written with the update, a receipt written beside it.
#include "failover/protocols/families.hpp"
#include "failover/protocols/program.hpp"

namespace portcullis::failover {
namespace {

using namespace program;

struct Evidence {
  bool fences = false;     // before it looks
  bool is_prompt = false;  // the receiver CPU is never behind
};

Address own(unsigned cell) { return {Address::Space::Own, cell}; }

/// 0 post 1 await 2 fence 3 await fence 4 `look`: yes 7, no 5; 5 repost 6 await; 7 done 8 unknown
std::vector<Instruction> look_then_repost(unsigned k, unsigned request, unsigned repost,
                                          unsigned queue, const Evidence& how, Instruction look) {
  look.next = 7;
  look.otherwise = 5;
  look.after_receiver = how.is_prompt;
  return {post(request, 1),
          await(request, 7, how.fences ? 2 : 4),
          fence(queue, 3),
          await_fence(queue, 4),
          look,
          post(repost, 6),
          await(repost, 7, 8),
          report(k, Claim::Done, 9),
          report(k, Claim::Unknown, 9)};
}

void record(Scenario& scenario, const Parameters& parameters, const Evidence& how) {
  scenario.own_cells = 2 * scenario.operations;  // data, record
  for (unsigned k = 0; k < scenario.operations; ++k) {
    for (const char* name : {"WRITE_WITH_IMM", "WRITE_WITH_IMM again"}) {
      WorkRequest write;
      write.name = name;
      write.operation = k;
      write.opcode = Opcode::WriteWithImm;
      write.address = own(2 * k);
      write.operand.word = kData;
      write.queue = static_cast<unsigned>(scenario.work_requests.size());
      scenario.work_requests.push_back(write);
    }
    append(scenario.program, look_then_repost(k, 2 * k, 2 * k + 1, 2 * k, how,
                                              probe(own(2 * k + 1), equals(1), 0, 0)));
    scenario.receiver.push_back({ReceiverStep::Kind::AwaitArrival, 0, 0, 0});
    scenario.receiver.push_back({ReceiverStep::Kind::Set, 2 * k + 1, 1, 1});
    if (parameters.environment == Environment::Reuse)
      scenario.receiver.push_back({ReceiverStep::Kind::Reuse, 2 * k, 1, kReused});
    surround_buffer(scenario, parameters.environment, 2 * k);
  }
}

enum class Proof : std::uint8_t { Psn, Log, Dedup };

void counted_add(Scenario& scenario, const Parameters& parameters, Proof proof,
                 const Evidence& how) {
  if (proof != Proof::Psn) scenario.own_cells = scenario.operations;
  for (unsigned k = 0; k < scenario.operations; ++k) {
    for (const char* name : {"FADD", "FADD again"}) {
      WorkRequest add;
      add.name = name;
      add.operation = k;
      add.opcode = Opcode::FetchAdd;
      add.operand.word = 1;
      add.queue = static_cast<unsigned>(scenario.work_requests.size());
      if (proof != Proof::Psn) add.log_cell = k;
      add.is_deduplicated = proof == Proof::Dedup;
      scenario.work_requests.push_back(add);
    }
    const Instruction look =
        proof == Proof::Psn ? query_psn(2 * k, 0, 0) : probe(own(k), equals(1), 0, 0);
    append(scenario.program, look_then_repost(k, 2 * k, 2 * k + 1, 2 * k, how, look));
  }
  surround_word(scenario, parameters.environment, 1);
}

/// CAS 0 to 1 and a receipt on one QP, either first. Fenced, so that nothing is late: what remains
/// wrong is the receipt's. A failed repost that meets its own 1 counts as success.
void receipt(Scenario& scenario, const Parameters& parameters, bool is_first) {
  scenario.own_cells = scenario.operations;
  scenario.counts_effects = true;
  for (unsigned k = 0; k < scenario.operations; ++k) {
    WorkRequest swap;
    swap.name = "CAS";
    swap.operation = k;
    swap.opcode = Opcode::CompareSwap;
    swap.operand.word = 1;
    swap.queue = 2 * k;
    WorkRequest note;
    note.name = "receipt WRITE";
    note.operation = k;
    note.is_counted = false;
    note.address = own(k);
    note.operand.word = 1;
    note.queue = 2 * k;
    const unsigned first = 3 * k;
    const unsigned atomic = is_first ? first + 1 : first;
    scenario.work_requests.push_back(is_first ? note : swap);
    scenario.work_requests.push_back(is_first ? swap : note);
    swap.name = "CAS again";
    swap.queue = 2 * k + 1;
    scenario.work_requests.push_back(swap);
    append(
        scenario.program,
        {post(first, 1), post(first + 1, 2), await_if(atomic, equals(0), 9, 11, 3), fence(2 * k, 4),
         await_fence(2 * k, 5), probe(own(k), equals(1), 9, 6), post(first + 2, 7),
         await_if(first + 2, equals(0), 9, 8, 10), test(equals(1), 9, 11),
         report(k, Claim::Done, 12), report(k, Claim::Unknown, 12), report(k, Claim::NotDone, 12)});
    scenario.program[scenario.program.size() - 12 + 7].keeps = true;
  }
  surround_word(scenario, parameters.environment, 1);
}

}  // namespace

void probe_record(Scenario& s, const Parameters& p) { record(s, p, {false, false}); }
void probe_record_prompt(Scenario& s, const Parameters& p) { record(s, p, {false, true}); }
void probe_record_fenced(Scenario& s, const Parameters& p) { record(s, p, {true, true}); }
void psn_token(Scenario& s, const Parameters& p) { counted_add(s, p, Proof::Psn, {false, false}); }
void psn_token_fenced(Scenario& s, const Parameters& p) {
  counted_add(s, p, Proof::Psn, {true, false});
}
void log_checked(Scenario& s, const Parameters& p) {
  counted_add(s, p, Proof::Log, {false, false});
}
void log_fenced(Scenario& s, const Parameters& p) { counted_add(s, p, Proof::Log, {true, false}); }
void log_dedup(Scenario& s, const Parameters& p) {
  counted_add(s, p, Proof::Dedup, {false, false});
}
void receipt_before(Scenario& s, const Parameters& p) { receipt(s, p, true); }
void receipt_after(Scenario& s, const Parameters& p) { receipt(s, p, false); }

}  // namespace portcullis::failover
