// SPDX-License-Identifier: BSD-3-Clause
//
// A queue pair: what its context says and where its two halves stand. States and transitions are in
// qp_transitions.cpp, the send half in requester.cpp, the receive half in responder.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/q_counters.hpp"
#include "model/receive_ring.hpp"
#include "model/scheduler.hpp"
#include "model/tag_matching/tagged_qp.hpp"
#include "model/transport/frame.hpp"
#include "model/transport/lane.hpp"
#include "model/transport/receive_queue.hpp"
#include "model/transport/send_wqe.hpp"
#include "prm/cqe.hpp"
#include "prm/enums.hpp"
#include "prm/qp_commands.hpp"
#include "prm/special_qps.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

inline constexpr std::size_t kCacheLineBytes = 64;

/// How a WQE that cannot be carried out ends.
struct WqeError {
  prm::CqeSyndrome syndrome{};
  std::uint8_t vendor_syndrome = 0;
};

/// One WQE from the moment it was fetched until it completes.
struct Message {
  std::uint32_t first_psn = 0;
  std::uint32_t packets = 0;  // 0: a NOP, or a WQE in error
  std::uint32_t length = 0;
  std::uint16_t wqe_index = 0;
  std::uint16_t wqe_blocks = 0;
  prm::WqeOpcode opcode{};
  bool signaled = false;
  bool is_umr = false;           // or SET_PSV, TAG_MATCHING: carried out when it is the oldest
  bool has_changed_key = false;  // of a UMR that only waits for DMA under the old one
  std::uint32_t umr_key = 0;
  bool fetches = false;    // READ or atomic: only its responses acknowledge it
  bool under_way = false;  // such a request was sent and counts in SendState::fetching
  bool fenced = false;     // waits for READs and atomics before it
  bool in_error = false;   // completes with `error` when all before it have completed
  WqeError error;

  [[nodiscard]] std::uint32_t end_psn() const noexcept { return psn_add(first_psn, packets); }
};

/// The send half. Messages between `oldest` and `newest` are fetched; the cursor names the next
/// packet to send and goes back when packets must be sent again. The counters run freely; a message
/// stands at its number modulo the queue's blocks, because a WQE takes at least one.
struct SendState {
  std::vector<Message> messages;
  std::uint32_t oldest = 0;
  std::uint32_t newest = 0;
  std::uint32_t cursor = 0;
  std::uint32_t cursor_packet = 0;
  std::uint16_t fetched = 0;       // next WQE to fetch, in blocks
  std::uint16_t producer = 0;      // as last read from the doorbell record
  std::uint32_t first_psn = 0;     // of the connection
  std::uint32_t unacked_psn = 0;   // every earlier packet is acknowledged
  std::uint32_t next_psn = 0;      // of the next message
  std::uint32_t sent_end_psn = 0;  // one past the highest ever sent
  std::uint32_t unrequested = 0;   // packets since one asked for an acknowledgement
  std::uint32_t retries = 0;       // since the last progress
  std::uint32_t rnr_retries = 0;
  std::uint32_t fetching = 0;       // READs and atomics sent and not complete
  std::uint32_t fetching_psns = 0;  // what they take of the PSN space
  bool gap_retried = false;         // a missing response was asked for again; until progress
  bool step_held = false;           // PacePoint::BetweenPackets
  bool step_over = false;
  std::uint64_t resume_ns = 0;         // after an RNR NAK nothing is sent before; 0: none
  std::uint64_t waiting_since_ns = 0;  // when the last progress was, and a packet under way
  std::uint64_t deadline_ns = 0;       // of the oldest unacknowledged packet; 0: none
  TimerId timer;
  bool timer_set = false;
  bool serve_posted = false;
  bool waits_for_room = false;  // on the wire
  bool has_room = false;        // as it was promised
  bool is_paused = false;       // waits for its priority

  [[nodiscard]] Message& at(std::uint32_t number) noexcept {
    return messages[number & (messages.size() - 1)];
  }
  [[nodiscard]] const Message& at(std::uint32_t number) const noexcept {
    return messages[number & (messages.size() - 1)];
  }
};

/// A READ or an atomic that a duplicate may ask for again.
struct ResponderResource {
  Operation operation = Operation::None;
  std::uint32_t first_psn = 0;
  std::uint32_t packets = 0;
  std::uint64_t va = 0;
  std::uint32_t length = 0;
  std::uint32_t rkey = 0;
  std::uint32_t pd = 0;
  std::uint64_t original = 0;  // of an atomic
  std::vector<Extents> where;  // of each response, for replay-unchecked

