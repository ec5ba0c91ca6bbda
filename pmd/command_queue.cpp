// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/command_queue.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/init_segment.hpp"
#include "prm/opcodes.hpp"
#include "prm/signature.hpp"
#include "prm/status.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {
namespace {

using Entry = prm::cmd_queue_entry;
using Segment = prm::Registers<prm::mlx5_init_seg>;

constexpr std::size_t kOwnershipAt = prm::place<Entry, "ownership">.offset / 8;
constexpr std::uint8_t kOwnedByHardware = 1;
/// Status and syndrome: what every output has (ENABLE_HCA's is 12 bytes long).
constexpr std::size_t kLeastOutBytes = 8;
/// What the low bit of a mailbox pointer counts: bits 8:0 are not there.
constexpr std::uint64_t kPointerUnit =
    std::uint64_t{1} << (32 - prm::place<Entry, "input_mailbox_pointer_31_9">.width);
/// A page of entries: log_cmdq_size + log_cmdq_stride may not exceed it.
constexpr std::uint32_t kMostLogQueueBytes = std::countr_zero(kPageBytes);

struct Shape {
  std::uint32_t log_slots;
  std::uint32_t log_stride;
};

/// What the initialisation segment says of the queue, if this driver can work with it.
Result<Shape> read_shape(const Segment& segment) {
  const std::uint32_t revision = segment.get<"cmdif_rev_fw_sub">() >> 16;
  if (revision != prm::kCmdInterfaceRev)
    return fail(Errc::Unsupported, "command interface revision " + std::to_string(revision) +
                                       "; only " + std::to_string(prm::kCmdInterfaceRev) +
                                       " is known");
  const std::uint32_t sizes = segment.get<"cmdq_addr_l_sz">();
  const Shape shape{prm::log_cmdq_size(sizes), prm::log_cmdq_stride(sizes)};
  constexpr auto kLeastLogSlots = static_cast<std::uint32_t>(
      std::bit_width(CommandQueue::kFenceSlots + CommandQueue::kPageSlots));
  constexpr std::uint32_t kMostLogSlots = std::bit_width(prm::kMaxCommands) - 1;
  if (shape.log_slots < kLeastLogSlots || shape.log_slots > kMostLogSlots)
    return fail(Errc::Unsupported, "a command queue of 2^" + std::to_string(shape.log_slots) +
                                       " entries; 2^" + std::to_string(kLeastLogSlots) + " to 2^" +
                                       std::to_string(kMostLogSlots) + " expected");
  constexpr std::uint32_t kLeastLogStride = std::countr_zero(Entry::bytes);
  if (shape.log_stride < kLeastLogStride || shape.log_slots + shape.log_stride > kMostLogQueueBytes)
    return fail(Errc::Unsupported,
                "command queue entries 2^" + std::to_string(shape.log_stride) + " bytes apart; 2^" +
                    std::to_string(kLeastLogStride) + " to 2^" +
                    std::to_string(kMostLogQueueBytes - shape.log_slots) + " expected");
  return shape;
}

SlotClass class_of(std::uint32_t slot, std::uint32_t count) noexcept {
  if (slot >= count - CommandQueue::kPageSlots) return SlotClass::Pages;
  if (slot >= count - CommandQueue::kPageSlots - CommandQueue::kFenceSlots) return SlotClass::Fence;
  return SlotClass::Common;
}

const char* name(SlotClass slot_class) noexcept {
  switch (slot_class) {
    case SlotClass::Common:
      return "common";
    case SlotClass::Fence:
      return "fence";
    case SlotClass::Pages:
      return "pages";
  }
  return "unknown";
}

/// Ownership and delivery status share a byte.
std::uint8_t load_status_own(const std::byte* entry) noexcept {
  return cells::load_acquire<std::uint8_t>(entry + kOwnershipAt);
}

bool is_returned(const std::byte* entry) noexcept {
  return (load_status_own(entry) & kOwnedByHardware) == 0;
}

std::string command_name(std::uint16_t opcode) {
  return std::string(prm::name(static_cast<prm::Opcode>(opcode)));
}

}  // namespace

Result<std::unique_ptr<CommandQueue>> CommandQueue::create(const Device& device, DmaArena& arena,
                                                           Health& health) {
  const Segment segment(device.bar);
  PORTCULLIS_TRY_ASSIGN(const Shape shape, read_shape(segment));
  PORTCULLIS_TRY_ASSIGN(DmaBuffer page, arena.allocate(kPageBytes));
  const Iova address = page.iova();
  std::unique_ptr<CommandQueue> queue(new CommandQueue(device, health, std::move(page)));
  PORTCULLIS_TRY(queue->add_slots(arena, 1u << shape.log_slots, 1u << shape.log_stride));
  segment.write<"cmdq_addr_h">(static_cast<std::uint32_t>(address >> 32));
  segment.write<"cmdq_addr_l_sz">(
      prm::cmdq_addr_l_sz(address, prm::number(prm::NicInterface::FULL_DRIVER)));
  return queue;
}

