// SPDX-License-Identifier: BSD-3-Clause
#include "proof/key_tap.hpp"

#include <optional>

#include "prm/enums.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::proof {
namespace {

std::optional<prm::MkeyIndex> destroyed_key(std::span<const std::byte> in) {
  if (in.size() != prm::destroy_mkey_in::bytes) return std::nullopt;
  const auto command = prm::ConstView<prm::destroy_mkey_in>::at(in);
  if (command.get<"opcode">() != prm::number(prm::Opcode::DESTROY_MKEY)) return std::nullopt;
  return prm::MkeyIndex{command.get<"mkey_index">()};
}

}  // namespace

Result<pmd::Ticket> KeyTapChannel::submit(std::span<const std::byte> in, std::size_t out_bytes,
                                          pmd::SlotClass slot_class) {
  const auto key = slot_class == pmd::SlotClass::Fence ? destroyed_key(in) : std::nullopt;
  if (key && events_->on_step) events_->on_step(*key);
  PORTCULLIS_TRY_ASSIGN(const pmd::Ticket ticket,
                        PassingChannel::submit(in, out_bytes, slot_class));
  if (key) keys_.insert_or_assign(ticket.slot, *key);
  return ticket;
}

Result<void> KeyTapChannel::await(pmd::Ticket ticket, std::span<std::byte> out,
                                  std::uint64_t deadline_ns) {
  auto answered = PassingChannel::await(ticket, out, deadline_ns);
  const auto key = keys_.extract(ticket.slot);
  if (answered && !key.empty() && events_->on_gone) events_->on_gone(key.mapped());
  return answered;
}

Result<void> KeyTapFreer::free_key(prm::Rkey key, std::uint64_t deadline_ns) {
  if (events_->on_step) events_->on_step(prm::index_of(key));
  auto freed = inner_->free_key(key, deadline_ns);
  if (freed && events_->on_gone) events_->on_gone(prm::index_of(key));
  return freed;
}

}  // namespace portcullis::proof
