// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/receive_target.hpp"

#include <array>
#include <bit>
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

Result<void> dealloc_transport_domain(CommandChannel& channel, std::uint32_t number) {
  prm::Buffer<prm::dealloc_transport_domain_in> in;
  in.put<"opcode">(prm::Opcode::DEALLOC_TRANSPORT_DOMAIN).put<"transport_domain">(number);
  return InlineCommand(in).run(channel);
}

InlineCommand destroy_rq_command(std::uint32_t rqn) {
  prm::Buffer<prm::destroy_rq_in> in;
  in.put<"opcode">(prm::Opcode::DESTROY_RQ).put<"rqn">(rqn);
  return InlineCommand(in);
}

InlineCommand destroy_tir_command(std::uint32_t tirn) {
  prm::Buffer<prm::destroy_tir_in> in;
  in.put<"opcode">(prm::Opcode::DESTROY_TIR).put<"tirn">(tirn);
  return InlineCommand(in);
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
                                            const ProtectionDomain& pd, const CompletionQueue& cq) {
  PORTCULLIS_TRY_ASSIGN(
      DmaBuffer queue,
      allocate_queue(*context.arena, std::size_t{1} << (kLogStride + kLogEntries)));
  PORTCULLIS_TRY_ASSIGN(DmaBuffer record, context.arena->allocate(prm::kDoorbellRecordBytes));
  ReceiveTarget target(*context.commands, std::move(queue), std::move(record));
  PORTCULLIS_TRY(target.create_rq(context, pd, cq));
  PORTCULLIS_TRY(target.make_ready(context));
  PORTCULLIS_TRY(target.create_tir(context, domain));
  return target;
}

ReceiveTarget::~ReceiveTarget() {
  if (tir_.destroy()) (void)rq_.destroy();
  if (!rq_.is_live()) return;
  queue_.quarantine();
  record_.quarantine();
}

Result<void> ReceiveTarget::create_rq(const Context& context, const ProtectionDomain& pd,
                                      const CompletionQueue& cq) {
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
                        run_with_tail<prm::create_rq_out>(*context.commands, in, pages));
  rq_ = ObjectHandle(*context.commands, out.get<"rqn">(),
                     [](CommandChannel& channel, std::uint32_t rqn) {
                       return destroy_rq_command(rqn).run(channel);
                     });
  return {};
}

Result<void> ReceiveTarget::make_ready(const Context& context) const {
  prm::Buffer<prm::modify_rq_in> in;
  in.put<"opcode">(prm::Opcode::MODIFY_RQ).put<"rqn">(rqn());
  in.put<"rq_state">(prm::RqState::RST).put<"ctx.state">(prm::RqState::RDY);
  PORTCULLIS_TRY(run<prm::modify_rq_out>(*context.commands, in));
  return {};
}

Result<void> ReceiveTarget::create_tir(const Context& context, const TransportDomain& domain) {
  prm::Buffer<prm::create_tir_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_TIR);
  in.put<"ctx.disp_type">(prm::TirDispType::DIRECT).put<"ctx.inline_rqn">(rqn());
  in.put<"ctx.transport_domain">(domain.number());
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::create_tir_out>(*context.commands, in));
  tir_ = ObjectHandle(*context.commands, out.get<"tirn">(),
                      [](CommandChannel& channel, std::uint32_t tirn) {
                        return destroy_tir_command(tirn).run(channel);
                      });
  return {};
}

Result<void> ReceiveTarget::destroy(std::uint64_t deadline_ns) {
  if (tir_.is_live())
    PORTCULLIS_TRY(destroy_tir_command(tirn()).run(*commands_, deadline_ns, SlotClass::Common));
  tir_.release();
  if (rq_.is_live())
    PORTCULLIS_TRY(destroy_rq_command(rqn()).run(*commands_, deadline_ns, SlotClass::Common));
  rq_.release();
  return {};
}

}  // namespace portcullis::pmd
