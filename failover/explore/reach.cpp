// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/reach.hpp"

#include <fmt/format.h>

namespace portcullis::failover {

Reach::Reach(const Machine& machine)
    : clients_(machine.clients.size()),
      steps_(machine.scenario.program.size()),
      receiver_(machine.scenario.receiver.size()),
      others_(machine.scenario.environment.size()),
      of_client_(steps_ + receiver_),
      others_at_(clients_ * of_client_),
      seen_(others_at_ + others_, 0) {
  for (std::size_t client = 0; client < clients_; ++client)
    seen_[client * of_client_ + machine.initial.get(machine.fields[client].pc)] = 1;
}

void Reach::add(const Reach& other) {
  for (std::size_t i = 0; i < seen_.size(); ++i) seen_[i] |= other.seen_[i];
}

std::vector<Unreached> Reach::missing(bool are_alike) const {
  std::vector<Unreached> found;
  for (std::size_t place = 0; place < of_client_; ++place) {
    std::vector<unsigned> lacking;
    for (std::size_t client = 0; client < clients_; ++client)
      if (seen_[client * of_client_ + place] == 0) lacking.push_back(static_cast<unsigned>(client));
    const bool is_step = place < steps_;
    const Unreached one{is_step ? Unreached::Part::Client : Unreached::Part::Receiver,
                        static_cast<unsigned>(is_step ? place : place - steps_),
                        {}};
    if (lacking.size() == clients_) {
      found.push_back(one);
    } else if (!are_alike) {
      for (const unsigned client : lacking) found.push_back({one.part, one.step, client});
    }
  }
  for (std::size_t step = 0; step < others_; ++step)
    if (seen_[others_at_ + step] == 0)
      found.push_back({Unreached::Part::Others, static_cast<unsigned>(step), {}});
  return found;
}

namespace {

const char* name_of(Claim claim) {
  switch (claim) {
    case Claim::Done:
      return "done";
    case Claim::NotDone:
      return "not done";
    case Claim::Unknown:
      return "unknown";
  }
  return "?";
}

std::string text_of(const Scenario& scenario, const Instruction& i) {
  const auto request = [&] { return scenario.work_requests[i.work_request].name; };
  switch (i.act) {
    case Act::Post:
      return "post " + request();
    case Act::Await:
      return "await " + request();
    case Act::Probe:
      return "probe";
    case Act::Assert:
      return "assert";
    case Act::QueryPsn:
      return "query_psn " + request();
    case Act::Test:
      return "test";
    case Act::Decide:
      return fmt::format("decision {}", i.decision);
    case Act::Fence:
      return fmt::format("fence {}", i.queue);
    case Act::AwaitFence:
      return fmt::format("await_fence {}", i.queue);
    case Act::Report:
      return fmt::format("report operation {} {}", i.operation, name_of(i.claim));
    case Act::Take:
      return fmt::format("take buffer {}", i.buffer);
    case Act::End:
      return "end";
  }
  return "?";
}

std::string text_of(const ReceiverStep& step) {
  switch (step.kind) {
    case ReceiverStep::Kind::AwaitArrival:
      return "await_arrival";
    case ReceiverStep::Kind::AwaitWord:
      return fmt::format("await_word {}", step.word);
    case ReceiverStep::Kind::Consume:
      return fmt::format("consume {}", step.word);
    case ReceiverStep::Kind::Set:
      return fmt::format("set {}", step.word);
    case ReceiverStep::Kind::Reuse:
      return fmt::format("reuse {}", step.word);
  }
  return "?";
}

}  // namespace

std::string describe(const Scenario& scenario, const Unreached& unreached) {
  const std::string whose =
      unreached.client ? fmt::format(" of client {}", *unreached.client) : std::string();
  switch (unreached.part) {
    case Unreached::Part::Client:
      return fmt::format("steps[{}]{}, {}", unreached.step, whose,
                         text_of(scenario, scenario.program[unreached.step]));
    case Unreached::Part::Receiver:
      return fmt::format("receiver[{}]{}, {}", unreached.step, whose,
                         text_of(scenario.receiver[unreached.step]));
    case Unreached::Part::Others:
      return fmt::format("others[{}], {}", unreached.step,
                         scenario.environment[unreached.step].name);
  }
  return "?";
}

}  // namespace portcullis::failover
