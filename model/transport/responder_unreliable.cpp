// SPDX-License-Identifier: BSD-3-Clause
//
// Requests of a service that answers nothing: what is wrong with one concerns its message alone.
// Which errors end in silence, the classes of rxe_responder say (rxe_resp.c: D and D1).
#include "model/transport/responder.hpp"

namespace portcullis::model {

void Responder::handle_unreliable(Qp& qp, const Packet& packet) {
  if (!goes_on(qp, packet)) return drop_message(qp);
  work_.psn = packet.psn;
  const Refusal refusal = admit(qp, packet);
  switch (refusal) {
    case Refusal::None:
      advance(qp, packet);
      return submit(qp);
    // The receive is ours: the driver hears of it. That it takes the queue pair along is a
    // hypothesis for too long a message, which rxe drops.
    case Refusal::TooLong:
    case Refusal::Protection:
      work_.placements.clear();
      work_.refusal = refusal;
      qp.receive.refused = true;
      return submit(qp);
    case Refusal::NotReady:
      ++qp.counters->out_of_buffer;
      return drop_message(qp);
    default:
      return drop_message(qp);
  }
}

/// The packet begins a message, or is the next of the one in hand.
bool Responder::goes_on(Qp& qp, const Packet& packet) const {
  ReceiveState& receive = qp.receive;
  const bool in_sequence = packet.psn == receive.expected_psn;
  receive.expected_psn = psn_add(packet.psn, 1);
  if (!in_sequence) ++qp.counters->out_of_sequence;
  if (packet.info().start) {
    receive.in_message = receive.dropping = false;
    return true;
  }
  return in_sequence && !receive.dropping;
}

void Responder::drop_message(Qp& qp) {
  ++engine_->deps.counters->frames_dropped;
  work_.placements.clear();
  qp.receive.in_message = false;
  qp.receive.dropping = true;
}

}  // namespace portcullis::model
