// SPDX-License-Identifier: BSD-3-Clause
#include "failover/protocols/program.hpp"

namespace portcullis::failover::program {
namespace {

Instruction step(Act act, unsigned next, unsigned otherwise) {
  Instruction instruction;
  instruction.act = act;
  instruction.next = next;
  instruction.otherwise = otherwise;
  return instruction;
}

}  // namespace

Instruction post(unsigned request, unsigned next) {
  Instruction instruction = step(Act::Post, next, next);
  instruction.work_request = request;
  return instruction;
}

Instruction await(unsigned request, unsigned next, unsigned on_timeout) {
  Instruction instruction = step(Act::Await, next, next);
  instruction.work_request = request;
  instruction.on_timeout = on_timeout;
  return instruction;
}

Instruction await_if(unsigned request, Condition condition, unsigned yes, unsigned no,
                     unsigned on_timeout) {
  Instruction instruction = step(Act::Await, yes, no);
  instruction.work_request = request;
  instruction.condition = condition;
  instruction.on_timeout = on_timeout;
  return instruction;
}

Instruction probe(Address address, Condition condition, unsigned yes, unsigned no) {
  Instruction instruction = step(Act::Probe, yes, no);
  instruction.address = address;
  instruction.condition = condition;
  return instruction;
}

Instruction query_psn(unsigned request, unsigned yes, unsigned no) {
  Instruction instruction = step(Act::QueryPsn, yes, no);
  instruction.work_request = request;
  return instruction;
}

Instruction test(Condition condition, unsigned yes, unsigned no) {
  Instruction instruction = step(Act::Test, yes, no);
  instruction.condition = condition;
  return instruction;
}

Instruction decide(unsigned decision, unsigned yes, unsigned no) {
  Instruction instruction = step(Act::Decide, yes, no);
  instruction.decision = decision;
  return instruction;
}

Instruction fence(unsigned queue, unsigned next) {
  Instruction instruction = step(Act::Fence, next, next);
  instruction.queue = queue;
  return instruction;
}

Instruction await_fence(unsigned queue, unsigned next) {
  Instruction instruction = step(Act::AwaitFence, next, next);
  instruction.queue = queue;
  return instruction;
}

Instruction take(unsigned buffer, unsigned next) {
  Instruction instruction = step(Act::Take, next, next);
  instruction.buffer = buffer;
  return instruction;
}

Instruction report(unsigned operation, Claim claim, unsigned next) {
  Instruction instruction = step(Act::Report, next, next);
  instruction.operation = operation;
  instruction.claim = claim;
  return instruction;
}

void append(std::vector<Instruction>& whole, std::vector<Instruction> part) {
  const auto base = static_cast<unsigned>(whole.size());
  for (Instruction& instruction : part) {
    instruction.next += base;
    instruction.otherwise += base;
    // Only Await has one; elsewhere it stays a valid target.
    instruction.on_timeout += base;
    whole.push_back(instruction);
  }
}

}  // namespace portcullis::failover::program
