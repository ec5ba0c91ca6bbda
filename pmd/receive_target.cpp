// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/receive_target.hpp"

#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "pmd/command_tail.hpp"
#include "pmd/inline_command.hpp"
#include "pmd/queue_memory.hpp"
#include "prm/doorbell.hpp"
#include "prm/enums.hpp"
#include "prm/receive_commands.hpp"
#include "prm/wqe.hpp"

namespace portcullis::pmd {
namespace {

constexpr std::uint32_t kLogStride = std::countr_zero(prm::kSendWqeBlockBytes);
constexpr std::uint32_t kLogEntries = 0;

Result<void> dealloc_transport_domain(CommandChannel& channel, std::uint32_t number,
                                      std::uint64_t deadline_ns) {
  prm::Buffer<prm::dealloc_transport_domain_in> in;
  in.put<"opcode">(prm::Opcode::DEALLOC_TRANSPORT_DOMAIN).put<"transport_domain">(number);
  return InlineCommand(in).run(channel, deadline_ns, SlotClass::Common);
}

Result<void> destroy_rq(CommandChannel& channel, std::uint32_t rqn, std::uint64_t deadline_ns) {
  prm::Buffer<prm::destroy_rq_in> in;
  in.put<"opcode">(prm::Opcode::DESTROY_RQ).put<"rqn">(rqn);
  return InlineCommand(in).run(channel, deadline_ns, SlotClass::Common);
}

Result<void> destroy_tir(CommandChannel& channel, std::uint32_t tirn, std::uint64_t deadline_ns) {
  prm::Buffer<prm::destroy_tir_in> in;
  in.put<"opcode">(prm::Opcode::DESTROY_TIR).put<"tirn">(tirn);
  return InlineCommand(in).run(channel, deadline_ns, SlotClass::Common);
}

}  // namespace

Result<TransportDomain> TransportDomain::create(const Context& context) {
  prm::Buffer<prm::alloc_transport_domain_in> in;
  in.put<"opcode">(prm::Opcode::ALLOC_TRANSPORT_DOMAIN);
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run<prm::alloc_transport_domain_out>(*context.commands, in));
  return TransportDomain(
      ObjectHandle(*context.commands, out.get<"transport_domain">(), dealloc_transport_domain));
}

Result<ReceiveTarget> ReceiveTarget::create(const Context& context, const TransportDomain& domain,
                                            const ProtectionDomain& pd, const CompletionQueue& cq,
                                            std::uint64_t deadline_ns) {
  PORTCULLIS_TRY_ASSIGN(
      DmaBuffer queue,
      allocate_queue(*context.arena, std::size_t{1} << (kLogStride + kLogEntries)));
  PORTCULLIS_TRY_ASSIGN(DmaBuffer record, context.arena->allocate(prm::kDoorbellRecordBytes));
  ReceiveTarget target(*context.commands, std::move(queue), std::move(record));
  auto made = target.make(domain, pd, cq, deadline_ns);
  if (made) return target;
  // A device that let the deadline pass is asked no more.
  if (made.error().code == Errc::Timeout)
    target.rq_.give_up();
  else
    (void)target.destroy(deadline_ns);
  return forward_error(std::move(made));
}

ReceiveTarget::~ReceiveTarget() {
  if (!tir_.is_refused() && !rq_.is_refused()) (void)destroy(std::nullopt);
  if (!rq_.is_live()) return;
  quarantine();
  rq_.give_up();  // a TIR that stays refers to it
}

void ReceiveTarget::quarantine() noexcept {
  queue_.quarantine();
  record_.quarantine();
}

Result<void> ReceiveTarget::make(const TransportDomain& domain, const ProtectionDomain& pd,
                                 const CompletionQueue& cq, std::uint64_t deadline_ns) {
  auto number = create_rq(pd, cq, deadline_ns);
  if (!number) {
    if (may_have_happened(number.error())) quarantine();
    return forward_error(std::move(number));
  }
  rq_ = ObjectHandle(*commands_, *number, destroy_rq);
  PORTCULLIS_TRY(make_ready(deadline_ns));
  return create_tir(domain, deadline_ns);
}

Result<std::uint32_t> ReceiveTarget::create_rq(const ProtectionDomain& pd,
                                               const CompletionQueue& cq,
                                               std::uint64_t deadline_ns) const {
  prm::Buffer<prm::create_rq_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_RQ);
  in.put<"ctx.state">(prm::RqState::RST).put<"ctx.mem_rq_type">(prm::MemRqType::MEMORY_RQ_INLINE);
  in.set<"ctx.vsd", 1>().set<"ctx.flush_in_error_en", 1>();
  in.put<"ctx.ts_format">(prm::QpcTimestampFormat::FREE_RUNNING);
  in.put<"ctx.cqn">(cq.number());
  in.put<"ctx.wq.wq_type">(prm::WqType::CYCLIC).put<"ctx.wq.pd">(pd.number());
  in.put<"ctx.wq.dbr_addr">(record_.iova());
  in.put<"ctx.wq.log_wq_stride">(kLogStride).put<"ctx.wq.log_wq_sz">(kLogEntries);
  in.put<"ctx.wq.log_wq_pg_sz">(log_page_size(queue_.bytes().size()));
  const std::array<std::uint64_t, 1> pages{queue_.iova()};
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run_with_tail<prm::create_rq_out>(*commands_, in, pages, deadline_ns));
  return out.get<"rqn">();
}

Result<void> ReceiveTarget::make_ready(std::uint64_t deadline_ns) const {
  prm::Buffer<prm::modify_rq_in> in;
  in.put<"opcode">(prm::Opcode::MODIFY_RQ).put<"rqn">(rqn());
  in.put<"rq_state">(prm::RqState::RST).put<"ctx.state">(prm::RqState::RDY);
  PORTCULLIS_TRY(run<prm::modify_rq_out>(*commands_, in, deadline_ns));
  return {};
}

Result<void> ReceiveTarget::create_tir(const TransportDomain& domain, std::uint64_t deadline_ns) {
  prm::Buffer<prm::create_tir_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_TIR);
  in.put<"ctx.disp_type">(prm::TirDispType::DIRECT).put<"ctx.inline_rqn">(rqn());
  in.put<"ctx.transport_domain">(domain.number());
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::create_tir_out>(*commands_, in, deadline_ns));
  tir_ = ObjectHandle(*commands_, out.get<"tirn">(), destroy_tir);
  return {};
}

Result<void> ReceiveTarget::destroy(std::optional<std::uint64_t> deadline_ns) {
  PORTCULLIS_TRY(tir_.destroy(deadline_ns));
  return rq_.destroy(deadline_ns);
}

}  // namespace portcullis::pmd
