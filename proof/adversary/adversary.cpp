// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/adversary.hpp"

#include <algorithm>
#include <iterator>

#include "model/transport/headers.hpp"
#include "model/transport/opcode.hpp"

namespace portcullis::proof::adversary {
namespace {

using model::PacePoint;
using model::psn_distance;

bool is_request(std::uint8_t opcode) noexcept { return model::opcode_info(opcode).is_request(); }

bool is_memory(PacePoint at) noexcept {
  return at == PacePoint::WritePending || at == PacePoint::ReadPending ||
         at == PacePoint::AtomicPending;
}

bool is_read_data(std::uint8_t opcode) noexcept {
  return opcode >= static_cast<std::uint8_t>(model::BthOpcode::ReadResponseFirst) &&
         opcode <= static_cast<std::uint8_t>(model::BthOpcode::ReadResponseOnly);
}

bool is_before_check(const model::PaceStep& step) noexcept {
  return step.at == PacePoint::BeforeCheck ||
         (step.at == PacePoint::FrameOnWire && is_request(step.opcode));
}

}  // namespace

std::string_view name(Position position) noexcept {
  switch (position) {
    case Position::BeforeCheck:
      return "before the key check";
    case Position::WritePending:
      return "checked, write pending";
    case Position::SendPending:
      return "checked, into a receive pending";
    case Position::AtomicPending:
      return "checked, atomic pending";
    case Position::ReadPending:
      return "checked, read pending";
    case Position::BetweenPackets:
      return "between packets of a message";
    case Position::DuplicateWrite:
      return "a duplicate WRITE";
    case Position::DuplicateSend:
      return "a duplicate SEND";
    case Position::ReadAgain:
      return "a READ awaiting a duplicate";
    case Position::DuplicateAtomic:
      return "a duplicate atomic";
    case Position::PsnWrap:
      return "on both sides of PSN 0";
    case Position::StalePacket:
      return "stale, for a reused QPN";
  }
  return {};
}

std::uint32_t Adversary::chance(const model::PaceStep& step) const noexcept {
  switch (step.at) {
    case PacePoint::FrameOnWire:
      return is_request(step.opcode) ? mood_.wire : mood_.response;
    case PacePoint::BeforeCheck:
      return mood_.check;
    case PacePoint::ResponsePending:
      return mood_.response;
    case PacePoint::BetweenPackets:
      return 0;
    default:
      return mood_.memory;
  }
}

/// The newest with that number: it is the one that has it.
Connection* Adversary::of(std::uint32_t qpn) noexcept {
  const auto found = std::find_if(
      connections_.rbegin(), connections_.rend(),
      [qpn](const Connection* one) { return one->qpn == qpn || one->client_qpn == qpn; });
  return found == connections_.rend() ? nullptr : *found;
}

std::uint64_t Adversary::delay_ns(const model::PaceStep& step, Ticket ticket) {
  Connection* const connection = of(step.qpn);
  if (connection == nullptr) return 0;
  if (is_memory(step.at) && step.qpn == connection->qpn &&
      psn_distance(step.psn, connection->done_psn) >= 0)
    connection->done_psn = model::psn_add(step.psn, 1);
  if (held_.size() >= kMostHeld || holds_left_ == 0 || below(256) >= chance(step)) return 0;
  --holds_left_;
  ++holds_;
  held_.push_back({ticket, step, connection->serial, false});
  return kUntilReleased;
}

void Adversary::release(model::Model& model, std::size_t index) {
  const Ticket ticket = held_[index].ticket;
  held_[index] = held_.back();
  held_.pop_back();
  static_cast<void>(model.release(ticket));
}

bool Adversary::let_one_go(model::Model& model, bool spares_dma) {
  if (held_.empty()) return false;
  const std::size_t start = below(static_cast<std::uint32_t>(held_.size()));
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const std::size_t index = (start + i) % held_.size();
    if (held_[index].immortal || (spares_dma && is_memory(held_[index].step.at))) continue;
    release(model, index);
    return true;
  }
  return false;
}

bool Adversary::may_let_go(bool spares_dma) const noexcept {
  return std::ranges::any_of(held_, [spares_dma](const Held& held) {
    return !held.immortal && !(spares_dma && is_memory(held.step.at));
  });
}

