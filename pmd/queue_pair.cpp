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

Result<void> destroy_qp(CommandChannel& channel, std::uint32_t qpn) {
  return destroy_qp_command(qpn).run(channel);
}

Result<std::unique_ptr<SendQueue>> make_queue(const Context& context, const Uar& uar,
                                              std::uint32_t log_size) {
  // wqe_index has 16 bits and must tell any two outstanding blocks apart; the arena ends there too.
  constexpr std::uint32_t kMostLogSize = 15;
  const std::uint32_t most = std::min(context.caps.log_max_qp_sz, kMostLogSize);
  if (log_size > most)
    return fail(Errc::InvalidArgument, "send queue of 2^" + std::to_string(log_size) +
                                           " blocks; at most 2^" + std::to_string(most));
  PORTCULLIS_TRY_ASSIGN(DmaBuffer ring,
                        allocate_queue(*context.arena, prm::kSendWqeBlockBytes << log_size));
  PORTCULLIS_TRY_ASSIGN(DmaBuffer record, context.arena->allocate(prm::kDoorbellRecordBytes));
  return std::make_unique<SendQueue>(std::move(ring), std::move(record), uar.page(), log_size);
}

}  // namespace

Result<QueuePair> QueuePair::create(const Context& context, const ProtectionDomain& pd,
                                    CompletionQueue& cq, const Uar& uar,
                                    const QueuePairOptions& options) {
  PORTCULLIS_TRY_ASSIGN(auto queue, make_queue(context, uar, options.log_sq_size));
  PORTCULLIS_TRY(cq.ring().check_room(*queue));
  QueuePair qp(context, cq, pd.number(), std::move(queue));

  prm::Buffer<prm::create_qp_in> in;
  in.set<"opcode", prm::number(prm::Opcode::CREATE_QP)>();
  in.set<"qpc.st", prm::number(prm::QpServiceType::RC)>();
  in.set<"qpc.pm_state", prm::number(prm::QpPathMigration::MIGRATED)>();
  in.set<"qpc.rq_type", prm::number(prm::QpRqType::ZERO_LEN_RQ)>();
  in.put<"qpc.pd">(qp.pdn_);
  in.put<"qpc.log_sq_size">(options.log_sq_size);
  in.put<"qpc.ts_format">(prm::number(context.caps.qp_ts_format != 0
                                          ? prm::QpcTimestampFormat::DEFAULT
                                          : prm::QpcTimestampFormat::FREE_RUNNING));
  in.put<"qpc.uar_page">(uar.index());
  in.put<"qpc.log_page_size">(log_page_size(prm::kSendWqeBlockBytes << options.log_sq_size));
  in.put<"qpc.cqn_snd">(qp.cqn_);
  in.put<"qpc.cqn_rcv">(qp.cqn_);
  in.put<"qpc.dbr_addr">(qp.queue_->record_iova());
  const std::array<std::uint64_t, 1> pages{qp.queue_->ring_iova()};
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run_with_tail<prm::create_qp_out>(*context.commands, in, pages));
  qp.handle_ = ObjectHandle(*context.commands, out.get<"qpn">(), destroy_qp);
  qp.queue_->set_qpn(qp.number());
  PORTCULLIS_TRY(qp.ring_->attach(*qp.queue_));
  return qp;
}

QueuePair& QueuePair::operator=(QueuePair&& other) noexcept {
  if (this != &other) {
    undo();
    context_ = other.context_;
    ring_ = other.ring_;
    cqn_ = other.cqn_;
    pdn_ = other.pdn_;
    access_ = other.access_;
    destroyed_ = other.destroyed_;
    handle_ = std::move(other.handle_);
    queue_ = std::move(other.queue_);
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
  ring_->detach(*queue_);
  destroyed_ = true;
}

void QueuePair::confirm_reset() noexcept {
  ring_->clean(number());
  queue_->reset();
}

void QueuePair::undo() noexcept {
  if (queue_ == nullptr || destroyed_) return;
  if (handle_.is_live() && !handle_.is_refused() && destroy()) return;
  ring_->disown(*queue_);
  queue_->quarantine();
}

}  // namespace portcullis::pmd
