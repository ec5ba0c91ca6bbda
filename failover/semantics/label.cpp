// SPDX-License-Identifier: BSD-3-Clause
#include "failover/semantics/label.hpp"

#include <fmt/format.h>

namespace portcullis::failover {

const char* name_of(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::Write:
      return "WRITE";
    case Opcode::Read:
      return "READ";
    case Opcode::FetchAdd:
      return "FADD";
    case Opcode::CompareSwap:
      return "CAS";
    case Opcode::Send:
      return "SEND";
    case Opcode::WriteWithImm:
      return "WRITE_WITH_IMM";
  }
  return "?";
}

const char* name_of(Violation violation) noexcept {
  switch (violation) {
    case Violation::None:
      return "none";
    case Violation::AtMostOnce:
      return "at-most-once";
    case Violation::ExactlyOnce:
      return "exactly-once";
    case Violation::Result:
      return "result";
    case Violation::GhostWrite:
      return "ghost-write";
    case Violation::TornRead:
      return "torn-read";
    case Violation::DuplicateNotification:
      return "duplicate-notification";
    case Violation::Linearizability:
      return "linearizability";
    case Violation::PlacementOrder:
      return "placement-order";
    case Violation::NoProgress:
      return "no-progress";
    case Violation::Assertion:
      return "assertion";
    case Violation::ChangedSource:
      return "changed-source";
    case Violation::LateAnswer:
      return "late-answer";
  }
  return "?";
}

std::string word_text(const Machine& machine, WordIndex index) {
  if (index >= machine.words.size()) return "?";
  const Word word = machine.words[index];
  if (machine.owner[index] != kNobody)
    return fmt::format("c{}#{}", machine.owner[index], word & 0xffffffffU);
  if (word > ~Word{0} - 1000) return fmt::format("-{}", ~word + 1);
  return fmt::format("{}", word);
}

namespace {

std::string client_text(const Machine& machine, const Label& label) {
  const auto& requests = machine.scenario.work_requests;
  const std::string value = word_text(machine, label.value);
  const char* answer = label.yes ? "yes" : "no";
  const auto name = [&] { return requests[label.number].name; };
  switch (label.action) {
    case Action::Post:
      return fmt::format("post {}", name());
    case Action::Complete:
      if (returns_word(requests[label.number].opcode) &&
          machine.clients[label.client].requests[label.number].has_result)
        return fmt::format("{} completed with {}", name(), value);
      return fmt::format("{} completed", name());
    case Action::TimeOut:
      return fmt::format("{} timed out, its QP is in error", name());
    case Action::Flush:
      return fmt::format("{} is flushed, its QP is in error", name());
    case Action::Probe:
      return fmt::format("READ returns {}", value);
    case Action::QueryPsn:
      return fmt::format("responder's ePSN is {} {}", label.yes ? "past" : "not past", name());
    case Action::Assert:
      return fmt::format("asserts that a cell with {} is as the program says: {}", value, answer);
    case Action::Test:
      return fmt::format("test of {}: {}", value, answer);
    case Action::Decide:
      return fmt::format("decision {}: {}", label.number, label.yes ? "repost" : "do not repost");
    case Action::OrderFence:
      return fmt::format("order a fence of QP {}", label.number);
    case Action::SeeFence:
      return fmt::format("fence of QP {} is confirmed", label.number);
    case Action::Report:
      return fmt::format("report operation {} {}", label.number,
                         label.yes                                               ? "done"
                         : label.packet == static_cast<unsigned>(Claim::NotDone) ? "not done"
                                                                                 : "unknown");
    case Action::Take:
      return "uses the buffer for something else";
    default:
      return "";
  }
}

std::string receiver_text(const Machine& machine, const Label& label) {
  const ReceiverStep& step = machine.scenario.receiver[label.number];
  const std::string value = word_text(machine, label.value);
  switch (step.kind) {
    case ReceiverStep::Kind::AwaitArrival:
      return "receive completion seen";
    case ReceiverStep::Kind::AwaitWord:
      return fmt::format("sees {} in its buffer", value);
    case ReceiverStep::Kind::Consume:
      return "consumes the data";
    case ReceiverStep::Kind::Set:
      return fmt::format("writes {} to cell {}", value, step.cell);
    case ReceiverStep::Kind::Reuse:
      return fmt::format("reuses the buffer for {}", value);
  }
  return "";
}

}  // namespace

std::string describe(const Machine& machine, const Label& label) {
  const auto& requests = machine.scenario.work_requests;
  const auto name = [&] {
    const WorkRequest& request = requests[label.number];
    return request.packets == 1 ? request.name
                                : fmt::format("{} packet {}", request.name, label.packet);
  };
  switch (label.action) {
    case Action::Execute:
      if (requests[label.number].opcode == Opcode::Send)
        return fmt::format("responder {}: {} executes, a receive completes", label.client, name());
      return fmt::format("responder {}: {} executes, memory is {}", label.client, name(),
                         word_text(machine, label.value));
    case Action::ExecuteChanged:
      return fmt::format("responder {}: {} executes, with what the buffer holds now", label.client,
                         name());
    case Action::Resend:
      return fmt::format("NIC of client {}: sends {} again, as the buffer is now", label.client,
                         name());
    case Action::Land:
      return fmt::format("NIC of client {}: writes the answer of {} into the buffer", label.client,
                         name());
    case Action::AcknowledgeAgain:
      return fmt::format("responder {}: duplicate of {} is acknowledged again", label.client,
                         name());
    case Action::Die:
      return fmt::format("responder {}: the NIC acknowledges {} and dies before it is in memory",
                         label.client, requests[label.number].name);
    case Action::FenceTakesEffect:
      return fmt::format("responder {}: fence of QP {} takes effect", label.client, label.number);
    case Action::LosePacket:
      return fmt::format("network: {} of client {} is lost", name(), label.client);
    case Action::LoseAck:
      return fmt::format("network: acknowledgement of {} to client {} is lost", name(),
                         label.client);
    case Action::Duplicate:
      return fmt::format("network: {} of client {} is sent twice", name(), label.client);
    case Action::Receive:
      return fmt::format("receiver {}: {}", label.client, receiver_text(machine, label));
    case Action::Write:
      return fmt::format("environment: {}, memory is {}",
                         machine.scenario.environment[label.number].name,
                         word_text(machine, label.value));
    default:
      return fmt::format("client {}: {}", label.client, client_text(machine, label));
  }
}

}  // namespace portcullis::failover
