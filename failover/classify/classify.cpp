// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/classify.hpp"

#include "failover/protocols/families.hpp"
#include "failover/protocols/program.hpp"

namespace portcullis::failover {
namespace {

using namespace program;

constexpr std::uint64_t kPathMtuBytes = 4096;  // the largest of enum ibv_mtu; longer is two packets

bool notifies(Opcode opcode) { return opcode == Opcode::Send || opcode == Opcode::WriteWithImm; }

WorkRequest attempt(const OutstandingRequest& request, unsigned queue) {
  WorkRequest posted;
  posted.name = name_of(request.opcode) + std::string(queue == 0 ? "" : " again");
  posted.opcode = request.opcode;
  posted.queue = queue;
  switch (request.opcode) {
    case Opcode::FetchAdd:
      posted.operand.word = request.compare_add;
      break;
    case Opcode::CompareSwap:
      posted.operand.word = request.swap;
      posted.compare.word = request.compare_add;
      break;
    default:
      posted.operand.word = kData;
      break;
  }
  if (request.opcode == Opcode::Write || request.opcode == Opcode::WriteWithImm)
    posted.address = {Address::Space::Own, 0};
  if (request.opcode == Opcode::Write && request.length > kPathMtuBytes) posted.packets = 2;
  return posted;
}

/// post, await; on timeout the fence, if there is one, and the second attempt. An atomic whose
/// second answer is not that of a first execution leaves its result unknown.
void add_program(Scenario& scenario, const OutstandingRequest& request) {
  const bool is_swap = request.opcode == Opcode::CompareSwap;
  const unsigned after_timeout = request.contract.is_fenced ? 2 : 4;
  append(scenario.program,
         {post(0, 1), await(0, 6, after_timeout), fence(0, 3), await_fence(0, 4), post(1, 5),
          await_if(1, is_swap ? equals(request.compare_add) : always(), 6, 7, 7),
          report(0, Claim::Done, 7)});
  for (Instruction& instruction : scenario.program)
    instruction.keeps = instruction.act == Act::Await;
  scenario.program.emplace_back();
}

/// The same for a WRITE whose receiver learns of either attempt by a SEND on the same QP.
void add_notified_program(Scenario& scenario, const OutstandingRequest& request) {
  const unsigned after_timeout = request.contract.is_fenced ? 2 : 4;
  append(scenario.program,
         {post(0, 1), await(0, 6, after_timeout), fence(0, 3), await_fence(0, 4), post(1, 5),
          await(1, 9, 12), report(0, Claim::Done, 7), post(2, 8), await(2, 12, 12),
          report(0, Claim::Done, 10), post(3, 11), await(3, 12, 12)});
  scenario.program.emplace_back();
}

void add_notifications(Scenario& scenario) {
  for (unsigned queue = 0; queue < 2; ++queue) {
    WorkRequest send;
    send.name = "SEND";
    send.opcode = Opcode::Send;
    send.queue = queue;
    send.is_counted = false;
    scenario.work_requests.push_back(send);
  }
}

void surround_write(Scenario& scenario, const Contract& contract, unsigned cells) {
  scenario.own_cells = cells;
  if (contract.environment == Environment::Quiet) return;
  if (contract.environment == Environment::Reuse) {
    const ReceiverStep::Kind first = contract.consumer == Consumer::Polls
                                         ? ReceiverStep::Kind::AwaitWord
                                         : ReceiverStep::Kind::AwaitArrival;
    scenario.receiver = {{first, cells - 1, 1, kData},
                         {ReceiverStep::Kind::Consume, 0, cells, kData},
                         {ReceiverStep::Kind::Reuse, 0, cells, kReused}};
    return;
  }
  // Whoever replaces the data has seen it.
  scenario.environment_budget = 1;
  scenario.environment.push_back({"another writer",
                                  {Address::Space::Own, cells - 1},
                                  kData,
                                  contract.environment == Environment::Aba ? Word{0} : kForeign});
}

/// Others replace what the atomic left; with unique tags never by what it expects.
void surround_atomic(Scenario& scenario, const OutstandingRequest& request) {
  const Contract& contract = request.contract;
  if (contract.environment == Environment::Quiet) return;
  const bool is_swap = request.opcode == Opcode::CompareSwap;
  const Word initial = scenario.initial_shared;
  const Word effect =
      execute({request.opcode, is_swap ? request.swap : request.compare_add, request.compare_add},
              initial)
          .memory;
  if (effect == initial) return;
  Word foreign = kForeign;
  while (foreign == initial || foreign == effect) ++foreign;
  scenario.environment_budget = 1;
  const bool comes_back = !contract.has_unique_tags;
  scenario.environment.push_back({comes_back ? "the old value comes back" : "another writer",
                                  {Address::Space::Shared, 0},
                                  effect,
                                  comes_back ? initial : foreign});
}

Scenario scenario_of(const OutstandingRequest& request) {
  Scenario scenario;
  scenario.name = "classify";
  scenario.has_history = true;
  scenario.work_requests = {attempt(request, 0), attempt(request, 1)};
  const unsigned packets = scenario.work_requests[0].packets;
  const bool is_write = request.opcode == Opcode::Write || request.opcode == Opcode::WriteWithImm;
  const bool is_notified = request.opcode == Opcode::Write &&
                           request.contract.environment == Environment::Reuse &&
                           request.contract.consumer == Consumer::Notified;
  if (is_write) {
    surround_write(scenario, request.contract, packets);
    if (is_notified) add_notifications(scenario);
  } else {
    if (request.opcode == Opcode::CompareSwap) scenario.initial_shared = request.compare_add;
    surround_atomic(scenario, request);
  }
  scenario.limits.late = packets;
  is_notified ? add_notified_program(scenario, request) : add_program(scenario, request);
  return scenario;
}

struct Try {
  Machine machine;
  Exploration explored;
};

Result<Try> run(const OutstandingRequest& request) {
  PORTCULLIS_TRY_ASSIGN(Machine machine, compile(scenario_of(request)));
  PORTCULLIS_TRY_ASSIGN(const Exploration explored, explore(machine, {}));
  return Try{std::move(machine), explored};
}

/// The request under the contract with one more thing promised; nothing when it was already.
std::optional<OutstandingRequest> with(const OutstandingRequest& request, Proviso proviso) {
  OutstandingRequest changed = request;
  Contract& contract = changed.contract;
  switch (proviso) {
    case Proviso::FenceDone:
      if (std::exchange(contract.is_fenced, true)) return std::nullopt;
      break;
    case Proviso::TargetQuiet:
      if (std::exchange(contract.environment, Environment::Quiet) == Environment::Quiet)
        return std::nullopt;
      break;
    case Proviso::TagUnique:
      if (request.opcode != Opcode::CompareSwap || std::exchange(contract.has_unique_tags, true))
        return std::nullopt;
      break;
  }
  return changed;
}

struct Words {
  std::string reason, lemma;
};

Words repost_words(const OutstandingRequest& request) {
  const bool is_quiet = request.contract.environment == Environment::Quiet;
  switch (request.opcode) {
    case Opcode::Read:
      return {"a READ has no effect", "read_solvable"};
    case Opcode::FetchAdd:
      return {"an addend of 0 modulo 2^64 has no effect", "fadd_solvable_iff"};
    case Opcode::CompareSwap:
      if (request.compare_add == request.swap)
        return {"compare and swap are the same word: no effect", "cas_solvable_iff"};
      if (is_quiet)
        return {
            "the repeated CAS is absorbed in memory; its result is unknown unless it returns "
            "the compare word",
            "cas_quiet, cas_quiet_result_wrong"};
      return {
          "the expected word never comes back, so the repeated CAS is absorbed, however late; "
          "its result is unknown unless it returns the compare word",
          "T4b"};
    default:
      break;
  }
  if (is_quiet) return {"nobody else touches the target: the WRITE is absorbed", "write_quiet"};
  return {"no old packet can arrive any more, and nobody reads before the notification",
          "fence_makes_write_repostable"};
}

Words never_words(const OutstandingRequest& request) {
  if (notifies(request.opcode))
    return {
        "a repeated message consumes a second receive; the receiver must drop duplicates "
        "itself, by a number in the message",
        "notification_never"};
  if (request.opcode == Opcode::FetchAdd)
    return {"a second FADD adds again, and no read or fence tells whether the first one did",
            "fadd_quiet, T3_no_protocol"};
  if (request.opcode == Opcode::CompareSwap)
    return {"the expected word may come back, and then the CAS happens twice", "cas_aba"};
  return {"a late or repeated WRITE destroys what was written after it", "T2_ghost_write"};
}

Words only_if_words(const OutstandingRequest& request) {
  if (request.opcode == Opcode::CompareSwap)
    return {"the expected word may come back, and then the CAS happens twice", "cas_aba, T4b"};
  if (request.contract.environment == Environment::Reuse &&
      request.contract.consumer == Consumer::Notified)
    return {"an old packet may arrive after the buffer was reused",
            "T2_ghost_write, fence_makes_write_repostable"};
  return {"the WRITE may have happened, and what came after it would be overwritten",
          "write_other_writer, write_quiet"};
}

}  // namespace

const char* name_of(Advice advice) noexcept {
  switch (advice) {
    case Advice::Repost:
      return "repost";
    case Advice::Never:
      return "never";
    case Advice::OnlyIf:
      return "only-if";
  }
  return "?";
}

const char* name_of(Proviso proviso) noexcept {
  switch (proviso) {
    case Proviso::FenceDone:
      return "fence done";
    case Proviso::TargetQuiet:
      return "target quiet";
    case Proviso::TagUnique:
      return "tag unique";
  }
  return "?";
}

Result<Classification> classify(const OutstandingRequest& request) {
  PORTCULLIS_TRY_ASSIGN(Try as_is, run(request));
  Classification result;
  result.states = as_is.explored.states;
  Words words;
  if (as_is.explored.ending == Ending::Complete) {
    result.advice = Advice::Repost;
    words = repost_words(request);
  } else {
    for (const Proviso proviso : {Proviso::FenceDone, Proviso::TargetQuiet, Proviso::TagUnique}) {
      const auto changed = with(request, proviso);
      if (!changed) continue;
      PORTCULLIS_TRY_ASSIGN(const Try tried, run(*changed));
      result.states += tried.explored.states;
      if (tried.explored.ending == Ending::Complete) result.provisos.push_back(proviso);
    }
    result.advice = result.provisos.empty() ? Advice::Never : Advice::OnlyIf;
    words = result.provisos.empty() ? never_words(request) : only_if_words(request);
    result.trace = shortest_violation(as_is.machine, false, ~std::uint64_t{0});
    result.machine = std::move(as_is.machine);
  }
  result.reason = std::move(words.reason);
  result.lemma = std::move(words.lemma);
  return result;
}

}  // namespace portcullis::failover
