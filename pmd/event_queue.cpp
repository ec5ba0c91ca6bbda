// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/event_queue.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "pmd/command_tail.hpp"
#include "prm/doorbell.hpp"
#include "prm/enums.hpp"
#include "prm/eqe.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::pmd {
namespace {

constexpr std::size_t kOwnerAt = prm::place<prm::eqe, "owner">.offset / 8;
constexpr unsigned kLeastLogEntries = std::bit_width(prm::kNumSpareEqe);
constexpr unsigned kMostLogEntries = std::bit_width(DmaArena::kBlockBytes / prm::kEqeBytes) - 1;

Result<void> destroy_eq(CommandChannel& channel, std::uint32_t number, std::uint64_t deadline_ns) {
  prm::Buffer<prm::destroy_eq_in> in;
  in.set<"opcode", prm::Opcode::DESTROY_EQ>().put<"eq_number">(number);
  PORTCULLIS_TRY(run<prm::destroy_eq_out>(channel, in, deadline_ns));
  return {};
}

/// The ring is one naturally aligned piece, so one address describes it whatever its size.
Result<std::uint32_t> create_eq(const Context& context, const Uar& uar, const DmaBuffer& ring,
                                const EventQueue::Options& options) {
  prm::Buffer<prm::create_eq_in> in;
  const std::uint64_t mask = cells::be64(options.event_mask);
  std::memcpy(in.bytes<"event_bitmask">().data(), &mask, sizeof mask);
  in.set<"opcode", prm::Opcode::CREATE_EQ>()
      .put<"eq_context_entry.log_eq_size">(options.log_entries)
      .put<"eq_context_entry.uar_page">(uar.index())
      .put<"eq_context_entry.log_page_size">(
          static_cast<unsigned>(std::countr_zero(ring.bytes().size() / kPageBytes)));
  const std::uint64_t address = ring.iova();
  PORTCULLIS_TRY_ASSIGN(const auto out, run_with_tail<prm::create_eq_out>(*context.commands, in,
                                                                          std::span(&address, 1)));
  return out.get<"eq_number">();
}

}  // namespace

Result<EventQueue> EventQueue::create(const Context& context, const Uar& uar,
                                      const Options& options) {
  if (options.log_entries < kLeastLogEntries || options.log_entries > kMostLogEntries)
    return fail(Errc::InvalidArgument, "an event queue of 2^" +
                                           std::to_string(options.log_entries) + " entries; 2^" +
                                           std::to_string(kLeastLogEntries) + " to 2^" +
                                           std::to_string(kMostLogEntries) + " expected");
  const std::size_t bytes = prm::kEqeBytes << options.log_entries;
  PORTCULLIS_TRY_ASSIGN(DmaBuffer ring, context.arena->allocate(bytes));
  for (std::size_t at = kOwnerAt; at < bytes; at += prm::kEqeBytes)
    cells::store_release<std::uint8_t>(ring.data() + at, prm::kEqeNeverWritten);
  auto number = create_eq(context, uar, ring, options);
  if (!number) {
    ring.quarantine();  // whatever was answered, the device has heard of it
    return forward_error(std::move(number));
  }
  EventQueue queue(ObjectHandle(*context.commands, *number, &destroy_eq), uar, std::move(ring),
                   options.log_entries);
  queue.write_doorbell();  // as every other driver does once, with index 0
  return queue;
}

EventQueue::EventQueue(ObjectHandle handle, const Uar& uar, DmaBuffer ring,
                       std::uint32_t log_entries) noexcept
    : ring_(std::move(ring)),
      handle_(std::move(handle)),
      doorbell_(uar.page().subspan(prm::kEqDoorbellNoArm).data()),
      log_entries_(log_entries) {}

EventQueue::~EventQueue() { (void)destroy(); }

std::optional<Event> EventQueue::poll() noexcept {
  const std::uint32_t index = consumer_index_ & ((1u << log_entries_) - 1);
  const std::byte* entry = ring_.data() + std::size_t{index} * prm::kEqeBytes;
  const auto owner = cells::load_acquire<std::uint8_t>(entry + kOwnerAt);
  if (!prm::eqe_is_ready(owner, consumer_index_, log_entries_)) return std::nullopt;
  std::array<std::byte, prm::kEqeBytes> copy;
  dma_copy(copy.data(), entry, copy.size());
  ++consumer_index_;
  if (consumer_index_ - announced_index_ >= prm::kNumSpareEqe) update_consumer_index();
  const Event event = decode_event(copy);
  if (std::holds_alternative<UnknownEvent>(event)) ++unknown_events_;
  return event;
}

void EventQueue::update_consumer_index() noexcept {
  if (consumer_index_ == announced_index_) return;
  write_doorbell();
}

void EventQueue::write_doorbell() noexcept {
  announced_index_ = consumer_index_;
  cells::ring<std::uint32_t>(doorbell_, cells::be32(prm::eq_doorbell(number(), consumer_index_)));
}

Result<void> EventQueue::destroy() {
  if (!handle_.is_live() || handle_.is_refused()) return {};
  auto done = handle_.destroy();
  if (!done) ring_.quarantine();  // the device may still write events
  return done;
}

}  // namespace portcullis::pmd
