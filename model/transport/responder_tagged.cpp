// SPDX-License-Identifier: BSD-3-Clause
//
// Messages to a queue pair whose receives are tagged buffers too (Documentation/tag_matching.md of
// rdma-core):
//
//   NO_TAG, FIN         into a receive of the queue, whole: UCX finds both under TM_NO_TAG
//                       (uct_rc_mlx5_iface_common_poll_rx)
//   EAGER, matched      what is behind its header into the entry's buffer. One packet: one
//                       completion, more: one when it has matched and one at the end
//   RNDV, matched       one completion now; the data is fetched, and has its own then
//   neither, unmatched  as NO_TAG, and counted: "unexpected"
//
// The header stands in the completion that says of a match, and in no other: the test of rendezvous
// in rdma-core's tests/test_tag_matching.py wants no tag in the second one.
//
// A rendezvous that the device does not fetch has its headers in the buffer, in one completion that
// says so ("when a posted tagged buffer is insufficient to hold the data"). Hypotheses: that this
// goes for a queue pair that has a send queue of its own, too; that of headers that do not fit only
// the beginning is there; that a message too short for its headers has no tag; that a rendezvous
// request of more than max_rndv_hdr_size is unexpected; and that a message too long for its entry
// is refused as one is that is too long for a receive.
#include <algorithm>

#include "model/transport/responder.hpp"
#include "model/transport/tag_completions.hpp"

namespace portcullis::model {
namespace {

using Reception = TaggedQp::Reception;

prm::ConstView<prm::ibv_tmh> header_of(const Packet& packet) {
  return prm::ConstView<prm::ibv_tmh>::at(packet.payload);
}

/// What the first packet of a message asks for, matched or not; nothing for one without a tag.
std::optional<prm::TmhOp> operation_of(const Packet& packet) {
  if (packet.payload.size() < prm::ibv_tmh::bytes) return std::nullopt;
  const auto op = prm::TmhOp{static_cast<std::uint8_t>(header_of(packet).get<"opcode">())};
  if (op == prm::TmhOp::RNDV && packet.payload.size() < Rendezvous::kHeaderBytes)
    return std::nullopt;
  const bool has_tag = op == prm::TmhOp::EAGER || op == prm::TmhOp::RNDV;
  return has_tag ? std::optional(op) : std::nullopt;
}

bool may_match(const Packet& packet, prm::TmhOp op) {
  return op == prm::TmhOp::EAGER ||
         (packet.info().end && packet.payload.size() <= prm::kMaxRndvMessageBytes);
}

std::uint32_t fetched_bytes(const Packet& packet) {
  const auto where = prm::ConstView<prm::ibv_rvh>::at(packet.payload, prm::ibv_tmh::bytes);
  return static_cast<std::uint32_t>(where.get<"len">());
}

Reception matched_as(const TaggedQp& tagged, const Packet& packet, prm::TmhOp op,
                     const TagList::Match& match) {
  if (op == prm::TmhOp::EAGER) return Reception::Eager;
  const bool fits = fetched_bytes(packet) <= match.piece.bytes;
  return tagged.fetches && tagged.has_room() && fits ? Reception::Rendezvous : Reception::Software;
}

}  // namespace

/// Nothing has changed when it is refused as NotReady: the message comes again, and may match then.
Refusal Responder::begin_tagged(Qp& qp, const Packet& packet) const {
  TaggedQp& tagged = *qp.tagged;
  tagged.reception = Reception::NoTag;
  const std::optional<prm::TmhOp> op = operation_of(packet);
  const auto match = op && may_match(packet, *op)
                         ? tagged.list->take(header_of(packet).get<"tag">())
                         : std::nullopt;
  if (match) {
    tagged.reception = matched_as(tagged, packet, *op, *match);
    tagged.match = *match;
    tagged.in_message = true;
    std::ranges::copy(packet.payload.first(tagged.header.size()), tagged.header.begin());
    qp.receive.pieces.assign(1, match->piece);
    return Refusal::None;
  }
  const Refusal refusal = take_receive(qp);
  if (refusal != Refusal::None || !op) return refusal;
  tagged.reception = Reception::Unexpected;
  tagged.list->count_unexpected();
  return Refusal::None;
}

/// What is no data of the message does not count as received.
void Responder::advance_tagged(Qp& qp, const Packet& packet) {
  TaggedQp& tagged = *qp.tagged;
  const std::span<const std::byte> data = tagged.data_of(packet.payload, packet.info().start);
  if (tagged.reception == Reception::Rendezvous) keep_request(tagged, packet);
  qp.receive.received -= static_cast<std::uint32_t>(packet.payload.size() - data.size());
  advance_data(qp, packet);
  if (!work_.is_rewritten) work_.payload = data;
  if (packet.info().start && !packet.info().end && tagged.has_matched()) report_match(qp);
}

/// Of a rendezvous, whose one packet this is.
void Responder::keep_request(TaggedQp& tagged, const Packet& packet) {
  tagged.reserve();
  work_.tagged = std::make_unique<TaggedWork>();
  Rendezvous& rendezvous = work_.tagged->rendezvous;
  std::ranges::copy(packet.payload.first(rendezvous.headers.size()), rendezvous.headers.begin());
  rendezvous.index = tagged.match.index;
  rendezvous.piece = tagged.match.piece;
}

/// Of a message of several packets: it has matched.
void Responder::report_match(const Qp& qp) {
  work_.tagged = std::make_unique<TaggedWork>();
  work_.tagged->report = {prm::CqeAppOp::TM_CONSUMED, qp.tagged->match.index, qp.tagged->header};
  work_.completes = true;
  work_.owner = qp.receive_owner();
  work_.completion = tag_completion(qp, prm::CqeOpcode::NO_PACKET, work_.tagged->report);
}

/// The message is whole: what its completion, which is filled in but for this, says of tags.
void Responder::report_end(Qp& qp, bool is_first) {
  TaggedQp& tagged = *qp.tagged;
  const bool begins_rendezvous = tagged.reception == Reception::Rendezvous;
  if (!begins_rendezvous) work_.tagged = std::make_unique<TaggedWork>();
  work_.tagged->begins_rendezvous = begins_rendezvous;
  TagReport& report = work_.tagged->report;
  work_.completion.tags = &report;
  tagged.in_message = false;
  if (tagged.reception == Reception::NoTag) {
    report.op = prm::CqeAppOp::TM_NO_TAG;
    return;
  }
  if (tagged.reception == Reception::Unexpected) {
    report.op = prm::CqeAppOp::TM_UNEXPECTED;
    return;
  }
  report.index = tagged.match.index;
  if (is_first) report.head = tagged.header;
  if (tagged.reception == Reception::Eager)
    report.op = is_first ? prm::CqeAppOp::TM_CONSUMED_MSG : prm::CqeAppOp::TM_EXPECTED;
  if (tagged.reception == Reception::Software) report.op = prm::CqeAppOp::TM_CONSUMED_MSG_SW_RDNV;
  if (!begins_rendezvous) return;
  report.op = prm::CqeAppOp::TM_CONSUMED;
  work_.completion.opcode = prm::CqeOpcode::NO_PACKET;
}

}  // namespace portcullis::model