CommandQueue::CommandQueue(const Device& device, Health& health, DmaBuffer page) noexcept
    : device_(&device), health_(&health), page_(std::move(page)) {}

CommandQueue::~CommandQueue() {
  for (Slot& slot : slots_) {
    if (slot.state == SlotState::Free) continue;
    slot.in.quarantine();
    slot.out.quarantine();
    page_.quarantine();
  }
}

Result<void> CommandQueue::add_slots(DmaArena& arena, std::uint32_t count,
                                     std::size_t stride_bytes) {
  slots_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    PORTCULLIS_TRY_ASSIGN(MailboxChain in, MailboxChain::create(arena));
    PORTCULLIS_TRY_ASSIGN(MailboxChain out, MailboxChain::create(arena));
    const SlotClass slot_class = class_of(i, count);
    slots_.push_back(
        Slot{page_.data() + i * stride_bytes, slot_class, std::move(in), std::move(out)});
    free_slots(slot_class) |= 1u << i;
    ++usable_[static_cast<std::size_t>(slot_class)];
  }
  return {};
}

std::uint64_t CommandQueue::default_deadline_ns() const {
  return device_->clock.now_ns() + timeout_ns_;
}

std::uint32_t CommandQueue::slots_in_quarantine() const noexcept {
  return slots() - usable_[0] - usable_[1] - usable_[2];
}

Result<Ticket> CommandQueue::submit(std::span<const std::byte> in, std::size_t out_bytes,
                                    SlotClass slot_class) {
  if (!health_->is_good()) return tl::unexpected<Error>(health_->error());
  if (in.size() < prm::kCmdInlineBytes || out_bytes < kLeastOutBytes)
    return fail(Errc::InvalidArgument, "a command of " + std::to_string(in.size()) +
                                           " bytes in and " + std::to_string(out_bytes) +
                                           " out; at least " +
                                           std::to_string(prm::kCmdInlineBytes) + " and " +
                                           std::to_string(kLeastOutBytes) + " expected");
  std::uint32_t& free = free_slots(slot_class);
  if (free == 0)
    return fail(Errc::Busy, std::string("no ") + name(slot_class) + " command slot is free");
  const auto index = static_cast<std::uint32_t>(std::countr_zero(free));
  Slot& slot = slots_[index];
  if (++token_ == 0) ++token_;
  PORTCULLIS_TRY(slot.in.prepare(in.size(), token_));
  PORTCULLIS_TRY(slot.out.prepare(out_bytes, token_));
  free &= ~(1u << index);
  slot.state = SlotState::InFlight;
  slot.out_bytes = out_bytes;
  fill_entry(slot, in, token_);
  ring_doorbell(index);
  return Ticket{index};
}

