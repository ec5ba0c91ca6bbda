// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/command_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/command_fields.hpp"
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

constexpr std::size_t kTokenAt = prm::place<Entry, "token">.offset / 8;
constexpr std::size_t kOwnershipAt = prm::place<Entry, "ownership">.offset / 8;
constexpr std::uint8_t kOwnedByHardware = 1;
/// Status and syndrome: what every output has (ENABLE_HCA's is 12 bytes long).
constexpr std::size_t kLeastOutBytes = 8;
/// A list of 4 KiB pages for 4 GiB.
constexpr std::size_t kMostBytes = std::size_t{8} << 20;
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

std::string command_name(std::span<const std::byte> header) {
  const auto opcode = prm::ConstView<prm::cmd_in>::at(header).get<"opcode">();
  return std::string(prm::name(static_cast<prm::Opcode>(opcode)));
}

/// Ownership and delivery status share a byte.
bool is_returned(const std::byte* entry) noexcept {
  return (cells::load_acquire<std::uint8_t>(entry + kOwnershipAt) & kOwnedByHardware) == 0;
}

/// Where a command's mailboxes begin; 0 for none.
struct Mailboxes {
  Iova in = 0;
  Iova out = 0;
};

/// Gives the device an entry whose mailboxes are filled. `in` is the whole input.
[[gnu::always_inline]] inline void hand_over(std::byte* at, std::span<const std::byte> in,
                                             std::uint32_t out_bytes, std::uint8_t token,
                                             const Mailboxes& mailboxes) noexcept {
  // The device may look at whose the entry is whenever any doorbell rings: that byte, the entry's
  // last, is only ever stored by itself.
  static_assert(kOwnershipAt == Entry::bytes - 1);
  cells::store_release<std::uint8_t>(at + kOwnershipAt, 0);
  const prm::View<Entry> entry(std::span<std::byte, Entry::bytes>(at, Entry::bytes));
  std::ranges::fill(entry.all().first<kOwnershipAt>(), std::byte{0});
  entry.set<"type", prm::kPciCmdXport>();
  entry.put<"input_length">(static_cast<std::uint32_t>(in.size()));
  entry.put<"input_mailbox_pointer_63_32">(static_cast<std::uint32_t>(mailboxes.in >> 32));
  (void)entry.try_set<"input_mailbox_pointer_31_9">((mailboxes.in & 0xffff'ffff) / kPointerUnit);
  std::copy_n(in.data(), prm::kCmdInlineBytes, entry.bytes<"command_input_inline_data">().data());
  entry.put<"output_mailbox_pointer_63_32">(static_cast<std::uint32_t>(mailboxes.out >> 32));
  (void)entry.try_set<"output_mailbox_pointer_31_9">((mailboxes.out & 0xffff'ffff) / kPointerUnit);
  entry.put<"output_length">(out_bytes);
  entry.all()[kTokenAt] = std::byte{token};
  prm::sign_entry(entry, prm::EntryOwner::Hardware);
  // Last, and by itself: from here on the entry is the device's.
  cells::store_release<std::uint8_t>(at + kOwnershipAt, kOwnedByHardware);
}

/// What stands in an entry that came back. Every field is read once.
struct Answer {
  bool is_signed;
  std::uint8_t delivery_status;
  std::uint8_t status;
  std::uint32_t syndrome;
};

/// Copies the part of the output that stands in the entry, as far as `out` goes.
Answer take_over(const std::byte* at, bool verify, std::span<std::byte> out) noexcept {
  const prm::ConstView<Entry> entry(std::span<const std::byte, Entry::bytes>(at, Entry::bytes));
  std::array<std::byte, prm::kCmdInlineBytes> answer;
  std::copy_n(entry.bytes<"command_output_inline_data">().data(), answer.size(), answer.data());
  if (out.size() >= answer.size())
    std::copy_n(answer.data(), answer.size(), out.data());
  else
    std::copy_n(answer.data(), out.size(), out.data());
  const auto header = prm::ConstView<prm::cmd_out>::at(answer);
  return {!verify || prm::entry_signature_is_valid(entry),
          static_cast<std::uint8_t>(entry.get<"status">()),
          static_cast<std::uint8_t>(header.get<"status">()), header.get<"syndrome">()};
}

Error failure(std::span<const std::byte> command, const Answer& answer) {
  const auto header = prm::ConstView<prm::cmd_in>::at(command);
  CommandFault fault{static_cast<std::uint16_t>(header.get<"opcode">()),
                     static_cast<std::uint16_t>(header.get<"op_mod">()), answer.delivery_status, 0,
                     0};
  if (answer.delivery_status != 0) return Error{Errc::CommandFailed, prm::describe(fault), fault};
  if (!answer.is_signed)
    return Error{Errc::Malformed, command_name(command) + ": the answer's signature is wrong",
                 std::nullopt};
  fault.status = answer.status;
  fault.syndrome = answer.syndrome;
  return Error{Errc::CommandFailed, prm::describe(fault), fault};
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
    if (slot.serial == kFree) continue;
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
  return device_->clock.now_ns() + wait_ns_;
}

std::uint32_t CommandQueue::slots_in_quarantine() const noexcept {
  return slots() - usable_[0] - usable_[1] - usable_[2];
}

[[gnu::always_inline]] inline Result<Ticket> CommandQueue::send(std::span<const std::byte> in,
                                                                std::size_t out_bytes,
                                                                SlotClass slot_class) {
  std::uint32_t& free = free_slots(slot_class);
  const auto index = static_cast<std::uint32_t>(std::countr_zero(free));
  Slot& slot = slots_[index];
  if (static_cast<std::uint8_t>(++serial_) == 0) ++serial_;
  slot.out_bytes = static_cast<std::uint32_t>(out_bytes);
  slot.has_mailboxes = in.size() > prm::kCmdInlineBytes || out_bytes > prm::kCmdInlineBytes;
  Mailboxes mailboxes;
  if (slot.has_mailboxes) [[unlikely]] {
    if (std::max(in.size(), out_bytes) > kMostBytes)
      return refuse(in.size(), out_bytes, slot_class);
    PORTCULLIS_TRY(fill_mailboxes(slot, in));
    mailboxes = {slot.in.first(), slot.out.first()};
  }
  free &= free - 1;
  slot.serial = serial_;
  std::copy_n(in.data(), slot.header.size(), slot.header.data());
  hand_over(slot.entry, in, slot.out_bytes, static_cast<std::uint8_t>(serial_), mailboxes);
  Segment(device_->bar).write<"cmd_dbell">(1u << index);
  return Ticket{index, serial_};
}

Result<Ticket> CommandQueue::submit(std::span<const std::byte> in, std::size_t out_bytes,
                                    SlotClass slot_class) {
  if (!health_->is_good() || free_slots(slot_class) == 0 || in.size() < prm::kCmdInlineBytes ||
      out_bytes < kLeastOutBytes || undo_.is_silent()) [[unlikely]]
    return send_or_refuse(in, out_bytes, slot_class);
  return send(in, out_bytes, slot_class);
}

/// Refused, or to a device that was silent and may have answered since.
Result<Ticket> CommandQueue::send_or_refuse(std::span<const std::byte> in, std::size_t out_bytes,
                                            SlotClass slot_class) {
  const bool is_possible = health_->is_good() && free_slots(slot_class) != 0 &&
                           in.size() >= prm::kCmdInlineBytes && out_bytes >= kLeastOutBytes;
  if (is_possible && !is_in_vain(slot_class)) return send(in, out_bytes, slot_class);
  auto refused = refuse(in.size(), out_bytes, slot_class);
  if (undo_.is_on() && in.size() >= prm::kCmdInlineBytes)
    undo_.note_left(prm::opcode_of(in), refused.error().text);
  return refused;
}

Result<Ticket> CommandQueue::refuse(std::size_t in_bytes, std::size_t out_bytes,
                                    SlotClass slot_class) const {
  if (!health_->is_good()) return tl::unexpected<Error>(health_->error());
  if (in_bytes < prm::kCmdInlineBytes || out_bytes < kLeastOutBytes ||
      std::max(in_bytes, out_bytes) > kMostBytes)
    return fail(Errc::InvalidArgument,
                fmt::format("a command of {} bytes in and {} out; {} to {} in and {} to {} out "
                            "expected",
                            in_bytes, out_bytes, prm::kCmdInlineBytes, kMostBytes, kLeastOutBytes,
                            kMostBytes));
  if (undo_.is_on() && undo_.is_silent())
    return fail(Errc::Timeout, "not sent: the device has not answered the commands before");
  return fail(Errc::Busy, fmt::format("no {} command slot is free", name(slot_class)));
}

/// Whether it would only wait for a device that is silent. One that has answered meanwhile, however
/// late, is not; and what firmware asked for by an event it is given.
bool CommandQueue::is_in_vain(SlotClass slot_class) noexcept {
  if (!undo_.is_on() || !undo_.is_silent() || slot_class == SlotClass::Pages) return false;
  if (!is_returned(slots_[last_lost_].entry)) return true;
  undo_.note_answer();
  set_wait();
  return false;
}

Result<void> CommandQueue::fill_mailboxes(Slot& slot, std::span<const std::byte> in) {
  const auto token = static_cast<std::uint8_t>(serial_);
  auto prepared = slot.in.prepare(in.size(), token).and_then([&] {
    return slot.out.prepare(slot.out_bytes, token);
  });
  if (!prepared) {
    slot.in.release();
    slot.out.release();
    return prepared;
  }
  slot.in.write(in.subspan(prm::kCmdInlineBytes));
  slot.in.sign();
  slot.out.sign();
  return {};
}

bool CommandQueue::is_done(Ticket ticket) const noexcept {
  if (ticket.slot >= slots_.size()) return false;
  const Slot& slot = slots_[ticket.slot];
  return slot.serial != ticket.serial || is_returned(slot.entry);  // over: await() refuses at once
}

Result<void> CommandQueue::await(Ticket ticket, std::span<std::byte> out,
                                 std::uint64_t deadline_ns) {
  if (ticket.slot >= slots_.size()) [[unlikely]]
    return refuse(ticket, out.size());
  Slot& slot = slots_[ticket.slot];
  if (slot.serial != ticket.serial || slot.out_bytes != out.size()) [[unlikely]]
    return refuse(ticket, out.size());
  if (!is_returned(slot.entry) && !wait_for(slot, deadline_ns)) [[unlikely]]
    return give_up_on(ticket.slot);
  Answer answer = take_over(slot.entry, verify_answers_, out);
  if (slot.has_mailboxes) [[unlikely]] {
    if (verify_answers_) answer.is_signed &= slot.out.is_signature_good();
    slot.out.read(out.subspan(std::min(out.size(), prm::kCmdInlineBytes)));
    slot.in.release();
    slot.out.release();
  }
  slot.serial = kFree;
  free_slots(slot.slot_class) |= 1u << ticket.slot;
  if (has_lost_slots_) [[unlikely]] {
    undo_.note_answer();
    set_wait();
    replace_lost_slots();
  }
  if (!health_->is_good()) [[unlikely]]
    return tl::unexpected<Error>(health_->error());
  if (!answer.is_signed || (answer.delivery_status | answer.status) != 0) [[unlikely]]
    return tl::unexpected<Error>(failure(slot.header, answer));
  return {};
}

Result<void> CommandQueue::refuse(Ticket ticket, std::size_t out_bytes) const {
  if (ticket.slot >= slots_.size() || slots_[ticket.slot].serial != ticket.serial)
    return fail(Errc::InvalidArgument,
                fmt::format("no command is in flight in slot {}", ticket.slot));
  return fail(Errc::InvalidArgument, fmt::format("room for {} bytes of output; {} were announced",
                                                 out_bytes, slots_[ticket.slot].out_bytes));
}

bool CommandQueue::wait_for(const Slot& slot, std::uint64_t deadline_ns) {
  // The sensors are read while the device works; what a function known to be broken says after
  // that is not believed.
  if (health_->check() != HealthState::Good) return is_returned(slot.entry);
  device_->relax(next_check_ns(deadline_ns));
  return is_returned(slot.entry) || wait_longer(slot, deadline_ns);
}

/// Behind the first look, which no patience is charged for (UndoPatience).
bool CommandQueue::wait_longer(const Slot& slot, std::uint64_t deadline_ns) {
  if (!undo_.is_on()) return wait_on(slot, deadline_ns);
  const std::uint64_t began_ns = device_->clock.now_ns();
  const bool is_answered = wait_on(slot, deadline_ns);
  undo_.note_wait(device_->clock.now_ns() - began_ns);
  set_wait();
  return is_answered;
}

bool CommandQueue::wait_on(const Slot& slot, std::uint64_t deadline_ns) {
  const std::byte* const entry = slot.entry;
  // A fence waits for nobody: pages are given and events taken behind it, unless it is late itself,
  // perhaps because firmware wants a page for it.
  const std::uint64_t serve_from_ns =
      slot.slot_class == SlotClass::Fence ? device_->clock.now_ns() + kFenceAloneNs : 0;
  const auto returned = [this, entry, serve_from_ns] {
    if (is_returned(entry)) return true;
    if (serve_from_ns != 0 && device_->clock.now_ns() < serve_from_ns) return false;
    if (idle_) idle_();
    return is_returned(entry);
  };
  while (health_->check() == HealthState::Good) {
    std::uint64_t until_ns = next_check_ns(deadline_ns);
    if (device_->clock.now_ns() < serve_from_ns) until_ns = std::min(until_ns, serve_from_ns);
    if (wait_until(*device_, until_ns, returned)) return true;
    if (until_ns == deadline_ns) return false;
  }
  return is_returned(entry);
}

std::uint64_t CommandQueue::next_check_ns(std::uint64_t deadline_ns) const {
  return std::min(deadline_ns, device_->clock.now_ns() + kSensorIntervalNs);
}

Result<void> CommandQueue::give_up_on(std::uint32_t index) {
  Slot& slot = slots_[index];
  slot.serial = kQuarantined;
  --usable_[static_cast<std::size_t>(slot.slot_class)];
  has_lost_slots_ = true;
  last_lost_ = index;
  undo_.note_lost();
  set_wait();
  replace_lost_slots();
  // The last look: a card that was pulled is not slow.
  if (health_->check() != HealthState::Good) {
    Error error = health_->error();
    error.text = command_name(slot.header) + ": " + error.text;
    return note_lost(slot, std::move(error));
  }
  return note_lost(
      slot,
      Error{Errc::Timeout,
            fmt::format("{} was not answered before its deadline; slot {} stays in quarantine",
                        command_name(slot.header), index),
            std::nullopt});
}

Result<void> CommandQueue::note_lost(const Slot& slot, Error error) {
  if (undo_.is_on()) undo_.note_left(prm::opcode_of(slot.header), error.text);
  return tl::unexpected<Error>(std::move(error));
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
