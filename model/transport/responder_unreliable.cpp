// SPDX-License-Identifier: BSD-3-Clause
//
// Requests of a service that answers nothing: what is wrong with one concerns its message alone.
// Which errors end in silence, the classes of rxe_responder say (rxe_resp.c: D and D1).
#include "model/transport/responder.hpp"

namespace portcullis::model {
namespace {

constexpr std::uint32_t kNetworkBytes = grh::bytes;

}  // namespace

void Responder::handle_unreliable(Qp& qp, const Packet& packet) {
  const bool is_datagram = qp.is_datagram();
  if (!is_datagram && !goes_on(qp, packet)) return drop_message(qp);
  work_.psn = packet.psn;
  const Refusal refusal = is_datagram ? admit_datagram(qp, packet) : admit(qp, packet);
  switch (refusal) {
    case Refusal::None:
      is_datagram ? take_datagram(qp, packet) : advance(qp, packet);
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

Refusal Responder::admit_datagram(Qp& qp, const Packet& packet) {
  ReceiveState& receive = qp.receive;
  // Subnet management goes by its lane, not by a Q_Key (qib_ud_rcv of hw/qib/qib_ud.c).
  if (qp.wire_qpn != prm::kQp0 && packet.q_key != qp.q_key) {
    engine_->deps.port_counters->violations.note_qkey();
    return Refusal::InvalidRequest;
  }
  const ReceiveFault fault = read_receive_wqe(*engine_, qp);
  if (fault == ReceiveFault::Empty) return Refusal::NotReady;
  if (fault == ReceiveFault::Unreadable) return Refusal::Protection;
  receive.received = 0;
  if (!has_room(qp, kNetworkBytes + packet.payload.size())) return Refusal::TooLong;
  // Where the header goes counts here, and what it says in take_datagram.
  constexpr std::array<std::byte, kNetworkBytes> kHeader{};
  if (!packet.network.empty() && !place_in_receive(qp, kHeader)) return Refusal::Protection;
  receive.received = kNetworkBytes;
  return place_in_receive(qp, packet.payload) ? Refusal::None : Refusal::Protection;
}

/// An IPv4 header stands in the second half (rdma_network_hdr of include/rdma/ib_verbs.h).
void Responder::take_datagram(Qp& qp, const Packet& packet) {
  const std::span<const std::byte> network = packet.network;
  work_.payload = packet.payload;
  if (!network.empty()) {
    work_.kept.assign(kNetworkBytes - network.size(), std::byte{0});
    work_.kept.insert(work_.kept.end(), network.begin(), network.end());
    work_.kept.insert(work_.kept.end(), packet.payload.begin(), packet.payload.end());
    work_.payload = work_.kept;
  }
  qp.receive.received = static_cast<std::uint32_t>(kNetworkBytes + packet.payload.size());
  prepare_completion(qp, packet);
  const bool ipv4 = network.size() == ipv4_header::bytes;
  const bool infiniband = engine_->wire->port_type() == PortType::InfiniBand;
  const std::uint32_t roce_type = ipv4 ? prm::kCqeRoceIpv4 : prm::kCqeRoceIpv6;
  work_.completion.is_datagram = true;
  work_.completion.slid = packet.source_lid;
  work_.completion.tag = packet.tag;
  // Whom it came from by partition: mlx5_ib asks for it of QP 1 (handle_responder of cq.c).
  if (qp.is_special()) work_.completion.imm_inval_pkey = packet.pkey;
  work_.completion.flags_rqpn = prm::flags_rqpn(
      !network.empty(), infiniband ? packet.service_level : roce_type, packet.source_qpn);
}

}  // namespace portcullis::model
