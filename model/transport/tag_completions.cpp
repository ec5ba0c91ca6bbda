// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/tag_completions.hpp"

#include <utility>

#include "model/transport/engine.hpp"
#include "model/transport/lane.hpp"

namespace portcullis::model {

/// "Tag-matching is initially defined for RC transport" (Documentation/tag_matching.md of
/// rdma-core): others receive by the queue as by any.
void join_xrq(Qp& qp, SharedReceives& receives) {
  const SharedReceives::Uses* const uses = receives.find_xrq(qp.shared_receives);
  if (uses == nullptr) return;
  qp.cqn_rcv = uses->cqn;
  qp.receive_user_index = uses->user_index;
  TagList* const list = receives.tags(qp.shared_receives);
  if (list == nullptr || qp.service != prm::QpServiceType::RC) return;
  const bool fetches = !qp.has_sq && uses->offloads_rendezvous &&
                       qp.context.get<"offload_type">() == prm::kQpOffloadRndv;
  qp.tagged = std::make_unique<TaggedQp>(*list, fetches);
  if (!fetches) return;
  qp.sq.is_of_device = true;
  qp.sq.blocks = TaggedQp::kBlocks;
}

Completion tag_completion(const Qp& qp, prm::CqeOpcode opcode, const TagReport& report) {
  Completion completion;
  completion.opcode = opcode;
  completion.qpn = qp.qpn;
  completion.user_index = qp.receive_owner().user_index;
  completion.tags = &report;
  return completion;
}

void cancel_entry(const Engine& engine, const Qp& qp, std::uint16_t index) {
  const TagReport report{prm::CqeAppOp::TM_MSG_COMPLETION_CANCELED, index, {}};
  // A CQ without room has raised its own error; the QP is, or is going, to ERR already.
  static_cast<void>(engine.deps.cqs->complete(qp.receive_owner().cqn,
                                              tag_completion(qp, prm::CqeOpcode::RESP_SEND, report),
                                              engine.deps.scheduler->now_ns()));
}

void cancel_message(const Engine& engine, Qp& qp) {
  if (std::exchange(qp.tagged->in_message, false)) cancel_entry(engine, qp, qp.tagged->match.index);
}

bool cancel_work(const Engine& engine, Qp& qp, const Work& work) {
  if (work.completion.tags == nullptr) return false;
  const TaggedWork& tagged = *work.tagged;
  if (tagged.report.op == prm::CqeAppOp::TM_UNEXPECTED ||
      tagged.report.op == prm::CqeAppOp::TM_NO_TAG)
    return false;
  if (tagged.begins_rendezvous) qp.tagged->release();
  // The first completion of two says nothing any more: the message has another, or is coming in.
  if (tagged.report.op != prm::CqeAppOp::TM_CONSUMED || tagged.begins_rendezvous)
    cancel_entry(engine, qp, tagged.report.index);
  return true;
}

}  // namespace portcullis::model
