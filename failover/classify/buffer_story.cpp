// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/buffer_story.hpp"

#include <fmt/format.h>

#include "failover/protocols/program.hpp"

namespace portcullis::failover {
namespace {

constexpr std::uint64_t kOnePacket = 256;  // IBV_MTU_256, the smallest: longer may be several

WorkRequest attempt(const OutstandingRequest& request) {
  WorkRequest posted;
  posted.opcode = *request.opcode;
  posted.name = fmt::format("{}[{}]", name_of(posted.opcode), request.index);
  posted.operand.word = posted.opcode == Opcode::CompareSwap ? request.swap : request.compare_add;
  if (carries_data(posted.opcode)) posted.operand.word = 1;
  posted.compare.word = request.compare_add;
  const bool is_long =
      carries_data(posted.opcode) && request.length.value_or(kOnePacket + 1) > kOnePacket;
  posted.packets = is_long ? 2 : 1;
  posted.buffer = 0;
  return posted;
}

Scenario scenario_of(const OutstandingRequest& request, const BufferPromise& promise) {
  using namespace program;
  Scenario scenario;
  scenario.name = "buffer";
  scenario.fence_kind = FenceKind::Mkey;  // which a SEND passes
  if (promise.is_queue_fenced) scenario.closed_queues.push_back(0);
  scenario.work_requests.push_back(attempt(request));
  scenario.shared_cells = scenario.work_requests[0].packets;
  constexpr unsigned kMostLate = 7;
  scenario.limits = {kMostLate, 1, 1};
  auto& steps = scenario.program;
  const auto next = [&] { return static_cast<unsigned>(steps.size()) + 1; };
  steps.push_back(post(0, next()));
  if (promise.is_polled) {
    Instruction fails = await(0, next(), next());
    fails.may_complete = false;
    steps.push_back(fails);
  }
  if (promise.is_fenced || promise.is_queue_fenced) {
    steps.push_back(fence(0, next()));
    steps.push_back(await_fence(0, next()));
  }
  const Evidence& evidence = request.evidence;
  if (evidence.least == Part::All || evidence.most == Part::Nothing) {
    Instruction ask = query_psn(0, next(), next());
    ask.packets = evidence.least == Part::All ? 0 : 1;
    ask.known = evidence.least == Part::All;
    steps.push_back(ask);
  }
  steps.push_back(take(0, next()));
  steps.emplace_back();
  return scenario;
}

}  // namespace

BufferPromise promise_of(const OutstandingRequest& request) {
  return {request.outcome == Outcome::Completed || !request.status_name.empty(),
          request.contract.is_fenced,
          request.contract.are_queues_fenced || request.evidence.is_queue_fenced};
}

Result<Told> tell_buffer(const OutstandingRequest& request, const BufferPromise& promise,
                         const std::atomic<bool>* stop) {
  Told told;
  PORTCULLIS_TRY_ASSIGN(Machine machine, compile(scenario_of(request, promise)));
  ExploreOptions options;
  options.stop = stop;
  PORTCULLIS_TRY_ASSIGN(const Exploration explored, explore(machine, options));
  told.states = explored.states;
  told.violation = explored.violation;
  if (explored.ending == Ending::Complete) return told;
  const bool is_violated = explored.ending == Ending::Violated;
  told.verdict = is_violated ? Told::Verdict::Unsafe : Told::Verdict::Undecided;
  if (is_violated) told.machine = std::move(machine);
  return told;
}

bool needs_buffer(const OutstandingRequest& request, const BufferPromise& promise) {
  if (promise.is_polled) return false;
  // A dead key does not stop a SEND.
  const bool is_refused =
      promise.is_queue_fenced || (promise.is_fenced && carries_rkey(*request.opcode));
  if (returns_word(*request.opcode))
    return !is_refused || request.evidence.most != Part::Nothing;  // an answer may be on its way
  return !is_refused && request.evidence.least != Part::All;
}

}  // namespace portcullis::failover
