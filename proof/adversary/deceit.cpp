// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/deceit.hpp"

#include <algorithm>
#include <optional>

#include "prm/enums.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"

namespace portcullis::proof::adversary {
namespace {

bool is_destroy_mkey(std::span<const std::byte> in) {
  return in.size() == prm::destroy_mkey_in::bytes &&
         prm::ConstView<prm::destroy_mkey_in>::at(in).get<"opcode">() ==
             prm::number(prm::Opcode::DESTROY_MKEY);
}

/// The QP that a command of that opcode, whose whole input is the QP's number, is about.
std::optional<std::uint32_t> qp_of(std::span<const std::byte> in, prm::Opcode opcode) {
  if (in.size() != prm::destroy_qp_in::bytes) return std::nullopt;
  const auto command = prm::ConstView<prm::destroy_qp_in>::at(in);
  if (command.get<"opcode">() != prm::number(opcode)) return std::nullopt;
  return static_cast<std::uint32_t>(command.get<"qpn">());
}

}  // namespace

Result<pmd::Ticket> ProofChannel::submit(std::span<const std::byte> in, std::size_t out_bytes,
                                         pmd::SlotClass slot_class) {
  if (const auto qpn = qp_of(in, prm::Opcode::QP_2RST)) deceit_->on_qp_reset(*qpn);
  if (const auto qpn = qp_of(in, prm::Opcode::DESTROY_QP)) deceit_->on_qp_destroyed(*qpn);
  const bool is_key_step = is_destroy_mkey(in) && slot_class == pmd::SlotClass::Fence;
  if (is_key_step) deceit_->on_key_step();
  if (is_key_step && deceit_->lies(Mutant::NoMkeyStep)) {
    key_slots_.insert(kNotSent);
    return pmd::Ticket{kNotSent};
  }
  PORTCULLIS_TRY_ASSIGN(const pmd::Ticket ticket, channel_->submit(in, out_bytes, slot_class));
  if (is_key_step) key_slots_.insert(ticket.slot);
  if (is_key_step && deceit_->lies(Mutant::OutcomeBeforeOwnership)) unawaited_.insert(ticket.slot);
  return ticket;
}

Result<void> ProofChannel::await(pmd::Ticket ticket, std::span<std::byte> out,
                                 std::uint64_t deadline_ns) {
  const bool is_key_step = key_slots_.erase(ticket.slot) != 0;
  auto answered = answer(ticket, out, deadline_ns);
  if (answered && is_key_step) deceit_->on_key_gone();
  return answered;
}

Result<void> ProofChannel::answer(pmd::Ticket ticket, std::span<std::byte> out,
                                  std::uint64_t deadline_ns) {
  if (ticket.slot == kNotSent || unawaited_.erase(ticket.slot) != 0) {
    std::ranges::fill(out, std::byte{0});
    return {};
  }
  auto answered = channel_->await(ticket, out, deadline_ns);
  if (!answered && deceit_->lies(Mutant::DeliveryIgnored) && answered.error().command &&
      answered.error().command->delivery_status != 0) {
    std::ranges::fill(out, std::byte{0});
    return {};
  }
  if (!answered && deceit_->lies(Mutant::TimeoutIsSuccess) &&
      answered.error().code == Errc::Timeout) {
    std::ranges::fill(out, std::byte{0});
    return {};
  }
  return answered;
}

bool ProofChannel::is_done(pmd::Ticket ticket) const noexcept {
  return ticket.slot == kNotSent || unawaited_.contains(ticket.slot) || channel_->is_done(ticket);
}

Result<void> ProofFreer::free_key(prm::Rkey key, std::uint64_t deadline_ns) {
  deceit_->on_key_step();
  auto answered = answer(key, deadline_ns);
  if (answered) deceit_->on_key_gone();
  return answered;
}

Result<void> ProofFreer::answer(prm::Rkey key, std::uint64_t deadline_ns) {
  if (deceit_->lies(Mutant::NoMkeyStep)) return {};
  if (deceit_->lies(Mutant::OutcomeBeforeOwnership)) {
    PORTCULLIS_TRY(queue_->submit_free(key));
    return {};
  }
  auto freed = queue_->free_key(key, deadline_ns);
  if (deceit_->lies(Mutant::DeliveryIgnored)) return {};
  if (!freed && deceit_->lies(Mutant::TimeoutIsSuccess) && freed.error().code == Errc::Timeout)
    return {};
  return freed;
}

std::optional<Result<void>> ProofSpace::told_instead() {
  if (!deceit_->is_on) return std::nullopt;
  if (deceit_->refuses_unmap) {
    ++deceit_->unmaps_refused;
    return fail(Errc::System, "the unmap was made to fail");
  }
  if (deceit_->lies(Mutant::RungThreeLeftOut)) return fail(Errc::System, "the unmap was left out");
  if (deceit_->lies(Mutant::UnmapNotDone)) return Result<void>{};
  return std::nullopt;
}

Result<void> ProofSpace::unmap(Iova iova, std::size_t bytes) {
  if (auto told = told_instead()) return *std::move(told);
  return space_->unmap(iova, bytes);
}

Result<void> ProofSpace::retire(Iova iova, std::size_t bytes) {
  if (auto told = told_instead()) return *std::move(told);
  return space_->retire(iova, bytes);
}

}  // namespace portcullis::proof::adversary
