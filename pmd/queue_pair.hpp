// SPDX-License-Identifier: BSD-3-Clause
//
// A queue pair, RC unless it is one for UMRs: a send queue, and a receive queue where SENDs or
// WRITEs with immediate data are to arrive; RDMA and atomics need none on either side. The object,
// its transitions, and posting (pmd/send_queue.hpp, pmd/receive_queue.hpp). The driver keeps no
// state machine: the device judges every transition, and an error carries its verdict.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "pmd/access.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/object_handle.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/roce_path.hpp"
#include "pmd/uar.hpp"
#include "pmd/work_queues.hpp"
#include "prm/enums.hpp"
#include "prm/numbers.hpp"

namespace portcullis::pmd {

struct QueuePairOptions {
  /// Send queue of 2^log_sq_size basic blocks of 64 bytes, 0 to 15: a WRITE by reference takes one
  /// up to two pieces, 64 bytes inline take two.
  std::uint32_t log_sq_size = 6;
  /// Receive queue of 2^log_rq_size WQEs, 0 to 15, but at least 64 bytes of them; none: the QP has
  /// no receive queue.
  std::optional<std::uint32_t> log_rq_size = std::nullopt;
  /// Pieces that a receive may have: 2^log_receive_pieces, 0 to 5.
  std::uint32_t log_receive_pieces = 0;
  /// QCounter::id() of the set that counts what this QP meets; 0: none.
  std::uint8_t counter_set = 0;
  /// RC, or REG_UMR for a queue of UMRs (pmd/umr_queue.hpp), which talks to nobody.
  prm::QpServiceType service = prm::QpServiceType::RC;
  /// False: no send queue, as of a responder; posting is refused and log_sq_size not looked at.
  bool sends = true;
};

/// INIT to RTR: the peer, and what we answer to it.
struct RtrAttributes {
  RocePath path;
  prm::QpNumber remote_qpn{};
  std::uint32_t rq_psn = 0;  // the peer's sq_psn
  prm::QpcMtu mtu = prm::QpcMtu::MTU_1024;
  std::uint8_t min_rnr_nak = 12;        // timer code; 12 is 0.64 ms
  std::uint8_t max_dest_rd_atomic = 4;  // READs and atomics the peer may have outstanding here
};

/// RTR to RTS: how we ask.
struct RtsAttributes {
  std::uint32_t sq_psn = 0;
  std::uint8_t timeout = 14;  // 4.096 us x 2^timeout; 0 waits for ever
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t max_rd_atomic = 4;  // READs and atomics we may have outstanding at the peer
};

/// From QUERY_QP.
struct QueuePairState {
  prm::QpState state = prm::QpState::RST;
  Access access;  // local_write is not a right of a QP
  prm::QpNumber remote_qpn{};
  std::uint32_t next_send_psn = 0;
  std::uint32_t next_rcv_psn = 0;
  std::uint32_t last_acked_psn = 0;
  prm::PdNumber pdn{};
  prm::QpcMtu mtu = prm::QpcMtu::MTU_256;
  std::uint8_t timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t retries_left = 0;      // cur_retry_count
  std::uint8_t rnr_retries_left = 0;  // cur_rnr_retry
  std::uint8_t min_rnr_nak = 0;
  std::uint8_t max_rd_atomic = 0;
  std::uint8_t max_dest_rd_atomic = 0;
  std::uint8_t counter_set = 0;
};

class QueuePair {
 public:
  /// CREATE_QP, state RESET. Sends complete on `cq`. `context`, `cq` and `uar` must outlive it.
  [[nodiscard]] static Result<QueuePair> create(const Context& context, const ProtectionDomain& pd,
                                                CompletionQueue& cq, const Uar& uar,
                                                const QueuePairOptions& options = {});
  /// On the function's own UAR.
  [[nodiscard]] static Result<QueuePair> create(const Context& context, const ProtectionDomain& pd,
                                                CompletionQueue& cq,
                                                const QueuePairOptions& options = {}) {
    return create(context, pd, cq, *context.uar, options);
  }
  QueuePair(QueuePair&& other) noexcept = default;
  QueuePair& operator=(QueuePair&& other) noexcept;
  ~QueuePair();

  [[nodiscard]] prm::QpNumber number() const noexcept { return prm::QpNumber{handle_.id()}; }

