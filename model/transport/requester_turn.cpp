// SPDX-License-Identifier: BSD-3-Clause
//
// When the next packet of a requester may go: what rxe_requester of rxe_req.c asks before it builds
// one (rxe_wqe_is_fenced, RXE_MAX_UNACKED_PSNS, check_init_depth), and what a Pace says.
#include <algorithm>
#include <utility>

#include "model/transport/requester.hpp"

namespace portcullis::model {

bool Requester::may_fetch(const Qp& qp, const Message& message) noexcept {
  return message.under_way || qp.send.fetching < qp.max_fetching;
}

/// The window, the fence, and how many READs and atomics may be under way. What these take of the
/// PSN space is no packet of ours.
bool Requester::has_turn(Qp& qp, const Message& message) {
  constexpr std::int32_t kMostPsns = 1 << 22;
  const SendState& send = qp.send;
  const std::uint32_t psn = psn_add(message.first_psn, send.cursor_packet);
  const std::int32_t distance = psn_distance(psn, send.unacked_psn);
  const auto window = kWindowPackets + static_cast<std::int32_t>(send.fetching_psns);
  if (distance >= std::min(window, kMostPsns)) return false;
  if (message.fetches && !may_fetch(qp, message)) return false;
  // Of what was sent before, READs and atomics behind it may be under way as well.
  const bool is_new = psn_distance(psn, send.sent_end_psn) >= 0;
  if (message.fenced && is_new && send.cursor_packet == 0 && send.fetching != 0) return false;
  return send.cursor_packet == 0 || message.fetches || between_packets(qp, psn);
}

bool Requester::between_packets(Qp& qp, std::uint32_t psn) {
  SendState& send = qp.send;
  if (!engine_->pacer->engaged() || std::exchange(send.step_over, false)) return true;
  if (send.step_held) return false;
  PaceStep step;
  step.at = PacePoint::BetweenPackets;
  step.qpn = qp.qpn;
  step.psn = psn;
  send.step_held = !engine_->pacer->pass(step, Task{&Requester::step_task, this, qp.qpn});
  return !send.step_held;
}

void Requester::step_task(void* self, std::uint64_t qpn) {
  auto& requester = *static_cast<Requester*>(self);
  Qp* const qp = requester.engine_->qps->find(static_cast<std::uint32_t>(qpn));
  if (qp == nullptr || !std::exchange(qp->send.step_held, false)) return;
  qp->send.step_over = true;
  requester.wake(*qp);
}

}  // namespace portcullis::model
