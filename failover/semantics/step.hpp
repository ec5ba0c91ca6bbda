// SPDX-License-Identifier: BSD-3-Clause
//
// The small steps: for_each_step(machine, state, emit) calls emit(next, label, violation) once for
// every step that is possible in `state`. Pure: it reads the machine and the state and keeps
// nothing. A step that breaks a monitored property carries the violation; without monitors it is
// None. failover/spin writes the same rules a second time, in Promela, from the scenario.
#pragma once

#include <type_traits>

#include "failover/semantics/footprint.hpp"
#include "failover/semantics/history.hpp"
#include "failover/semantics/label.hpp"
#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

template <unsigned kWords, class Emit>
class Stepper {
 public:
  Stepper(const Machine& machine, const State<kWords>& state, Emit& emit)
      : m_(machine), s_(state), emit_(emit), monitored_(machine.scenario.is_monitored) {}

  /// The steps of one actor: a client, or beyond the last of them the environment.
  void run(unsigned actor) {
    if (actor == m_.clients.size()) return environment();
    act(actor);
    if (is_busy(actor)) network(actor);
    if (!m_.receiver.empty()) receive(actor);
  }

 private:
  using S = State<kWords>;

  void emit(const S& next, const Label& label, Violation violation = Violation::None) {
    emit_(next, label, monitored_ ? violation : Violation::None);
  }
  static Label label(Action action, unsigned client, std::uint64_t number, unsigned packet = 0,
                     WordIndex value = 0, bool yes = false) {
    return {action,
            static_cast<std::uint8_t>(client),
            static_cast<std::uint8_t>(number),
            static_cast<std::uint8_t>(packet),
            value,
            yes};
  }
  [[nodiscard]] WordIndex word(const Field& field) const {
    return static_cast<WordIndex>(s_.get(field));
  }
  [[nodiscard]] bool is_busy(unsigned client) const {
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < kWords; ++i) bits |= s_.words[i] & m_.fields[client].busy[i];
    return bits != 0;
  }
  /// The cell that packet `packet` of a request touches; the content says whose, for an owner slot.
  [[nodiscard]] const Field& cell_of(unsigned client, Address::Space space, unsigned cell,
                                     WordIndex content) const {
    if (space == Address::Space::Shared) return m_.shared[cell];
    if (space == Address::Space::Own) return m_.fields[client].cells[cell];
    const unsigned owner = m_.owner[content];
    return m_.fields[owner == kNobody ? client : owner].cells[cell];
  }

  // ---- The client ----------------------------------------------------------------------------

  void act(unsigned client) {
    const ClientFields& f = m_.fields[client];
    const Step& step = m_.clients[client].steps[s_.get(f.pc)];
    const Instruction& i = step.instruction;
    switch (i.act) {
      case Act::Post:
        return post(client, i);
      case Act::Await:
        return await(client, step);
      case Act::Probe:
        return probe(client, step);
      case Act::Assert:
        return assert_cell(client, step);
      case Act::QueryPsn: {
        const Request& request = m_.clients[client].requests[i.work_request];
        if (s_.get(f.dead[request.queue]) != 0) return;  // nobody answers
        const std::uint64_t asked = i.packets == 0 ? request.packets : i.packets;
        const bool is_past = s_.get(f.requests[i.work_request].executed) >= asked;
        return branch(client, i, is_past, label(Action::QueryPsn, client, i.work_request));
      }
      case Act::Test: {
        const WordIndex value = word(f.reg);
        return branch(client, i, accepts(step, client, value),
                      label(Action::Test, client, 0, 0, value));
      }
      case Act::Decide:
        return decide(client, i);
      case Act::Fence:
        return order_fence(client, i);
      case Act::AwaitFence:
        if (s_.get(f.fences[i.queue]) != 2) return;
        return branch(client, i, true, label(Action::SeeFence, client, i.queue));
      case Act::Report:
        return report(client, i);
      case Act::Take:
        return take(client, i);
      case Act::End:
        return;
    }
  }

  [[nodiscard]] bool accepts(const Step& step, unsigned client, WordIndex value) const {
    if (step.accepts.equals_register) return value == word(m_.fields[client].reg);
    return step.accepts.words[value];
  }

  void branch(unsigned client, const Instruction& i, bool yes, Label why) {
    if (i.known.value_or(yes) != yes) return;
    S next = s_;
    next.set(m_.fields[client].pc, yes ? i.next : i.otherwise);
    why.yes = yes;
    emit(next, why);
  }

  void post(unsigned client, const Instruction& i) {
    const ClientFields& f = m_.fields[client];
    const Request& request = m_.clients[client].requests[i.work_request];
    const RequestFields& r = f.requests[i.work_request];
    S next = s_;
    next.set(r.phase, kPosted);
    for (unsigned packet = 0; packet < request.packets; ++packet) next.set(r.copies[packet], 1);
    if (request.has_content) next.set(r.content, s_.get(f.reg));
    if (request.buffer >= 0) next.set(f.taken[static_cast<unsigned>(request.buffer)], 0);
    next.set(f.pc, i.next);
    note_invocation(next, client, request.operation);
    emit(next, label(Action::Post, client, i.work_request));
  }

  /// A response to `number` is on its way, or to a later request of its QP, which acknowledges
  /// every earlier WRITE and SEND.
  [[nodiscard]] bool is_answered(unsigned client, unsigned number) const {
    const ClientFields& f = m_.fields[client];
    if (s_.get(f.requests[number].phase) == kAcked) return true;
    if (s_.get(f.requests[number].phase) != kPosted) return false;
    return later_is(client, number, kAcked) || has_completed(client, number);
  }
  /// It was left behind by a later one that completed, and completions of a QP keep its order: it
  /// is complete, even where its QP fails before the client looks. A timeout closes all that is
  /// not, so a later one that is closed has completed.
  [[nodiscard]] bool has_completed(unsigned client, unsigned number) const {
    const std::uint64_t phase = s_.get(m_.fields[client].requests[number].phase);
    return (phase == kPosted || phase == kAcked) && later_is(client, number, kClosed);
  }
  /// Whether a later request of its QP, which acknowledges it, is in `phase`.
  [[nodiscard]] bool later_is(unsigned client, unsigned number, Phase phase) const {
    const auto& requests = m_.clients[client].requests;
    if (!requests[number].is_acknowledged_by_later) return false;
    for (unsigned later = number + 1; later < requests.size(); ++later)
      if (requests[later].queue == requests[number].queue &&
          s_.get(m_.fields[client].requests[later].phase) == phase)
        return true;
    return false;
  }

  void await(unsigned client, const Step& step) {
    const Instruction& i = step.instruction;
    const ClientFields& f = m_.fields[client];
    const RequestFields& r = f.requests[i.work_request];
    if (i.may_complete && is_answered(client, i.work_request)) {
      const WordIndex value = word(r.result);
      const bool yes = accepts(step, client, value);
      S next = s_;
      next.set(r.phase, kClosed);
      close(next, client, i.work_request);
      if (i.keeps) next.set(f.reg, value);
      next.set(f.pc, yes ? i.next : i.otherwise);
      emit(next, label(Action::Complete, client, i.work_request, 0, value, yes));
    }
    if (i.may_time_out && s_.get(r.phase) == kPosted && !has_completed(client, i.work_request))
      time_out(client, i);
    if (i.may_time_out && s_.get(r.phase) == kClosed) {  // flushed when its QP failed
      S next = s_;
      next.set(f.pc, i.on_timeout);
      emit(next, label(Action::Flush, client, i.work_request));
    }
  }

  /// Completed: further packets of it change nothing, their PSN is behind the ePSN.
  void close(S& next, unsigned client, unsigned number) const {
    const RequestFields& r = m_.fields[client].requests[number];
    const Request& request = m_.clients[client].requests[number];
    next.set(r.result, 0);
    next.set(r.content, 0);
    for (unsigned packet = 0; packet < request.packets; ++packet) {
      next.set(r.copies[packet], 0);
      next.set(r.changed[packet], 0);
    }
  }

  void time_out(unsigned client, const Instruction& i) {
    const ClientFields& f = m_.fields[client];
    const auto& requests = m_.clients[client].requests;
    const std::uint64_t timeouts = s_.get(f.timeouts);
    const std::uint64_t late = s_.get(f.late);
    if (timeouts == 0) return;
    const unsigned queue = requests[i.work_request].queue;
    std::uint64_t in_flight = 0;
    S next = s_;
    for (unsigned number = 0; number < requests.size(); ++number) {
      if (requests[number].queue != queue) continue;
      const RequestFields& r = f.requests[number];
      for (unsigned p = 0; p < requests[number].packets; ++p)
        in_flight += s_.get(r.copies[p]) + s_.get(r.changed[p]);
      if (s_.get(r.phase) == kIdle || has_completed(client, number)) continue;
      next.set(r.phase, kClosed);
      next.set(r.result, 0);
      forget_content(next, client, number);
    }
    if (in_flight > late) return;
    next.set(f.late, late - in_flight);
    next.set(f.timeouts, timeouts - 1);
    next.set(f.pc, i.on_timeout);
    emit(next, label(Action::TimeOut, client, i.work_request));
  }

  /// The content of a closed request is nobody's once its last packet is gone.
  void forget_content(S& next, unsigned client, unsigned number) const {
    const Request& request = m_.clients[client].requests[number];
    const RequestFields& r = m_.fields[client].requests[number];
    if (!request.has_content || next.get(r.phase) != kClosed) return;
    for (unsigned packet = 0; packet < request.packets; ++packet)
      if (next.get(r.copies[packet]) != 0) return;
    next.set(r.content, 0);
  }

  void probe(unsigned client, const Step& step) {
    const Instruction& i = step.instruction;
    const ClientFields& f = m_.fields[client];
    if (i.after_receiver && can_receive(client)) return;
    const WordIndex value = word(cell_of(client, i.address.space, i.address.cell, word(f.reg)));
    const bool yes = accepts(step, client, value);
    if (i.known.value_or(yes) != yes) return;
    S next = s_;
    if (i.keeps) next.set(f.reg, value);
    next.set(f.pc, yes ? i.next : i.otherwise);
    emit(next, label(Action::Probe, client, i.address.cell, 0, value, yes));
  }

  void assert_cell(unsigned client, const Step& step) {
    const Instruction& i = step.instruction;
    const ClientFields& f = m_.fields[client];
    const WordIndex value = word(cell_of(client, i.address.space, i.address.cell, word(f.reg)));
    const bool yes = accepts(step, client, value);
    S next = s_;
    next.set(f.pc, i.next);
    emit(next, label(Action::Assert, client, i.address.cell, 0, value, yes),
         yes ? Violation::None : Violation::Assertion);
  }

  void take(unsigned client, const Instruction& i) {
    S next = s_;
    next.set(m_.fields[client].taken[i.buffer], 1);
    next.set(m_.fields[client].pc, i.next);
    emit(next, label(Action::Take, client, i.buffer));
  }

  void decide(unsigned client, const Instruction& i) {
    const unsigned decision =
        i.decision + (i.decides_by_register ? word(m_.fields[client].reg) : 0U);
    const bool yes = (m_.scenario.policy >> (decision & 63U) & 1U) != 0;
    branch(client, i, yes, label(Action::Decide, client, decision));
  }

  void order_fence(unsigned client, const Instruction& i) {
    const ClientFields& f = m_.fields[client];
    S next = s_;
    if (s_.get(f.fences[i.queue]) == 0) next.set(f.fences[i.queue], 1);  // in effect it stays
    next.set(f.pc, i.next);
    emit(next, label(Action::OrderFence, client, i.queue));
  }

  void report(unsigned client, const Instruction& i) {
    const ClientFields& f = m_.fields[client];
    const bool counted = s_.get(f.counts[i.operation]) != 0;
    S next = s_;
    next.set(f.pc, i.next);
    Violation violation = Violation::None;
    const bool is_result = m_.scenario.counts_effects;
    if (i.claim == Claim::Done && !counted)
      violation = is_result ? Violation::Result : Violation::ExactlyOnce;
    if (i.claim == Claim::NotDone) {
      next.set(f.disowned[i.operation], 1);
      if (counted) violation = is_result ? Violation::Result : Violation::ExactlyOnce;
    }
    if (i.claim != Claim::Unknown && m_.scenario.has_history) {
      next.set(f.answers[i.operation], s_.get(f.reg));
      note(next, {Event::Kind::Respond, client, i.operation});
    }
    emit(next,
         label(Action::Report, client, i.operation, static_cast<unsigned>(i.claim), 0,
               i.claim == Claim::Done),
         violation);
  }

  // ---- Network and responder -----------------------------------------------------------------

  void network(unsigned client) {
    const ClientFields& f = m_.fields[client];
    const auto& requests = m_.clients[client].requests;
    const std::uint64_t spare = s_.get(f.duplicates);
    for (unsigned number = 0; number < requests.size(); ++number) {
      const RequestFields& r = f.requests[number];
      const std::uint64_t phase = s_.get(r.phase);
      if (phase == kIdle) continue;
      for (unsigned packet = 0; packet < requests[number].packets; ++packet) {
        const std::uint64_t copies = s_.get(r.copies[packet]);
        if (copies != 0) {
          deliver(client, number, packet);
          lose(client, number, packet);
        }
        if (s_.get(r.changed[packet]) != 0) deliver_changed(client, number, packet);
        if (spare != 0 && phase != kClosed) duplicate(client, number, packet);
      }
      if (phase == kAcked) {
        S next = s_;
        next.set(r.phase, kPosted);
        emit(next, label(Action::LoseAck, client, number));
        if (returns_word(requests[number].opcode) && is_taken(client, number))
          emit(s_, label(Action::Land, client, number), Violation::LateAnswer);
      }
    }
    for (unsigned queue = 0; queue < f.fences.size(); ++queue)
      if (s_.get(f.fences[queue]) == 1) fence(client, queue);
    if (s_.get(f.deaths) == 0) return;
    for (unsigned number = 0; number < requests.size(); ++number)
      if (can_die_after(client, number)) die(client, number);
  }

  /// The NIC can hold a request in its buffers, acknowledged and not placed: it arrived, its answer
  /// carries no word of memory, and neither does that of any before it that is not placed either.
  [[nodiscard]] bool can_die_after(unsigned client, unsigned number) const {
    const ClientFields& f = m_.fields[client];
    const auto& requests = m_.clients[client].requests;
    if (s_.get(f.requests[number].phase) != kPosted || is_refused(client, number)) return false;
    if (s_.get(f.requests[number].executed) == requests[number].packets) return false;
    for (int at = static_cast<int>(number); at >= 0;
         at = requests[static_cast<std::size_t>(at)].previous) {
      const auto unplaced = static_cast<std::size_t>(at);
      const RequestFields& r = f.requests[unplaced];
      if (s_.get(r.executed) == requests[unplaced].packets) break;
      if (returns_word(requests[unplaced].opcode)) return false;
      for (std::uint64_t p = s_.get(r.executed); p < requests[unplaced].packets; ++p)
        if (s_.get(r.copies[p]) == 0) return false;
    }
    return true;
  }
  void die(unsigned client, unsigned number) {
    const ClientFields& f = m_.fields[client];
    const auto& requests = m_.clients[client].requests;
    const unsigned queue = requests[number].queue;
    S next = s_;
    next.set(f.requests[number].phase, kAcked);
    next.set(f.dead[queue], 1);
    next.set(f.deaths, s_.get(f.deaths) - 1);
    for (unsigned other = 0; other < requests.size(); ++other) {
      if (requests[other].queue != queue) continue;
      for (unsigned packet = 0; packet < requests[other].packets; ++packet) {
        next.set(f.requests[other].copies[packet], 0);
        next.set(f.requests[other].changed[packet], 0);
      }
      forget_content(next, client, other);
    }
    emit(next, label(Action::Die, client, number));
  }
  /// Its QP takes nothing any more.
  [[nodiscard]] bool is_refused(unsigned client, unsigned number) const {
    const ClientFields& f = m_.fields[client];
    const Request& request = m_.clients[client].requests[number];
    return s_.get(f.dead[request.queue]) != 0 ||
           (request.is_fenced && s_.get(f.fences[request.queue]) == 2);
  }

  void lose(unsigned client, unsigned number, unsigned packet) {
    S next = s_;
    take_copy(next, client, number, packet);
    emit(next, label(Action::LosePacket, client, number, packet));
  }
  void take_copy(S& next, unsigned client, unsigned number, unsigned packet) const {
    const Field& copies = m_.fields[client].requests[number].copies[packet];
    next.set(copies, s_.get(copies) - 1);
    forget_content(next, client, number);
  }
  void duplicate(unsigned client, unsigned number, unsigned packet) {
    const ClientFields& f = m_.fields[client];
    const RequestFields& r = f.requests[number];
    const bool is_changed =
        is_taken(client, number) && !returns_word(m_.clients[client].requests[number].opcode);
    const Field& copies = is_changed ? r.changed[packet] : r.copies[packet];
    S next = s_;
    next.set(copies, s_.get(copies) + 1);
    next.set(f.duplicates, s_.get(f.duplicates) - 1);
    emit(next, label(is_changed ? Action::Resend : Action::Duplicate, client, number, packet));
  }
  [[nodiscard]] bool is_taken(unsigned client, unsigned number) const {
    const std::int8_t buffer = m_.clients[client].requests[number].buffer;
    return buffer >= 0 && s_.get(m_.fields[client].taken[static_cast<unsigned>(buffer)]) != 0;
  }
  /// The same PSN with other bytes. What memory becomes nobody asks: the run ends there.
  void deliver_changed(unsigned client, unsigned number, unsigned packet) {
    const RequestFields& r = m_.fields[client].requests[number];
    S next = s_;
    next.set(r.changed[packet], s_.get(r.changed[packet]) - 1);
    emit(next, label(Action::LosePacket, client, number, packet));
    if (is_refused(client, number)) return;
    if (is_next(client, number, packet)) {
      next.set(r.executed, packet + 1U);
      return emit(next, label(Action::ExecuteChanged, client, number, packet),
                  Violation::ChangedSource);
    }
    if (s_.get(r.executed) != m_.clients[client].requests[number].packets) return;
    if (s_.get(r.phase) != kPosted) return;
    next.set(r.phase, kAcked);
    emit(next, label(Action::AcknowledgeAgain, client, number, packet));
  }

  /// PSN == ePSN: everything posted before it on its QP has executed, and its own earlier packets.
  [[nodiscard]] bool is_next(unsigned client, unsigned number, unsigned packet) const {
    const auto& requests = m_.clients[client].requests;
    const ClientFields& f = m_.fields[client];
    if (s_.get(f.requests[number].executed) != packet) return false;
    const std::int16_t previous = requests[number].previous;
    if (previous < 0) return true;
    const auto before = static_cast<std::uint8_t>(previous);
    return s_.get(f.requests[before].executed) == requests[before].packets;
  }

  void deliver(unsigned client, unsigned number, unsigned packet) {
    if (is_refused(client, number)) return;  // as good as lost
    if (is_next(client, number, packet)) return execute_packet(client, number, packet);
    const Request& request = m_.clients[client].requests[number];
    const RequestFields& r = m_.fields[client].requests[number];
    const std::uint64_t phase = s_.get(r.phase);
    if (s_.get(r.executed) != request.packets || phase == kClosed) return;
    const bool reads = request.opcode == Opcode::Read;
    if (phase == kAcked && !reads) return;  // as good as lost
    S next = s_;
    next.set(r.phase, kAcked);
    take_copy(next, client, number, packet);
    if (reads)
      next.set(r.result, s_.get(cell_of(client, request.space, request.cell, word(r.content))));
    emit(next, label(Action::AcknowledgeAgain, client, number, packet));
  }

  void execute_packet(unsigned client, unsigned number, unsigned packet) {
    const ClientFields& f = m_.fields[client];
    const Request& request = m_.clients[client].requests[number];
    const RequestFields& r = f.requests[number];
    const WordIndex content = word(r.content);
    const Field& cell = cell_of(client, request.space, request.cell + packet, content);
    const WordIndex before = word(cell);
    const bool is_last = packet + 1U == request.packets;
    const bool logs = request.log_cell >= 0;
    const Field log = logs ? f.cells[static_cast<unsigned>(request.log_cell)] : Field{};
    const bool skips = request.is_deduplicated && m_.words[word(log)] != 0;
    const std::size_t row = request.has_content ? std::size_t{content} * m_.words.size() : 0;
    const WordIndex after = skips ? before : request.after[row + before];
    S next = s_;
    next.set(cell, after);
    next.set(r.executed, packet + 1U);
    take_copy(next, client, number, packet);
    if (logs) next.set(log, one_);
    Violation violation = Violation::None;
    if (!skips && monitored_) violation = count(next, client, request, packet, before != after);
    if (is_last) {
      if (request.notifies) next.set(f.arrivals, s_.get(f.arrivals) + 1);
      if (s_.get(r.phase) != kClosed) {
        next.set(r.phase, kAcked);
        if (request.has_result) next.set(r.result, before);
      }
    }
    emit(next, label(Action::Execute, client, number, packet, after), violation);
  }

  /// What the execution of a packet means to the monitors.
  Violation count(S& next, unsigned client, const Request& request, unsigned packet,
                  bool has_effect) const {
    const ClientFields& f = m_.fields[client];
    if (has_effect && request.space == Address::Space::Own &&
        is_reused(client, request.cell + packet))
      return Violation::GhostWrite;
    if (has_effect && m_.scenario.judges_placement_order && undoes_later(client, request, packet))
      return Violation::PlacementOrder;
    if (!request.is_counted || packet + 1U != request.packets) return Violation::None;
    if (m_.scenario.counts_effects && !has_effect && !request.notifies) return Violation::None;
    if (s_.get(f.disowned[request.operation]) != 0)
      return m_.scenario.counts_effects ? Violation::Result : Violation::ExactlyOnce;
    if (s_.get(f.counts[request.operation]) != 0) {
      if (request.notifies) return Violation::DuplicateNotification;
      // A history says more exactly whether the second execution matters.
      if (!m_.scenario.has_history) return Violation::AtMostOnce;
    }
    next.set(f.counts[request.operation], 1);
    return Violation::None;
  }
  /// An operation posted later on the same QP has placed something in this cell; sums have no
  /// order. What a protocol adds on its own behalf has none either, nor has an owner's slot, which
  /// is another cell for each owner.
  [[nodiscard]] bool undoes_later(unsigned client, const Request& request, unsigned packet) const {
    if (!request.is_counted || request.space == Address::Space::OwnerSlot) return false;
    const auto& requests = m_.clients[client].requests;
    const unsigned cell = request.cell + packet;
    for (std::size_t number = 0; number < requests.size(); ++number) {
      const Request& later = requests[number];
      if (!later.is_counted || later.place <= request.place || later.order != request.order ||
          later.space != request.space)
        continue;
      // A CAS that failed placed nothing; which one did is known where effects are counted.
      if (later.opcode == Opcode::CompareSwap && m_.scenario.counts_effects &&
          s_.get(m_.fields[client].counts[later.operation]) == 0)
        continue;
      const bool is_sum = later.opcode == Opcode::FetchAdd && request.opcode == Opcode::FetchAdd;
      const bool places = later.opcode != Opcode::Read && later.opcode != Opcode::Send && !is_sum;
      const std::uint64_t placed = s_.get(m_.fields[client].requests[number].executed);
      if (places && cell >= later.cell && cell < later.cell + placed) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_reused(unsigned client, unsigned cell) const {
    const std::uint64_t done = s_.get(m_.fields[client].receiver);
    for (unsigned step = 0; step < done; ++step) {
      const ReceiverRule& rule = m_.receiver[step];
      if (rule.kind == ReceiverStep::Kind::Reuse && cell >= rule.cell &&
          cell < unsigned{rule.cell} + rule.count)
        return true;
    }
    return false;
  }

  void fence(unsigned client, unsigned queue) {
    const ClientFields& f = m_.fields[client];
    const auto& requests = m_.clients[client].requests;
    S next = s_;
    next.set(f.fences[queue], 2);
    for (unsigned number = 0; number < requests.size(); ++number) {
      if (requests[number].queue != queue || !requests[number].is_fenced) continue;
      for (unsigned packet = 0; packet < requests[number].packets; ++packet) {
        next.set(f.requests[number].copies[packet], 0);
        next.set(f.requests[number].changed[packet], 0);
      }
      forget_content(next, client, number);
    }
    emit(next, label(Action::FenceTakesEffect, client, queue));
  }

  // ---- Receiver CPU and environment ----------------------------------------------------------

  [[nodiscard]] bool can_receive(unsigned client) const {
    const ClientFields& f = m_.fields[client];
    const std::uint64_t step = s_.get(f.receiver);
    if (step >= m_.receiver.size()) return false;
    const ReceiverRule& rule = m_.receiver[step];
    if (rule.kind == ReceiverStep::Kind::AwaitArrival) return s_.get(f.arrivals) != 0;
    if (rule.kind == ReceiverStep::Kind::AwaitWord) return word(f.cells[rule.cell]) == rule.word;
    return true;
  }

  void receive(unsigned client) {
    if (!can_receive(client)) return;
    const ClientFields& f = m_.fields[client];
    const std::uint64_t step = s_.get(f.receiver);
    const ReceiverRule& rule = m_.receiver[step];
    S next = s_;
    next.set(f.receiver, step + 1);
    Violation violation = Violation::None;
    if (rule.kind == ReceiverStep::Kind::AwaitArrival) next.set(f.arrivals, s_.get(f.arrivals) - 1);
    for (unsigned cell = rule.cell; cell < unsigned{rule.cell} + rule.count; ++cell) {
      if (rule.kind == ReceiverStep::Kind::Consume && word(f.cells[cell]) != rule.word)
        violation = Violation::TornRead;
      if (rule.kind == ReceiverStep::Kind::Set || rule.kind == ReceiverStep::Kind::Reuse)
        next.set(f.cells[cell], rule.word);
    }
    if (rule.kind == ReceiverStep::Kind::Consume) note(next, {Event::Kind::Consume, client, 0});
    if (rule.kind == ReceiverStep::Kind::Reuse) note(next, {Event::Kind::Reuse, client, 0});
    emit(next, label(Action::Receive, client, step, 0, rule.word), violation);
  }

  void environment() {
    const std::uint64_t budget = s_.get(m_.environment_budget);
    if (budget == 0) return;
    for (const EnvironmentRule& rule : m_.environment) {
      const WordIndex now = word(rule.cell);
      if (rule.when >= 0 ? now != rule.when : now == rule.becomes) continue;
      S next = s_;
      next.set(rule.cell, rule.becomes);
      next.set(m_.environment_budget, budget - 1);
      note(next, {Event::Kind::Environment, rule.client, rule.step});
      emit(next, label(Action::Write, rule.client, rule.step, 0, rule.becomes));
    }
  }

  // ---- History -------------------------------------------------------------------------------

  void note_invocation(S& next, unsigned client, unsigned operation) const {
    if (!m_.scenario.has_history) return;
    const unsigned code = code_of(m_.scenario, {Event::Kind::Invoke, client, operation});
    for (const Field& entry : m_.log)
      if (s_.get(entry) == code) return;
    note(next, {Event::Kind::Invoke, client, operation});
  }

  /// Appends, keeping runs of invocations and runs of responses sorted.
  void note(S& next, const Event& event) const {
    if (!m_.scenario.has_history) return;
    std::size_t at = 0;
    while (next.get(m_.log[at]) != 0) ++at;
    const unsigned code = code_of(m_.scenario, event);
    const auto commutes = [&](std::uint64_t other) {
      const Event::Kind kind = event_of(m_.scenario, static_cast<unsigned>(other)).kind;
      return kind == event.kind && kind <= Event::Kind::Respond && other > code;
    };
    for (; at > 0 && commutes(next.get(m_.log[at - 1])); --at)
      next.set(m_.log[at], next.get(m_.log[at - 1]));
    next.set(m_.log[at], code);
  }

  const Machine& m_;
  const S& s_;
  Emit& emit_;
  const bool monitored_;
  const WordIndex one_ = m_.one;
};

template <unsigned kWords, class Emit>
void for_each_step(const Machine& machine, const State<kWords>& state, Emit&& emit) {
  Stepper<kWords, std::remove_reference_t<Emit>> stepper(machine, state, emit);
  for (unsigned actor = 0; actor < actor_count(machine); ++actor) stepper.run(actor);
}

}  // namespace portcullis::failover