  [[nodiscard]] bool covers(std::uint32_t psn) const noexcept {
    return operation != Operation::None && ((psn - first_psn) & kPsnMask) < packets;
  }
};

/// The receive half. What every data packet asks and changes comes first, in one cache line.
struct ReceiveState {
  std::uint32_t expected_psn = 0;
  std::uint32_t acked_psn = 0;  // what a duplicate is acknowledged with
  std::uint32_t msn = 0;
  // RDMA WRITE
  std::uint32_t rkey = 0;
  std::uint32_t remaining = 0;
  std::uint32_t length = 0;
  std::uint64_t va = 0;      // where the next payload goes
  bool refused = false;      // the QP is going to ERR; nothing more is looked at
  bool nak_sent = false;     // of a sequence error; once until the missing packet comes
  bool in_message = false;   // between First and Last
  bool dropping = false;     // of UC: until a message begins
  bool established = false;  // a request came: COMM_EST has been raised, or never will be
  Operation operation = Operation::None;  // of that message
  // behaviour dispatch-cache
  std::uint32_t cached_rkey = 0;  // of the WRITE admitted last, with where it went; 0: none
  std::uint32_t pd = 0;           // that keys are checked in; on XRC the message's own
  std::uint64_t cached_va = 0;
  Iova cached_iova = 0;

  std::uint64_t cached_until_ns = 0;
  std::uint32_t first_psn = 0;  // of the connection
  // READ and atomics: a ring
  std::vector<ResponderResource> resources;
  std::size_t next_resource = 0;
  // SEND
  std::uint16_t consumed = 0;  // receive WQEs
  std::vector<ReceivePiece> pieces;
  std::uint32_t received = 0;          // bytes of the message
  std::optional<std::uint16_t> taken;  // the receive in hand, of a shared queue
  // XRC: the queue that the message is for
  std::uint32_t xrc_srqn = 0;
  ReceiveOwner xrc_owner;
};

inline constexpr std::uint32_t kUnderlayMode = 2;  // MLX5_QP_ENHANCED_ULP_STATELESS_MODE

/// Whether the context asks for an underlay queue pair: one of UD without queues, hence with
/// neither PD, CQs nor UAR. What send queues send whose TIS names it (tisc.underlay_qpn), and what
/// its root of NIC_RX forwards, is IP over InfiniBand of its number (mlx5i_create_underlay_qp of
/// mlx5/core/ipoib/ipoib.c).
[[nodiscard]] inline bool is_underlay(prm::ConstView<prm::qpc> context) noexcept {
  return context.get<"ulp_stateless_offload_mode">() == kUnderlayMode &&
         context.get<"st">() == prm::number(prm::QpServiceType::UD) &&
         context.get<"rq_type">() == prm::number(prm::QpRqType::NON_ZERO_RQ);
}

/// A thousand of these do not fit the cache of a core, so what a packet needs stands in few lines:
/// the first, the send half or the receive half, the frame's headers, and whom the peer is.
struct alignas(kCacheLineBytes) Qp {
  std::uint32_t qpn = 0;
  prm::QpState state = prm::QpState::RST;
  bool rre = false, rwe = false, rae = false;  // from the transitions, as what follows
  bool force_loopback = false;
  std::uint8_t log_ack_req_freq = 0;
  std::uint8_t ack_timeout = 0;  // 0: for ever
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t max_fetching = 1;  // READs and atomics at a time
  bool rlky = false;             // WQEs may name the reserved lkey; from CREATE_QP, as what follows
  bool reg_umr = false;          // serves UMR alone, and has no peer
  bool drains_on_fault = false;  // in a signature; or from INIT2INIT
  prm::QpServiceType service = prm::QpServiceType::RC;
  std::uint8_t transport = transport_bits::kRc;  // of its packets' opcodes
  bool has_sq = false;
  bool is_underlay = false;  // of UD: SQs send for it, and TIRs receive
  std::uint32_t pd = 0;
  std::uint32_t cqn_snd = 0;
  std::uint32_t cqn_rcv = 0;
  std::uint32_t user_index = 0;
  std::uint32_t mtu_bytes = 0;  // from the transitions, as the next
  std::uint64_t max_message_bytes = 0;
  Lane* lane = nullptr;           // requests under way; null: none
  QCounters* counters = nullptr;  // of its set

