// SPDX-License-Identifier: BSD-3-Clause
//
// Data by WRITE, then a notification by SEND that the receiver CPU waits for. Nobody reads the data
// before the notification; what matters after a timeout is whether an old packet can still arrive.
#include "failover/protocols/families.hpp"
#include "failover/protocols/program.hpp"

namespace portcullis::failover {
namespace {

using namespace program;

enum class Fencing : std::uint8_t { None, Ordered, Awaited };

WorkRequest data(unsigned operation, unsigned cell, unsigned queue, const char* name) {
  WorkRequest write;
  write.name = name;
  write.operation = operation;
  write.address = {Address::Space::Own, cell};
  write.operand.word = kData;
  write.queue = queue;
  write.packets = 2;
  return write;
}

WorkRequest notification(unsigned operation, unsigned queue) {
  WorkRequest send;
  send.name = "SEND";
  send.operation = operation;
  send.opcode = Opcode::Send;
  send.queue = queue;
  return send;
}

/// Transfer k: WRITE and SEND on QP 2k; after a timeout of the WRITE both on QP 2k+1. A SEND that
/// times out is an error to the application, which is told nothing about either.
void transfers(Scenario& scenario, const Parameters& parameters, Fencing fencing) {
  const unsigned count = scenario.operations;
  scenario.own_cells = 2 * count;
  scenario.counts_effects = true;
  for (unsigned k = 0; k < count; ++k) {
    const unsigned first = 4 * k;
    scenario.work_requests.push_back(data(2 * k, 2 * k, 2 * k, "WRITE"));
    scenario.work_requests.push_back(notification(2 * k + 1, 2 * k));
    scenario.work_requests.push_back(data(2 * k, 2 * k, 2 * k + 1, "WRITE again"));
    scenario.work_requests.push_back(notification(2 * k + 1, 2 * k + 1));
    const unsigned on_timeout = fencing == Fencing::None ? 6 : 4;
    append(scenario.program,
           {post(first, 1), await(first, 2, on_timeout), post(first + 1, 3),
            await(first + 1, 10, 12), fence(2 * k, fencing == Fencing::Awaited ? 5 : 6),
            await_fence(2 * k, 6), post(first + 2, 7), await(first + 2, 8, 12), post(first + 3, 9),
            await(first + 3, 10, 12), report(2 * k, Claim::Done, 11),
            report(2 * k + 1, Claim::Done, 13), report(2 * k, Claim::Unknown, 13)});
    scenario.receiver.push_back({ReceiverStep::Kind::AwaitArrival, 0, 0, 0});
    if (parameters.environment == Environment::Quiet ||
        parameters.environment == Environment::Reuse)
      scenario.receiver.push_back({ReceiverStep::Kind::Consume, 2 * k, 2, kData});
    if (parameters.environment == Environment::Reuse)
      scenario.receiver.push_back({ReceiverStep::Kind::Reuse, 2 * k, 2, kReused});
    surround_buffer(scenario, parameters.environment, 2 * k + 1);
  }
  scenario.operations = 2 * count;
}

}  // namespace

void blind_write_notified(Scenario& s, const Parameters& p) { transfers(s, p, Fencing::None); }
void lease_early(Scenario& s, const Parameters& p) { transfers(s, p, Fencing::Ordered); }
void lease(Scenario& s, const Parameters& p) { transfers(s, p, Fencing::Awaited); }

}  // namespace portcullis::failover
