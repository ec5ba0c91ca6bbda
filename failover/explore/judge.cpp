// SPDX-License-Identifier: BSD-3-Clause
//
// Linearizability of a settled state's history: is there an order of the operations, respecting
// which came before which, that explains every answer and the memory at the end? Operations that
// were invoked and never answered may have happened, or not; but a message that consumed a receive
// has, for its receiver knows of it.
#include <algorithm>

#include "failover/explore/explorer.hpp"
#include "failover/explore/order.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover {
namespace {

/// Numbers below 32: at most a dozen operations, so all orders are tried.
class FewPlaced {
 public:
  [[nodiscard]] static std::size_t begin() noexcept { return 0; }
  [[nodiscard]] bool has(std::size_t i) const noexcept { return (bits_ >> i & 1U) != 0; }
  [[nodiscard]] FewPlaced with(std::size_t i) const noexcept {
    FewPlaced more = *this;
    more.bits_ |= 1U << i;
    return more;
  }

 private:
  unsigned bits_ = 0;
};

class Judge {
 public:
  Judge(const Machine& machine, const AnyState& state) : m_(machine), s_(state) {}

  Violation verdict() {
    collect();
    Memory memory(cell_number(m_.scenario.clients, 0), 0);
    for (unsigned cell = 0; cell < m_.shared.size(); ++cell)
      memory[cell] = m_.scenario.initial_shared;
    return Orders<FewPlaced, Judge>(operations_, *this).exists(memory, {})
               ? Violation::None
               : Violation::Linearizability;
  }

  // What an order has to heed.
  [[nodiscard]] static bool enter(const Memory& /*memory*/, const FewPlaced& /*placed*/) {
    return true;
  }
  static void failed(const Memory& /*memory*/, const FewPlaced& /*placed*/) {}
  [[nodiscard]] bool may_end(const Memory& memory) const { return memory == final_memory(); }
  [[nodiscard]] bool may_place(std::size_t i, const FewPlaced& placed) const {
    return !is_overtaken(i, placed) && !is_ruled_out(i);
  }

 private:
  [[nodiscard]] unsigned cell_number(unsigned client, unsigned own_cell) const {
    return static_cast<unsigned>(m_.shared.size()) + client * m_.scenario.own_cells + own_cell;
  }
  [[nodiscard]] Memory final_memory() const {
    Memory memory;
    for (const Field& cell : m_.shared) memory.push_back(m_.words[s_.get(cell)]);
    for (const ClientFields& fields : m_.fields)
      for (const Field& cell : fields.cells) memory.push_back(m_.words[s_.get(cell)]);
    return memory;
  }

  void collect() {
    for (unsigned place = 0; place < m_.log.size(); ++place) {
      const auto code = static_cast<unsigned>(s_.get(m_.log[place]));
      if (code == 0) break;
      const Event event = event_of(m_.scenario, code);
      if (event.kind == Event::Kind::Invoke) {
        operations_.push_back(of_client(event, place));
        owners_.push_back(event);
      } else if (event.kind == Event::Kind::Respond) {
        answer(event, place);
      } else {
        operations_.push_back(of_other(event, place));
        owners_.push_back(event);
      }
    }
  }
  Operated of_client(const Event& event, unsigned place) const {
    Operated operated{.first = place};
    operated.is_certain =
        has(m_.scenario.surely_executed, event.number) || is_received(event.client, event.number);
    for (const WorkRequest& request : m_.scenario.work_requests) {
      if (request.operation != event.number || !request.is_counted || !operated.words.empty())
        continue;
      const bool is_shared = request.address.space == Address::Space::Shared;
      const unsigned cell =
          is_shared ? request.address.cell : cell_number(event.client, request.address.cell);
      for (unsigned packet = 0; packet < request.packets; ++packet)
        operated.words.push_back(
            {cell + packet, {request.opcode, request.operand.word, request.compare.word}, {}});
    }
    return operated;
  }
  /// Some attempt at it was a message, and consumed a receive.
  [[nodiscard]] bool is_received(unsigned client, unsigned operation) const {
    const std::vector<Request>& requests = m_.clients[client].requests;
    for (std::size_t number = 0; number < requests.size(); ++number) {
      const Request& request = requests[number];
      if (request.notifies && request.is_counted && request.operation == operation &&
          s_.get(m_.fields[client].requests[number].executed) == request.packets)
        return true;
    }
    return false;
  }
  void answer(const Event& event, unsigned place) {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Event& owner = owners_[i];
      if (owner.kind != Event::Kind::Invoke || owner.client != event.client ||
          owner.number != event.number)
        continue;
      operations_[i].last = place;
      operations_[i].is_answered = true;
      if (!returns_word(operations_[i].words[0].operation.opcode)) continue;
      for (Operated::OnWord& word : operations_[i].words)
        word.answer = m_.words[s_.get(m_.fields[event.client].answers[event.number])];
    }
  }
  Operated of_other(const Event& event, unsigned place) const {
    Operated operated{.first = place, .last = place, .is_answered = true, .is_certain = true};
    if (event.kind == Event::Kind::Environment) {
      const EnvironmentStep& step = m_.scenario.environment[event.number];
      const bool is_shared = step.address.space == Address::Space::Shared;
      const unsigned cell =
          is_shared ? step.address.cell : cell_number(event.client, step.address.cell);
      // Who acts on what the cell holds has read it: a CAS that succeeded.
      operated.words.push_back({cell,
                                step.when ? Operation{Opcode::CompareSwap, step.becomes, *step.when}
                                          : Operation{Opcode::Write, step.becomes, 0},
                                step.when});
      return operated;
    }
    const auto wanted = event.kind == Event::Kind::Consume ? ReceiverStep::Kind::Consume
                                                           : ReceiverStep::Kind::Reuse;
    for (const ReceiverStep& step : m_.scenario.receiver) {
      if (step.kind != wanted) continue;
      const bool reads = wanted == ReceiverStep::Kind::Consume;
      for (unsigned cell = step.cell; cell < step.cell + step.count; ++cell)
        operated.words.push_back({cell_number(event.client, cell),
                                  {reads ? Opcode::Read : Opcode::Write, step.word, 0},
                                  reads ? std::optional<Word>(step.word) : std::nullopt});
    }
    return operated;
  }

