// SPDX-License-Identifier: BSD-3-Clause
//
// When nothing comes back, or a NAK does: packets are sent again, for so long. The budget is what
// tells the explanations of a slow revoke apart, so three of them are behaviours: a least ack
// timeout, a total that the counts have no part in, and whether the last timeout counts.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "model/transport/requester.hpp"
#include "model/transport/wqe_error.hpp"

namespace portcullis::model {

/// After acknowledgements the cursor never stands before the oldest packet that lacks one.
void Requester::align_cursor(SendState& send) noexcept {
  if (static_cast<std::int32_t>(send.cursor - send.oldest) < 0) {
    send.cursor = send.oldest;
    send.cursor_packet = 0;
  }
  if (send.cursor != send.oldest || send.cursor == send.newest) return;
  const Message& message = send.at(send.oldest);
  if (psn_distance(send.unacked_psn, message.first_psn) <= 0) return;
  const std::uint32_t acknowledged = (send.unacked_psn - message.first_psn) & kPsnMask;
  send.cursor_packet = std::max(send.cursor_packet, acknowledged);
}

void Requester::go_back(SendState& send) noexcept {
  send.cursor = send.oldest;
  send.cursor_packet = 0;
  send.unrequested = 0;
  align_cursor(send);
}

void Requester::send_again(Qp& qp) {
  go_back(qp.send);
  start_timer(qp);
  wake(qp);
}

void Requester::retry(Qp& qp) {
  SendState& send = qp.send;
  if (!sends(qp.state) || send.oldest == send.newest) return;
  if (send.retries >= qp.retry_count) return fail_oldest(qp, wqe_error::kRetryExceeded);
  ++send.retries;
  send_again(qp);
}

/// By default (retry_count + 1) timeouts.
void Requester::time_out(Qp& qp) {
  const Behaviours& behaviours = *engine_->deps.behaviours;
  SendState& send = qp.send;
  if (send.oldest == send.newest) return;
  if (behaviours.retx_total_ms) {
    const std::uint64_t end_ns = send.waiting_since_ns + *behaviours.retx_total_ms * kNsPerMs;
    if (engine_->deps.scheduler->now_ns() < end_ns) return send_again(qp);
    return fail_oldest(qp, wqe_error::kRetryExceeded);
  }
  constexpr std::uint64_t kLastDoesNotCount = 7;
  if (behaviours.retry_total == kLastDoesNotCount && send.retries + 1 >= qp.retry_count)
    return fail_oldest(qp, wqe_error::kRetryExceeded);
  retry(qp);
}

std::uint64_t Requester::ack_timeout_ns(const Qp& qp) const noexcept {
  constexpr std::uint64_t kUnitNs = 4096;
  return kUnitNs << std::max<std::uint64_t>(qp.ack_timeout,
                                            engine_->deps.behaviours->min_ack_timeout.value_or(0));
}

/// The first packet after progress went out.
void Requester::start_waiting(Qp& qp) {
  qp.send.waiting_since_ns = engine_->deps.scheduler->now_ns();
  start_timer(qp);
}

/// Sets the deadline. The event in the scheduler is moved only when it fires too early: with
/// traffic the deadline moves with every acknowledgement.
void Requester::start_timer(Qp& qp) {
  if (qp.ack_timeout == 0) return;
  SendState& send = qp.send;
  send.deadline_ns = engine_->deps.scheduler->now_ns() + ack_timeout_ns(qp);
  if (const auto total_ms = engine_->deps.behaviours->retx_total_ms)
    send.deadline_ns = std::min(send.deadline_ns, send.waiting_since_ns + *total_ms * kNsPerMs);
  if (std::exchange(send.timer_set, true)) return;
  send.timer = engine_->deps.scheduler->schedule(send.deadline_ns,
                                                 Task{&Requester::timer_task, this, qp.qpn});
}

void Requester::timer_task(void* self, std::uint64_t qpn) {
  auto& requester = *static_cast<Requester*>(self);
  Qp* const qp = requester.engine_->qps->find(static_cast<std::uint32_t>(qpn));
  if (qp != nullptr) requester.on_timer(*qp);
}

void Requester::on_timer(Qp& qp) {
  SendState& send = qp.send;
  Scheduler& scheduler = *engine_->deps.scheduler;
  send.timer_set = false;
  if (send.deadline_ns == 0) return;
  if (scheduler.now_ns() >= send.deadline_ns) {
    // What asks for the acknowledgement may be among what waits here, and a timeout that is no
    // loss on the way would use up retries. That a card counts none meanwhile is a hypothesis.
    const bool waits = send.waits_for_room || send.has_room;
    if (waits && !engine_->deps.behaviours->retx_total_ms) return start_timer(qp);
    if (send.retries < qp.retry_count) ++qp.counters->local_ack_timeout_err;
    return time_out(qp);
  }
  send.timer_set = true;
  send.timer = scheduler.schedule(send.deadline_ns, Task{&Requester::timer_task, this, qp.qpn});
}

void Requester::stop(Qp& qp) noexcept {
  if (std::exchange(qp.send.timer_set, false)) engine_->deps.scheduler->cancel(qp.send.timer);
  qp.send.deadline_ns = 0;
  qp.send.resume_ns = 0;
}

}  // namespace portcullis::model