  // Transitions (pmd/qp_transitions.cpp). Attributes as mlx5_ib gives them.
  /// RST2INIT. The port is 1, as ConnectX-5 has one a function.
  [[nodiscard]] Result<void> to_init(Access access);
  /// INIT2RTR.
  [[nodiscard]] Result<void> to_rtr(const RtrAttributes& attributes);
  /// RTR2RTS.
  [[nodiscard]] Result<void> to_rts(const RtsAttributes& attributes);
  /// INIT2INIT: replaces the peer's rights, all three, before the connection is made.
  [[nodiscard]] Result<void> change_access_in_init(Access access);
  /// RTS2RTS: replaces the peer's rights, all three.
  [[nodiscard]] Result<void> change_access(Access access);
  /// RTS2SQD, and waits until the send queue is drained: what has begun is finished, nothing more
  /// is sent; requests may still be posted. Timeout when `until_ns` passes first, and the queue
  /// goes on draining. The opcode is a hypothesis (prm/opcodes.hpp): a device that does not know it
  /// refuses it.
  [[nodiscard]] Result<void> drain(std::uint64_t until_ns);
  /// SQD2RTS: goes on where drain() stopped.
  [[nodiscard]] Result<void> resume();
  /// RST2INIT, INIT2RTR and RTR2RTS of a REG_UMR QP, which has no peer.
  [[nodiscard]] Result<void> to_rts_without_peer();
  /// 2ERR_QP, from any state.
  [[nodiscard]] Result<void> to_error();
  /// 2RST_QP, from any state; the queues are empty afterwards and its completions are gone.
  [[nodiscard]] Result<void> to_reset();
  /// QUERY_QP.
  [[nodiscard]] Result<QueuePairState> query() const;

  // Posting: see pmd/send_queue.hpp and pmd/receive_queue.hpp for what is refused.
  [[nodiscard]] Result<void> post_write_inline(std::span<const std::byte> data,
                                               const WriteRequest& request) {
    return queues_->send().post_write_inline(data, request);
  }
  [[nodiscard]] Result<void> post_write(std::span<const GatherEntry> pieces,
                                        const WriteRequest& request) {
    return queues_->send().post_write(pieces, request);
  }
  [[nodiscard]] Result<void> post_write(const GatherEntry& piece, const WriteRequest& request) {
    return queues_->send().post_write(piece, request);
  }
  [[nodiscard]] Result<void> post(const WorkRequest& request,
                                  std::span<const GatherEntry> pieces = {}) {
    return queues_->send().post(request, pieces);
  }
  [[nodiscard]] Result<void> post(const WorkRequest& request, const GatherEntry& piece) {
    return queues_->send().post(request, {&piece, 1});
  }
  [[nodiscard]] Result<void> post_inline(const WorkRequest& request,
                                         std::span<const std::byte> data) {
    return queues_->send().post_inline(request, data);
  }
  [[nodiscard]] Result<void> post(const KeyRequest& request) {
    return queues_->send().post(request);
  }
  /// Hands everything posted to the device.
  void ring() noexcept { queues_->send().ring(); }
  /// Basic blocks of posted WQEs whose completion has not been polled.
  [[nodiscard]] std::uint32_t outstanding_blocks() const noexcept {
    return queues_->send().outstanding_blocks();
  }
  /// Room for messages, from INIT on. Unsupported when the QP has no receive queue.
  [[nodiscard]] Result<void> post_receive(std::span<const GatherEntry> pieces, std::uint64_t wr_id);
  [[nodiscard]] Result<void> post_receive(const GatherEntry& piece, std::uint64_t wr_id) {
    return post_receive({&piece, 1}, wr_id);
  }
  /// Hands all receives posted to the device.
  void ring_receives() noexcept {
    if (queues_->receive() != nullptr) queues_->receive()->ring();
  }
  [[nodiscard]] std::uint32_t outstanding_receives() const noexcept {
    return queues_->receive() != nullptr ? queues_->receive()->outstanding() : 0;
  }

  /// DESTROY_QP; done twice is done. When it fails the queue's memory is kept for the life of the
  /// process.
  [[nodiscard]] Result<void> destroy();
  /// The number; the caller destroys the QP from here on (pmd/fence_commands.hpp). This object
  /// keeps the memory that the device uses and gives it back only after confirm_destroyed().
  prm::QpNumber release() noexcept { return prm::QpNumber{handle_.release()}; }
  /// DESTROY_QP on the released number has returned success.
  void confirm_destroyed() noexcept;
  /// 2RST_QP on the released number has returned success: the queues are empty.
  void confirm_reset() noexcept;

 private:
  QueuePair(const Context& context, CompletionQueue& cq, prm::PdNumber pdn,
            const QueuePairOptions& options, std::unique_ptr<WorkQueues> queues) noexcept
      : context_(&context),
        ring_(&cq.ring()),
        cqn_(cq.number()),
        pdn_(pdn),
        service_(options.service),
        counter_set_(options.counter_set),
        queues_(std::move(queues)) {}
  void undo() noexcept;

  const Context* context_;
  CompletionRing* ring_;
  std::uint32_t cqn_;
  prm::PdNumber pdn_;
  prm::QpServiceType service_;
  std::uint8_t counter_set_;
  Access access_;           // as given to to_init: RTR repeats it
  bool destroyed_ = false;  // the device holds nothing any more
  ObjectHandle handle_;
  std::unique_ptr<WorkQueues> queues_;
};

}  // namespace portcullis::pmd
