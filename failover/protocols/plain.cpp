// SPDX-License-Identifier: BSD-3-Clause
//
// Blind reposts: after a timeout the same request once more, on another QP.
#include "failover/protocols/families.hpp"
#include "failover/protocols/program.hpp"

namespace portcullis::failover {
namespace {

using namespace program;

/// Both attempts of operation k: requests 2k on QP 2k and 2k+1 on QP 2k+1.
void add_attempts(Scenario& scenario, unsigned operation, WorkRequest request) {
  request.operation = operation;
  const std::string name = request.name;
  for (unsigned attempt = 0; attempt < 2; ++attempt) {
    request.queue = 2 * operation + attempt;
    request.name = name + (attempt == 0 ? "" : " again");
    scenario.work_requests.push_back(request);
  }
}

/// post, await, on timeout post and await again; a second timeout is an error to the application.
void add_blind_program(Scenario& scenario, unsigned k) {
  append(scenario.program,
         {post(2 * k, 1), await(2 * k, 4, 2), post(2 * k + 1, 3), await(2 * k + 1, 4, 5),
          report(k, Claim::Done, 6), report(k, Claim::Unknown, 6)});
}

void blind(Scenario& scenario, const WorkRequest& request) {
  for (unsigned k = 0; k < scenario.operations; ++k) {
    add_attempts(scenario, k, request);
    add_blind_program(scenario, k);
  }
}

}  // namespace

void blind_read(Scenario& scenario, const Parameters& parameters) {
  scenario.has_history = parameters.is_monitored;
  WorkRequest read;
  read.name = "READ";
  read.opcode = Opcode::Read;
  blind(scenario, read);
  for (Instruction& instruction : scenario.program)
    instruction.keeps = instruction.act == Act::Await;
  surround_word(scenario, parameters.environment, 0);
}

void blind_write(Scenario& scenario, const Parameters& parameters) {
  scenario.own_cells = scenario.operations;
  scenario.counts_effects = true;
  for (unsigned k = 0; k < scenario.operations; ++k) {
    WorkRequest write;
    write.name = "WRITE";
    write.address = {Address::Space::Own, k};
    write.operand.word = kData;
    add_attempts(scenario, k, write);
    add_blind_program(scenario, k);
    surround_buffer(scenario, parameters.environment, k);
    if (parameters.environment != Environment::Reuse) continue;
    scenario.receiver.push_back({ReceiverStep::Kind::AwaitWord, k, 1, kData});
    scenario.receiver.push_back({ReceiverStep::Kind::Consume, k, 1, kData});
    scenario.receiver.push_back({ReceiverStep::Kind::Reuse, k, 1, kReused});
  }
}

void blind_send(Scenario& scenario, const Parameters& parameters) {
  WorkRequest send;
  send.name = "SEND";
  send.opcode = Opcode::Send;
  blind(scenario, send);
  surround_word(scenario, parameters.environment, 0);
}

void blind_fadd(Scenario& scenario, const Parameters& parameters) {
  WorkRequest add;
  add.name = "FADD";
  add.opcode = Opcode::FetchAdd;
  add.operand.word = 1;
  blind(scenario, add);
  surround_word(scenario, parameters.environment, 1);
}

void blind_cas(Scenario& scenario, const Parameters& parameters) {
  scenario.counts_effects = true;
  WorkRequest swap;
  swap.name = "CAS";
  swap.opcode = Opcode::CompareSwap;
  swap.operand.word = 1;
  for (unsigned k = 0; k < scenario.operations; ++k) {
    add_attempts(scenario, k, swap);
    append(scenario.program,
           {post(2 * k, 1), await_if(2 * k, equals(0), 4, 6, 2), post(2 * k + 1, 3),
            await_if(2 * k + 1, equals(0), 4, 6, 5), report(k, Claim::Done, 7),
            report(k, Claim::Unknown, 7), report(k, Claim::NotDone, 7)});
  }
  surround_word(scenario, parameters.environment, 1);
}

}  // namespace portcullis::failover