void CommandQueue::fill_entry(Slot& slot, std::span<const std::byte> in,
                              std::uint8_t token) noexcept {
  const auto header = prm::ConstView<prm::cmd_in>::at(in);
  slot.opcode = static_cast<std::uint16_t>(header.get<"opcode">());
  slot.op_mod = static_cast<std::uint16_t>(header.get<"op_mod">());
  slot.in.write(in.subspan(prm::kCmdInlineBytes));
  slot.in.sign();
  slot.out.sign();
  prm::Buffer<Entry> entry;
  entry.set<"type", prm::kPciCmdXport>()
      .put<"input_length">(in.size())
      .put<"input_mailbox_pointer_63_32">(slot.in.first() >> 32)
      .put<"input_mailbox_pointer_31_9">((slot.in.first() & 0xffff'ffff) / kPointerUnit)
      .put<"output_mailbox_pointer_63_32">(slot.out.first() >> 32)
      .put<"output_mailbox_pointer_31_9">((slot.out.first() & 0xffff'ffff) / kPointerUnit)
      .put<"output_length">(slot.out_bytes)
      .put<"token">(token);
  std::copy_n(in.data(), prm::kCmdInlineBytes, entry.bytes<"command_input_inline_data">().data());
  prm::sign_entry(entry.view(), prm::EntryOwner::Hardware);
  dma_copy(slot.entry, entry.all().data(), Entry::bytes);
  // Last, and by itself: from here on the entry is the device's.
  cells::store_release<std::uint8_t>(slot.entry + kOwnershipAt, kOwnedByHardware);
}

void CommandQueue::ring_doorbell(std::uint32_t slot) const noexcept {
  Segment(device_->bar).write<"cmd_dbell">(1u << slot);
}

bool CommandQueue::is_done(Ticket ticket) const noexcept {
  return ticket.slot < slots_.size() && is_returned(slots_[ticket.slot].entry);
}

Result<void> CommandQueue::await(Ticket ticket, std::span<std::byte> out,
                                 std::uint64_t deadline_ns) {
  if (ticket.slot >= slots_.size() || slots_[ticket.slot].state != SlotState::InFlight)
    return fail(Errc::InvalidArgument,
                "no command is in flight in slot " + std::to_string(ticket.slot));
  Slot& slot = slots_[ticket.slot];
  if (out.size() != slot.out_bytes)
    return fail(Errc::InvalidArgument, "room for " + std::to_string(out.size()) +
                                           " bytes of output; " + std::to_string(slot.out_bytes) +
                                           " were announced");
  if (!is_returned(slot.entry) && !wait_for(slot, deadline_ns))
    return tl::unexpected<Error>(give_up_on(ticket.slot));
  Result<void> verdict = collect(slot, out);
  put_back(ticket.slot);
  // A function known to be broken may say what it likes: nothing it says is success.
  if (!health_->is_good()) return tl::unexpected<Error>(health_->error());
  return verdict;
}

bool CommandQueue::wait_for(const Slot& slot, std::uint64_t deadline_ns) {
  const auto returned = [this, &slot] {
    if (is_returned(slot.entry)) return true;
    if (idle_) idle_();
    return is_returned(slot.entry);
  };
  while (true) {
    if (health_->check() != HealthState::Good) return is_returned(slot.entry);
    const std::uint64_t next_check_ns = device_->clock.now_ns() + kSensorIntervalNs;
    const std::uint64_t until_ns = std::min(deadline_ns, next_check_ns);
    if (wait_until(*device_, until_ns, returned)) return true;
    if (until_ns == deadline_ns) return false;
  }
}

Result<void> CommandQueue::collect(Slot& slot, std::span<std::byte> out) const {
  prm::Buffer<Entry> entry;
  dma_copy(entry.all().data(), slot.entry, Entry::bytes);
  CommandFault fault{slot.opcode, slot.op_mod, 0, 0, 0};
  fault.delivery_status = static_cast<std::uint8_t>(entry.get<"status">());
  if (fault.delivery_status != 0)
    return tl::unexpected<Error>(Error{Errc::CommandFailed, prm::describe(fault), fault});
  if (verify_answers_ &&
      !(prm::entry_signature_is_valid(entry.view()) && slot.out.is_signature_good()))
    return fail(Errc::Malformed, command_name(slot.opcode) + ": the answer's signature is wrong");
  const std::size_t inline_bytes = std::min(out.size(), prm::kCmdInlineBytes);
  std::copy_n(entry.bytes<"command_output_inline_data">().data(), inline_bytes, out.data());
  slot.out.read(out.subspan(inline_bytes));

  const prm::ConstView<prm::cmd_out> header = prm::ConstView<prm::cmd_out>::at(
      std::span<const std::byte>(entry.bytes<"command_output_inline_data">()));
  fault.status = static_cast<std::uint8_t>(header.get<"status">());
  fault.syndrome = header.get<"syndrome">();
  if (fault.status != 0)
    return tl::unexpected<Error>(Error{Errc::CommandFailed, prm::describe(fault), fault});
  return {};
}

void CommandQueue::put_back(std::uint32_t index) noexcept {
  Slot& slot = slots_[index];
  slot.in.release();
  slot.out.release();
  slot.state = SlotState::Free;
  free_slots(slot.slot_class) |= 1u << index;
  replace_lost_slots();
}

Error CommandQueue::give_up_on(std::uint32_t index) {
  Slot& slot = slots_[index];
  slot.state = SlotState::Quarantined;
  --usable_[static_cast<std::size_t>(slot.slot_class)];
  replace_lost_slots();
  // The last look: a card that was pulled is not slow.
  if (health_->check() != HealthState::Good) {
    Error error = health_->error();
    error.text = command_name(slot.opcode) + ": " + error.text;
    return error;
  }
  return Error{Errc::Timeout,
               command_name(slot.opcode) + " was not answered before its deadline; slot " +
                   std::to_string(index) + " stays in quarantine",
               std::nullopt};
}

void CommandQueue::replace_lost_slots() noexcept {
  const auto wanted = [](SlotClass slot_class) {
    return slot_class == SlotClass::Fence ? kFenceSlots : kPageSlots;
  };
  std::uint32_t& common = free_slots(SlotClass::Common);
  for (const SlotClass slot_class : {SlotClass::Fence, SlotClass::Pages}) {
    std::uint32_t& usable = usable_[static_cast<std::size_t>(slot_class)];
    while (usable < wanted(slot_class) && common != 0) {
      const auto index = static_cast<std::uint32_t>(std::bit_width(common)) - 1;
      common &= ~(1u << index);
      free_slots(slot_class) |= 1u << index;
      slots_[index].slot_class = slot_class;
      --usable_[static_cast<std::size_t>(SlotClass::Common)];
      ++usable;
    }
  }
}

}  // namespace portcullis::pmd