  /// With posting order kept: an operation that its client numbered later is placed already, or a
  /// reuse that waited for a message behind this one.
  [[nodiscard]] bool is_overtaken(std::size_t i, const FewPlaced& placed) const {
    if (!m_.scenario.keeps_posting_order || owners_[i].kind != Event::Kind::Invoke) return false;
    const auto& early = m_.scenario.before_reuse;
    const bool is_early = operations_[i].is_answered && has(early, owners_[i].number);
    for (std::size_t other = 0; other < owners_.size(); ++other) {
      if (!placed.has(other) || owners_[other].client != owners_[i].client) continue;
      if (is_early && owners_[other].kind == Event::Kind::Reuse) return true;
      if (owners_[other].kind == Event::Kind::Invoke && owners_[other].number > owners_[i].number)
        return true;
    }
    return false;
  }
  static bool has(const std::vector<unsigned>& operations, unsigned number) {
    return std::find(operations.begin(), operations.end(), number) != operations.end();
  }
  /// Known not to have been executed, by whoever asked before anything answered it.
  [[nodiscard]] bool is_ruled_out(std::size_t i) const {
    return owners_[i].kind == Event::Kind::Invoke && !operations_[i].is_answered &&
           has(m_.scenario.surely_not, owners_[i].number);
  }

  const Machine& m_;
  const AnyState& s_;
  std::vector<Operated> operations_;
  std::vector<Event> owners_;
};

/// Nothing is on its way and nobody has anything left to do.
bool is_settled(const Machine& machine, const AnyState& state) {
  if (has_waiting_client(machine, state)) return false;
  for (const ClientFields& fields : machine.fields)
    for (const RequestFields& request : fields.requests)
      for (const Field& copies : request.copies)
        if (state.get(copies) != 0) return false;
  return true;
}

}  // namespace

bool has_waiting_client(const Machine& machine, const AnyState& state) noexcept {
  for (std::size_t client = 0; client < machine.fields.size(); ++client) {
    const auto& step = machine.clients[client].steps[state.get(machine.fields[client].pc)];
    if (step.instruction.act != Act::End) return true;
  }
  return false;
}

bool is_cut(const Machine& machine, const AnyState& state) noexcept {
  for (std::size_t client = 0; client < machine.fields.size(); ++client) {
    const ClientFields& fields = machine.fields[client];
    const Instruction& i = machine.clients[client].steps[state.get(fields.pc)].instruction;
    if (i.act == Act::Await && i.may_time_out && state.get(fields.timeouts) == 0 &&
        state.get(fields.requests[i.work_request].phase) == kPosted)
      return true;
  }
  return false;
}

Violation judge(const Machine& machine, const AnyState& state) {
  const Scenario& scenario = machine.scenario;
  if (!scenario.has_history || !scenario.is_monitored || !is_settled(machine, state))
    return Violation::None;
  return Judge(machine, state).verdict();
}

}  // namespace portcullis::failover
