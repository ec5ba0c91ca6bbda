// SPDX-License-Identifier: BSD-3-Clause
//
// Keys with signatures at the requester. A queue pair with qpc.drain_sigerr stops behind a transfer
// that failed a check: it drains to SQD, "somewhere between the WQE that generated the signature
// error, and the next WQE that has IBV_SEND_FENCE" (mlx5dv_qp_cancel_posted_send_wrs(3)). Here no
// WQE is begun any more, fenced or not.
#include "model/transport/requester.hpp"
#include "model/transport/signature_report.hpp"

namespace portcullis::model {

bool Requester::gather_signed(Qp& qp, std::uint32_t key, std::uint64_t va,
                              std::span<std::byte> out) {
  SignedTransfer transfer = signed_transfer(*engine_);
  if (!transfer.gather(key, va, out)) return false;
  if (transfer.fault()) report(qp, *transfer.fault());
  return true;
}

bool Requester::scatter_signed(Qp& qp, std::uint32_t key, std::uint64_t va,
                               std::span<const std::byte> data) {
  SignedTransfer transfer = signed_transfer(*engine_);
  SignedWrites writes;
  if (!transfer.scatter(key, va, data, writes)) return false;
  const std::byte* from = writes.bytes.data();
  for (const SignedWrites::Part& part : writes.parts) {
    for (std::uint32_t done = 0; done < part.bytes;) {
      const Extents where =
          engine_->deps.mkeys->translate_memory(key, part.at + done, part.bytes - done);
      if (where.count == 0) return false;
      static_cast<void>(engine_->deps.dma->write_payload(where, from));
      done += where.bytes();
      from += where.bytes();
    }
  }
  if (transfer.fault()) report(qp, *transfer.fault());
  return true;
}

void Requester::report(Qp& qp, const SignatureFault& fault) {
  // A CQ without room has raised its own error, and fails the next completion too.
  static_cast<void>(report_fault(*engine_, qp, qp.cqn_snd, fault));
  if (!qp.drains_on_fault || qp.state != prm::QpState::RTS) return;
  qp.state = prm::QpState::SQ_DRAINING;
  engine_->deps.scheduler->post(Task{&Requester::drain_task, this, qp.qpn});
}

void Requester::drain_task(void* self, std::uint64_t qpn) {
  auto& requester = *static_cast<Requester*>(self);
  Qp* const qp = requester.engine_->qps->find(static_cast<std::uint32_t>(qpn));
  if (qp != nullptr && qp->state == prm::QpState::SQ_DRAINING) requester.drain(*qp);
}

/// WQEs that were not begun before the queue drained are read again: who has it drained may make
/// NOPs of them, from qpc.hw_sq_wqebb_counter on (mlx5dv_qp_cancel_posted_send_wrs and
/// mlx5_qp_query_sqd of rdma-core's mlx5/qp.c).
void Requester::forget_fetched(SendState& send) noexcept {
  if (send.oldest == send.newest) return;
  const Message& first = send.at(send.oldest);
  send.fetched = first.wqe_index;
  send.next_psn = first.first_psn;
  send.newest = send.cursor = send.oldest;
  send.cursor_packet = 0;
  loaded_ = nullptr;
}

}  // namespace portcullis::model
