// SPDX-License-Identifier: BSD-3-Clause
#include "model/command_queue.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/registers.hpp"
#include "model/reserved.hpp"
#include "prm/eqe.hpp"
#include "prm/signature.hpp"

namespace portcullis::model {
namespace {

using prm::cmd_in;
using prm::cmd_out;
using prm::cmd_queue_entry;
using prm::DeliveryStatus;

using Kind = CommandFaultRule::Kind;

/// cmd_queue_entry without the bits below the mailbox pointers, which have an error of their own.
bool entry_reserved_clear(std::span<const std::byte, cmd_queue_entry::bytes> entry) {
  std::array<std::byte, cmd_queue_entry::bytes> copy;
  std::ranges::copy(entry, copy.begin());
  const prm::View<cmd_queue_entry> view{copy};
  const auto clear_dword_of = [&copy](std::size_t byte) {
    std::memset(copy.data() + byte / 4 * 4, 0, 4);
  };
  clear_dword_of(prm::place<cmd_queue_entry, "input_mailbox_pointer_31_9">.offset / 8);
  clear_dword_of(prm::place<cmd_queue_entry, "output_mailbox_pointer_31_9">.offset / 8);
  return reserved_bits_clear<cmd_queue_entry>(view.all());
}

std::uint16_t opcode_of(std::span<const std::byte> in) {
  return static_cast<std::uint16_t>(prm::ConstView<cmd_in>::at(in).get<"opcode">());
}

}  // namespace

std::uint32_t CommandQueue::in_flight() const noexcept {
  return static_cast<std::uint32_t>(std::popcount(busy_));
}

void CommandQueue::reset() {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (is_busy(i)) record(i, slots_[i], trace::TraceAnswer::None);
  }
  busy_ = 0;
}

void CommandQueue::record(std::uint32_t index, const Slot& slot, trace::TraceAnswer answer) {
  if (!trace_) return;
  trace::TraceCommand command;
  command.sequence = slot.sequence;
  command.slot = index;
  command.in.bytes = slot.in;
  // An entry that was refused before its mailboxes were read still says which command it is.
  if (slot.in.empty() && slot.delivery != DeliveryStatus::FW_ERR) {
    const auto inline_in =
        prm::ConstView<cmd_queue_entry>(slot.entry).bytes<"command_input_inline_data">();
    command.in.bytes.assign(inline_in.begin(), inline_in.end());
  }
  command.answer = answer;
  if (answer == trace::TraceAnswer::Given) {
    command.time_ns = deps_.scheduler->now_ns() - slot.started_ns;
    command.delivery_status = prm::number(slot.delivery);
    command.out.bytes = slot.out;
  }
  trace_->write(command);
}

void CommandQueue::ring(std::uint32_t slots, Iova queue, bool checksums) {
  constexpr std::size_t kStride = std::size_t{1} << InitSegment::kLogCommandStride;
  std::array<std::uint32_t, prm::kMaxCommands> owned;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if ((slots >> i & 1) == 0 || is_busy(i)) continue;
    const auto last = deps_.dma->load_u8(queue + i * kStride + cmd_queue_entry::bytes - 1);
    if (!last) return;  // the queue's address is not mapped: nothing can be read or answered
    if ((*last & 1) != 0) owned[count++] = i;
  }
  deps_.scheduler->shuffle(std::span(owned).first(count));
  for (const std::uint32_t i : std::span(owned).first(count))
    start(i, queue + i * kStride, checksums);
}

void CommandQueue::start(std::uint32_t index, Iova address, bool checksums) {
  Slot& slot = slots_[index];
  busy_ |= 1U << index;
  slot.checksums = checksums;
  // Not of the CREATE_EQ that subscribes: Linux polls for that one, and takes an event of it for a
  // completion that came too late (mlx5_cmd_comp_handler, mlx5/core/cmd.c).
  slot.announced = deps_.eqs->has_subscriber(prm::EventType::CMD);
  slot.address = address;
  slot.fault.reset();
  slot.sequence = ++issued_;
  slot.started_ns = deps_.scheduler->now_ns();
  ++deps_.counters->commands;
  slot.delivery = fetch(slot);
  if (slot.delivery == DeliveryStatus::OK) slot.fault = faults_.meet(opcode_of(slot.in));
  const Task task{&CommandQueue::finish_task, this, index};
  if (const std::uint64_t at_ns = plan(slot); at_ns != slot.started_ns)
    deps_.scheduler->schedule(at_ns, task);
  else
    deps_.scheduler->post(task);
}

DeliveryStatus CommandQueue::fetch(Slot& slot) {
  slot.in.clear();
  slot.out.clear();
  slot.out_blocks.clear();
  if (!deps_.dma->read(slot.address, slot.entry)) return DeliveryStatus::FW_ERR;
  const prm::ConstView<cmd_queue_entry> entry{slot.entry};
  if (slot.checksums && !prm::entry_signature_is_valid(entry)) return DeliveryStatus::SIGNAT_ERR;
  if (entry.get<"type">() != prm::kPciCmdXport) return DeliveryStatus::CMD_DESCR_ERR;
  if (!entry_reserved_clear(entry.all())) return DeliveryStatus::RES_FLD_NOT_CLR_ERR;

  const auto inline_in = entry.bytes<"command_input_inline_data">();
  slot.in.assign(inline_in.begin(), inline_in.end());
  const Chain input = chain_of(entry, Direction::Input, slot.checksums);
  std::vector<Iova> in_blocks;
  if (const auto status = walk(*deps_.dma, input, in_blocks, &slot.in);
      status != DeliveryStatus::OK)
    return status;
  slot.in.resize(std::min<std::size_t>(slot.in.size(), input.length));
  const Chain output = chain_of(entry, Direction::Output, slot.checksums);
  if (const auto status = walk(*deps_.dma, output, slot.out_blocks, nullptr);
      status != DeliveryStatus::OK)
    return status;
  slot.out.assign(output.length, std::byte{0});
  return DeliveryStatus::OK;
}

