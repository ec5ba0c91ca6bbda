// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/completion_queue.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "pmd/command_tail.hpp"
#include "pmd/inline_command.hpp"
#include "pmd/queue_memory.hpp"
#include "prm/enums.hpp"
#include "prm/object_commands.hpp"

namespace portcullis::pmd {
namespace {

Result<void> destroy_cq(CommandChannel& channel, std::uint32_t cqn, std::uint64_t deadline_ns) {
  prm::Buffer<prm::destroy_cq_in> in;
  in.set<"opcode", prm::number(prm::Opcode::DESTROY_CQ)>().put<"cqn">(cqn);
  return InlineCommand(in).run(channel, deadline_ns, SlotClass::Common);
}

}  // namespace

Result<CompletionQueue> CompletionQueue::create(const Context& context, const Uar& uar,
                                                std::uint8_t eqn, std::uint32_t log_size) {
  constexpr std::uint32_t kMostLogSize = std::countr_zero(DmaArena::kBlockBytes / prm::kCqeBytes);
  const std::uint32_t most = std::min(context.caps.log_max_cq_sz, kMostLogSize);
  if (log_size > most)
    return fail(Errc::InvalidArgument, "completion queue of 2^" + std::to_string(log_size) +
                                           " entries; at most 2^" + std::to_string(most));
  const std::size_t bytes = prm::kCqeBytes << log_size;
  PORTCULLIS_TRY_ASSIGN(DmaBuffer ring, allocate_queue(*context.arena, bytes));
  PORTCULLIS_TRY_ASSIGN(DmaBuffer record, context.arena->allocate(prm::kDoorbellRecordBytes));
  CompletionQueue cq(
      context, std::make_unique<CompletionRing>(context.device, std::move(ring), std::move(record),
                                                uar.page(), log_size));

  prm::Buffer<prm::create_cq_in> in;
  in.set<"opcode", prm::number(prm::Opcode::CREATE_CQ)>();
  in.set<"cq_context.cqe_sz", prm::number(prm::CqeSize::B64)>();
  in.put<"cq_context.log_cq_size">(log_size);
  in.put<"cq_context.uar_page">(uar.index());
  in.put<"cq_context.c_eqn_or_apu_element">(eqn);
  in.put<"cq_context.log_page_size">(log_page_size(bytes));
  in.put<"cq_context.dbr_addr">(cq.ring_->record_iova());
  const std::array<std::uint64_t, 1> pages{cq.ring_->ring_iova()};
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run_with_tail<prm::create_cq_out>(*context.commands, in, pages));
  cq.handle_ = ObjectHandle(*context.commands, out.get<"cqn">(), destroy_cq);
  cq.ring_->set_cqn(cq.number());
  return cq;
}

CompletionQueue& CompletionQueue::operator=(CompletionQueue&& other) noexcept {
  if (this != &other) {
    undo();
    context_ = other.context_;
    handle_ = std::move(other.handle_);
    ring_ = std::move(other.ring_);
  }
  return *this;
}

CompletionQueue::~CompletionQueue() { undo(); }

void CompletionQueue::undo() noexcept {
  if (ring_ == nullptr) return;
  if (!handle_.is_refused()) (void)handle_.destroy();
  if (handle_.is_live()) ring_->quarantine();
}

Result<Completion> CompletionQueue::wait(std::uint64_t until_ns) {
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const std::optional<Completion> completion, poll(until_ns));
    if (completion) return *completion;
    if (context_->device.clock.now_ns() < until_ns) continue;
    // Once more after the deadline, for a device that answered while this thread was off its core.
    PORTCULLIS_TRY_ASSIGN(const std::optional<Completion> last, try_poll());
    if (last) return *last;
    return fail(Errc::Timeout, "no completion on completion queue " + std::to_string(number()) +
                                   " within the deadline");
  }
}

}  // namespace portcullis::pmd