void Adversary::let_all_go(model::Model& model, Release release_of) {
  while (let_one_go(model, release_of == Release::Packets)) {
  }
  while (release_of == Release::Everything && !held_.empty())
    release(model, below(static_cast<std::uint32_t>(held_.size())));
}

void Adversary::let_go(model::Model& model, Ticket ticket) {
  const auto found = std::ranges::find(held_, ticket, &Held::ticket);
  if (found != held_.end()) release(model, static_cast<std::size_t>(found - held_.begin()));
}

std::uint32_t Adversary::keep_on_wire(const Connection& connection, std::uint32_t most) {
  std::uint32_t kept = 0;
  for (Held& held : held_) {
    if (kept == most) break;
    if (held.step.at != PacePoint::FrameOnWire || held.step.qpn != connection.qpn ||
        !is_request(held.step.opcode))
      continue;
    held.immortal = true;
    ++kept;
  }
  return kept;
}

std::vector<Adversary::Held> Adversary::stale_of(const Connection& connection) const {
  std::vector<Held> stale;
  std::ranges::copy_if(held_, std::back_inserter(stale), [&](const Held& held) {
    return held.immortal && held.serial == connection.serial;
  });
  return stale;
}

const Message* Connection::message_of(std::uint32_t psn) const noexcept {
  // The first that ends behind it; messages stand in the order of their PSNs.
  const auto found = std::ranges::partition_point(
      messages, [psn](const Message& each) { return psn_distance(each.end_psn, psn) <= 0; });
  return found == messages.end() ? nullptr : &*found;
}

bool Connection::is_between_packets() const noexcept {
  const Message* const next = message_of(done_psn);
  if (next == nullptr) return false;
  const bool is_first = next == messages.data();
  return done_psn != (is_first ? first_psn : std::prev(next)->end_psn);
}

/// Where a request stands that has not been looked at.
Position Adversary::place_of(const Connection& connection, const model::PaceStep& step) {
  if (psn_distance(step.psn, connection.done_psn) >= 0) return Position::BeforeCheck;
  const Message* const message = connection.message_of(step.psn);
  switch (message == nullptr ? MessageKind::Write : message->kind) {
    case MessageKind::Read:
      return Position::ReadAgain;
    case MessageKind::Atomic:
      return Position::DuplicateAtomic;
    case MessageKind::Send:
      return Position::DuplicateSend;
    case MessageKind::Write:
      return Position::DuplicateWrite;
  }
  return Position::DuplicateWrite;
}

/// Where DMA stands that its key has allowed.
Position Adversary::pending_place_of(const Connection& connection, const model::PaceStep& step) {
  if (step.at == PacePoint::ReadPending) return Position::ReadPending;
  if (step.at == PacePoint::AtomicPending) return Position::AtomicPending;
  const Message* const message = connection.message_of(step.psn);
  const bool is_send = message != nullptr && message->kind == MessageKind::Send;
  return is_send ? Position::SendPending : Position::WritePending;
}

Occupancy Adversary::occupancy(const Connection& connection) const {
  Occupancy found;
  const auto count = [&found](Position position) {
    ++found.at[static_cast<std::size_t>(position)];
  };
  std::array<bool, 2> sides{};  // of PSN 0
  for (const Held& held : held_) {
    const model::PaceStep& step = held.step;
    const bool is_answer = step.qpn == connection.client_qpn && is_read_data(step.opcode);
    if (is_answer && held.serial == connection.serial) count(Position::ReadAgain);
    if (step.qpn != connection.qpn) continue;
    if (held.serial != connection.serial) {
      if (is_before_check(step)) count(Position::StalePacket);
      continue;
    }
    ++found.packets;
    sides[step.psn >> 23 & 1] = true;
    if (is_memory(step.at)) {
      ++found.dmas;
      count(pending_place_of(connection, step));
    } else if (is_before_check(step)) {
      count(place_of(connection, step));
    }
  }
  if (sides[0] && sides[1]) count(Position::PsnWrap);
  if (connection.is_between_packets()) count(Position::BetweenPackets);
  return found;
}

}  // namespace portcullis::proof::adversary