  alignas(kCacheLineBytes) SendState send;
  alignas(kCacheLineBytes) SendQueueMemory sq;
  alignas(kCacheLineBytes) ReceiveState receive;
  alignas(kCacheLineBytes) FrameTemplate frame;
  alignas(kCacheLineBytes) Path path;

  ReceiveRing rq;
  std::uint32_t shared_receives = 0;     // in place of it, a number of SharedReceives; 0: none
  std::uint32_t receive_user_index = 0;  // of an XRQ its own
  std::unique_ptr<TaggedQp> tagged;      // null: messages are not matched
  std::uint32_t q_key = 0;               // of UD, from the transitions
  std::uint16_t pkey_index = 0;          // in the port's table
  std::uint32_t wire_qpn = 0;            // the number by which peers know it, of UD
  std::uint32_t xrcd = 0;                // of XRC
  std::uint32_t uar = 0;
  Iova doorbell_record = 0;
  std::uint32_t doorbell_slot = 0;  // where Doorbells keeps it
  /// What QUERY_QP answers where the transport keeps no value of its own.
  prm::Buffer<prm::qpc> context;

  [[nodiscard]] bool is_xrc() const noexcept { return service == prm::QpServiceType::XRC; }
  /// Who hears of a receive that is consumed now.
  [[nodiscard]] ReceiveOwner receive_owner() const noexcept {
    return is_xrc() ? receive.xrc_owner : ReceiveOwner{cqn_rcv, receive_user_index};
  }
  [[nodiscard]] bool is_datagram() const noexcept { return service == prm::QpServiceType::UD; }
  /// QP 0 or 1 of the port, whatever number commands have for it.
  [[nodiscard]] bool is_special() const noexcept { return wire_qpn <= prm::kQp1 && is_datagram(); }
  /// Whether it is connected to one: a UMR QP talks to nobody, one of UD to everybody.
  [[nodiscard]] bool has_peer() const noexcept { return !reg_umr && !is_datagram(); }
  /// What it sends is acknowledged, and sent again until it is.
  [[nodiscard]] bool is_reliable() const noexcept {
    return service != prm::QpServiceType::UC && !is_datagram();
  }
  /// Packets of the peer have been taken in since the connection was made, requests or answers.
  [[nodiscard]] bool has_received() const noexcept {
    return receive.expected_psn != receive.first_psn || send.unacked_psn != send.first_psn;
  }
};

/// Whether requests leave: in RTS, and for what was begun while the send queue drains.
[[nodiscard]] constexpr bool sends(prm::QpState state) noexcept {
  return state == prm::QpState::RTS || state == prm::QpState::SQ_DRAINING;
}
/// Whether requests are answered: draining is the send queue's affair alone, and so is its error.
[[nodiscard]] constexpr bool receives(prm::QpState state) noexcept {
  return sends(state) || state == prm::QpState::RTR || state == prm::QpState::SQD ||
         state == prm::QpState::SQER;
}

class QpTable {
 public:
  explicit QpTable(std::uint32_t log_max_qp) : qps_(std::size_t{1} << log_max_qp) {}

  [[nodiscard]] Qp* find(std::uint32_t qpn) const noexcept {
    return qpn < qps_.size() ? qps_[qpn].get() : nullptr;
  }
  /// Whom a packet to `qpn` is for.
  [[nodiscard]] Qp* receiver(std::uint32_t qpn) const noexcept {
    if (qpn < special_.size()) return special_[qpn];
    Qp* const qp = find(qpn);
    return qp != nullptr && qp->is_special() ? nullptr : qp;
  }
  [[nodiscard]] std::size_t limit() const noexcept { return qps_.size(); }
  /// Of two that are QP 1 the later one gets its packets, a hypothesis: Linux makes one
  /// (mlx5_ib_create_gsi of mlx5_ib/gsi.c).
  void insert(std::unique_ptr<Qp> qp) {
    const std::uint32_t qpn = qp->qpn;
    if (qp->is_special()) special_[qp->wire_qpn] = qp.get();
    qps_[qpn] = std::move(qp);
  }
  void erase(std::uint32_t qpn) noexcept {
    for (Qp*& special : special_)
      if (special == qps_[qpn].get()) special = nullptr;
    qps_[qpn].reset();
  }
  void clear() noexcept {
    special_ = {};
    for (auto& qp : qps_) qp.reset();
  }

 private:
  std::vector<std::unique_ptr<Qp>> qps_;
  std::array<Qp*, prm::kQp1 + 1> special_{};
};

}  // namespace portcullis::model
