// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/queue_pair.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "pmd/command_tail.hpp"
#include "pmd/fence_commands.hpp"
#include "pmd/queue_memory.hpp"
#include "prm/qp_commands.hpp"

namespace portcullis::pmd {
namespace {

Result<void> destroy_qp(CommandChannel& channel, std::uint32_t qpn, std::uint64_t deadline_ns) {
  return destroy_qp_command(prm::QpNumber{qpn}).run(channel, deadline_ns, SlotClass::Common);
}

Result<std::unique_ptr<WorkQueues>> make_queues(const Context& context, const Uar& uar,
                                                const QueuePairOptions& options) {
  // wqe_index has 16 bits and must tell any two outstanding blocks apart; the arena ends there too.
  constexpr std::uint32_t kMostLogSize = 15;
  const std::uint32_t most = std::min(context.caps.log_max_qp_sz, kMostLogSize);
  if (options.log_sq_size > most)
    return fail(Errc::InvalidArgument, "send queue of 2^" + std::to_string(options.log_sq_size) +
                                           " blocks; at most 2^" + std::to_string(most));
  if (options.log_rq_size.value_or(0) > most)
    return fail(Errc::InvalidArgument, "receive queue of 2^" +
                                           std::to_string(*options.log_rq_size) +
                                           " WQEs; at most 2^" + std::to_string(most));
  if (options.log_receive_pieces > ReceiveQueue::kMostLogPieces)
    return fail(Errc::InvalidArgument,
                "receives of 2^" + std::to_string(options.log_receive_pieces) +
                    " pieces; at most 2^" + std::to_string(ReceiveQueue::kMostLogPieces));
  const auto log_send_blocks = options.sends ? std::optional(options.log_sq_size) : std::nullopt;
  return WorkQueues::create(*context.arena, uar.page(),
                            {log_send_blocks, options.log_rq_size, options.log_receive_pieces});
}

/// Receive queue of a context: none, or its size and stride (create_kernel_qp of mlx5_ib).
void put_receive_queue(prm::Buffer<prm::create_qp_in>& in, const ReceiveQueue* queue) {
  if (queue == nullptr) {
    in.set<"qpc.rq_type", prm::number(prm::QpRqType::ZERO_LEN_RQ)>();
    return;
  }
  in.set<"qpc.rq_type", prm::number(prm::QpRqType::NON_ZERO_RQ)>();
  in.put<"qpc.log_rq_size">(queue->log_size());
  in.put<"qpc.log_rq_stride">(queue->log_pieces());
}

/// Protection domain of an RC QP; what create_kernel_qp of mlx5_ib gives a REG_UMR one instead, and
/// qpc.fre ("fast registration"), which _create_kernel_qp sets for every QP that posts UMRs.
void put_service(prm::Buffer<prm::create_qp_in>& in, prm::QpServiceType service,
                 prm::PdNumber pdn) {
  if (service != prm::QpServiceType::REG_UMR) {
    in.put<"qpc.pd">(pdn);
    return;
  }
  in.set<"qpc.latency_sensitive", 1>();
  in.set<"qpc.fre", 1>();
}

}  // namespace

Result<QueuePair> QueuePair::create(const Context& context, const ProtectionDomain& pd,
                                    CompletionQueue& cq, const Uar& uar,
                                    const QueuePairOptions& options) {
  PORTCULLIS_TRY_ASSIGN(auto queues, make_queues(context, uar, options));
  PORTCULLIS_TRY(cq.ring().check_room(*queues));
  QueuePair qp(context, cq, pd.number(), options, std::move(queues));

  prm::Buffer<prm::create_qp_in> in;
  in.set<"opcode", prm::number(prm::Opcode::CREATE_QP)>();
  in.put<"qpc.st">(options.service);
  in.set<"qpc.pm_state", prm::number(prm::QpPathMigration::MIGRATED)>();
  put_receive_queue(in, qp.queues_->receive());
  put_service(in, options.service, qp.pdn_);
  // create_kernel_qp of mlx5_ib says no_sq where no send was asked for.
  if (options.sends)
    in.put<"qpc.log_sq_size">(options.log_sq_size);
  else
    in.set<"qpc.no_sq", 1>();
  in.put<"qpc.ts_format">(prm::number(context.caps.qp_ts_format != 0
                                          ? prm::QpcTimestampFormat::DEFAULT
                                          : prm::QpcTimestampFormat::FREE_RUNNING));
  in.put<"qpc.uar_page">(uar.index());
  in.put<"qpc.log_page_size">(log_page_size(qp.queues_->bytes()));
  in.put<"qpc.cqn_snd">(qp.cqn_);
  in.put<"qpc.cqn_rcv">(qp.cqn_);
  in.put<"qpc.dbr_addr">(qp.queues_->record_iova());
  const std::array<std::uint64_t, 1> pages{qp.queues_->iova()};
  const auto out = run_with_tail<prm::create_qp_out>(*context.commands, in, pages);
  if (!out) {
    // One that was refused was never there, and its memory serves the next.
    qp.destroyed_ = !may_have_happened(out.error());
    return tl::unexpected<Error>(out.error());
  }
  qp.handle_ = ObjectHandle(*context.commands, out->get<"qpn">(), destroy_qp);
  qp.queues_->send().set_qpn(qp.number());
  PORTCULLIS_TRY(qp.ring_->attach(*qp.queues_));
  return qp;
}

QueuePair& QueuePair::operator=(QueuePair&& other) noexcept {
  if (this != &other) {
    undo();
    context_ = other.context_;
    ring_ = other.ring_;
    cqn_ = other.cqn_;
    pdn_ = other.pdn_;
    service_ = other.service_;
    counter_set_ = other.counter_set_;
    access_ = other.access_;
    destroyed_ = other.destroyed_;
    handle_ = std::move(other.handle_);
    queues_ = std::move(other.queues_);
  }
  return *this;
}

QueuePair::~QueuePair() { undo(); }

Result<void> QueuePair::destroy() {
  if (!handle_.is_live()) return {};
  PORTCULLIS_TRY(handle_.destroy());
  confirm_destroyed();
  return {};
}

void QueuePair::confirm_destroyed() noexcept {
  if (destroyed_) return;
  ring_->detach(*queues_);
  destroyed_ = true;
}

void QueuePair::confirm_reset() noexcept {
  ring_->clean(number());
  queues_->reset();
}

Result<void> QueuePair::post_receive(std::span<const GatherEntry> pieces, std::uint64_t wr_id) {
  ReceiveQueue* queue = queues_->receive();
  if (queue == nullptr)
    return fail(Errc::Unsupported, "a receive on qpn " + std::to_string(prm::number(number())) +
                                       ", which has no receive queue");
  return queue->post(pieces, wr_id);
}

void QueuePair::undo() noexcept {
  if (queues_ == nullptr || destroyed_) return;
  if (handle_.is_live() && !handle_.is_refused() && destroy()) return;
  ring_->disown(*queues_);
  queues_->quarantine();
}

}  // namespace portcullis::pmd