std::uint64_t CommandQueue::plan(Slot& slot) {
  slot.is_done = false;
  slot.answer_ns = slot.started_ns;
  if (slot.delivery != DeliveryStatus::OK) return slot.started_ns;
  const CommandSpan span = times_.draw(prm::Opcode{opcode_of(slot.in)});
  slot.answer_ns += span.answer_ns;
  if (slot.fault && slot.fault->kind == Kind::Delay) slot.answer_ns += slot.fault->delay_ns;
  const bool waits = deps_.may_wait != nullptr && deps_.may_wait(deps_.context, slot.in);
  return waits ? slot.started_ns + span.least_ns : slot.answer_ns;
}

void CommandQueue::finish_task(void* self, std::uint64_t index) {
  static_cast<CommandQueue*>(self)->finish(static_cast<std::uint32_t>(index));
}

void CommandQueue::resume(std::uint32_t slot) {
  deps_.scheduler->post(Task{&CommandQueue::finish_task, this, slot});
}

void CommandQueue::finish(std::uint32_t index) {
  Slot& slot = slots_[index];
  if (!is_busy(index)) return;
  if (slot.fault && slot.fault->kind == Kind::NeverReturns) return;
  if (slot.fault && slot.fault->kind == Kind::DeliveryStatus)
    slot.delivery = DeliveryStatus{slot.fault->status};
  if (slot.delivery == DeliveryStatus::OK && !slot.is_done) {
    const auto verdict = run(index, slot);
    if (!verdict) return;
    slot.is_done = true;
    // A command that failed leaves nothing but its verdict in the output.
    if (!verdict->ok()) std::ranges::fill(slot.out, std::byte{0});
    std::array<std::byte, cmd_out::bytes> header{};
    const prm::View<cmd_out> out{header};
    out.put<"status">(verdict->status);
    out.put<"syndrome">(verdict->syndrome);
    constexpr std::size_t kVerdict = prm::place<cmd_out, "command_output">.offset / 8;
    std::copy_n(header.begin(), std::min(kVerdict, slot.out.size()), slot.out.begin());
  }
  if (deps_.scheduler->now_ns() < slot.answer_ns) {
    deps_.scheduler->schedule(slot.answer_ns, Task{&CommandQueue::finish_task, this, index});
    return;
  }
  answer(index, slot);
}

std::optional<Verdict> CommandQueue::run(std::uint32_t index, Slot& slot) {
  const bool instead = slot.fault && slot.fault->kind == Kind::Status;
  const bool after = slot.fault && slot.fault->kind == Kind::StatusAfter;
  if (!instead) {
    auto verdict = deps_.execute(deps_.context, Command{index, slot.in, slot.out});
    if (!verdict || !after) return verdict;
  }
  return refuse(prm::CommandStatus{slot.fault->status}, slot.fault->syndrome);
}

void CommandQueue::answer(std::uint32_t index, Slot& slot) {
  Signing signing = slot.checksums ? Signing::Right : Signing::None;
  if (slot.fault && slot.fault->kind == Kind::BadSignature) signing = Signing::Wrong;
  if (slot.delivery == DeliveryStatus::OK && !write_output(slot, signing))
    slot.delivery = DeliveryStatus::FW_ERR;
  give_back(index, slot, signing);
}

bool CommandQueue::write_output(Slot& slot, Signing signing) {
  const prm::View<cmd_queue_entry> entry{slot.entry};
  const std::size_t first = std::min(slot.out.size(), prm::kCmdInlineBytes);
  std::ranges::copy(std::span(slot.out).first(first),
                    entry.bytes<"command_output_inline_data">().begin());
  return write_chain(*deps_.dma, slot.out_blocks, std::span(slot.out).subspan(first), signing);
}

void CommandQueue::give_back(std::uint32_t index, Slot& slot, Signing signing) {
  const prm::View<cmd_queue_entry> entry{slot.entry};
  // Seven bits; an injected value may be wider.
  static_cast<void>(entry.try_set<"status">(prm::number(slot.delivery) & 0x7fU));
  entry.set<"ownership", 0>();
  if (signing != Signing::None) prm::sign_entry(entry, prm::EntryOwner::Software);
  record(index, slot, trace::TraceAnswer::Given);
  if (signing == Signing::Wrong)
    entry.put<"signature">(static_cast<std::uint8_t>(~entry.get<"signature">()));
  busy_ &= ~(1U << index);
  // Only what the device writes: the output half, the ownership byte last.
  constexpr std::size_t kOutput =
      prm::place<cmd_queue_entry, "command_output_inline_data">.offset / 8;
  if (!deps_.dma->publish(slot.address + kOutput, entry.all().subspan<kOutput>())) return;
  if (!slot.announced) return;
  prm::Buffer<prm::cmd_inter_comp_event> event;
  event.put<"command_completion_vector">(std::uint64_t{1} << index);
  deps_.eqs->raise(prm::EventType::CMD, event.all());
}

}  // namespace portcullis::model
