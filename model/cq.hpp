// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues: CQEs whose owner bit flips with every round (get_sw_cqe of mlx5_ib/cq.c: valid
// when owner == (ci >> log_cq_size) & 1), the consumer index in the doorbell record, the arm record
// and its sequence number; events that wait for more completions or for time to pass
// (mlx5_core_modify_cq_moderation); a buffer that is replaced (mlx5_ib_resize_cq). A queue that is
// collapsed (cqc.cc) has every CQE in its first entry, and is counted in as any other: DPDK calls
// it use_first_only, create_cq of Snabb's connectx.lua has one of a single entry for each SQ. One
// that compresses (cqc.cqe_comp_en) gathers completions first, see CqeSession.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/block_format.hpp"
#include "model/cqe_session.hpp"
#include "model/dma.hpp"
#include "model/eq.hpp"
#include "model/id_table.hpp"
#include "model/queue_pages.hpp"
#include "model/scheduler.hpp"
#include "model/tag_matching/tag_report.hpp"
#include "model/verdict.hpp"
#include "prm/cqe.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// What a CQE says.
struct Completion {
  prm::CqeOpcode opcode = prm::CqeOpcode::REQ;
  std::uint8_t wqe_opcode = 0;  // sop_drop_qpn[31:24]: the WQE's opcode, of a requester CQE
  prm::CqeSyndrome syndrome{};  // error CQEs only, as vendor_syndrome
  std::uint8_t vendor_syndrome = 0;
  std::uint16_t wqe_counter = 0;  // index of the WQE in its queue, in basic blocks for an SQ
  bool solicited = false;
  std::uint32_t qpn = 0;
  std::uint32_t user_index = 0;  // srqn_uidx
  std::uint32_t byte_cnt = 0;
  std::uint32_t imm_inval_pkey = 0;
  bool is_datagram = false;      // of one the next three are filled in
  std::uint32_t flags_rqpn = 0;  // see prm::flags_rqpn()
  std::uint16_t slid = 0;
  std::optional<std::uint16_t> tag{};  // of VLAN, taken out
  /// Of an Ethernet frame: what it says beside the above; null for others.
  const prm::Buffer<prm::mlx5_ethernet_cqe>* ethernet = nullptr;
  const SignatureFault* fault = nullptr;  // of SIGNATURE_ERR
  const TagReport* tags = nullptr;        // null: it says nothing of tag matching
};

class CqTable {
 public:
  /// cqc.cqe_sz of entries of which all 128 bytes are written: CQE_STRIDE_128_PAD of
  /// linux/mlx5/cq.h. MLX5_CQC_CQE_SZ_* of mlx5_ifc.h has no name for it.
  static constexpr std::uint32_t kPadded = 2;
  CqTable(Dma& dma, EqTable& eqs, Scheduler& scheduler, std::uint32_t log_max_cq);

  /// Writes one CQE64, or gathers it. False when the CQ is in error, does not exist or overran with
  /// this entry: CQ_ERROR has been raised, and the caller takes its QP to error. `now_ns` is the
  /// timestamp.
  bool complete(std::uint32_t cqn, const Completion& completion, std::uint64_t now_ns);

  // Commands and doorbells.
  Verdict create(prm::ConstView<prm::cqc> context, std::vector<Iova> pages, std::uint32_t& cqn);
  /// The same in parts, for a buffer or a record that lies in a umem.
  static Verdict lay_out(prm::ConstView<prm::cqc> context, std::vector<Iova> pages,
                         QueuePages& queue);
  Verdict create(prm::ConstView<prm::cqc> context, QueuePages queue, Iova record,
                 std::uint32_t& cqn);
  /// Nothing when the context's sizes are not acceptable.
  [[nodiscard]] static std::optional<std::uint64_t> queue_bytes(
      prm::ConstView<prm::cqc> context) noexcept;
  Verdict destroy(std::uint32_t cqn);
  Verdict query(std::uint32_t cqn, prm::View<prm::cqc> context) const;
  /// What `select` names (kCqModify*). An event that waits is raised when it need not any more.
  Verdict modify(std::uint32_t cqn, std::uint32_t select, prm::ConstView<prm::cqc> context);
  /// The next entry of the old buffer says RESIZE_CQ, and what comes then is in the new one, at its
  /// own index: who owns the queue moves what it has not consumed by one (copy_resize_cqes of
  /// mlx5_ib/cq.c, mlx5_cq_resize_copy_cqes of rdma-core). BAD_SIZE_OUTS_CQES_ERR when that does
  /// not fit.
  Verdict resize(std::uint32_t cqn, prm::ConstView<prm::cqc> context, QueuePages pages);
  /// Pages that CREATE_CQ must bring; 0 when the context's sizes are not acceptable.
  [[nodiscard]] static std::uint64_t pages_needed(prm::ConstView<prm::cqc> context) noexcept;
  [[nodiscard]] bool exists(std::uint32_t cqn) const noexcept {
    return cqn < cqs_.size() && cqs_[cqn].live;
  }
  [[nodiscard]] std::uint32_t uar_of(std::uint32_t cqn) const noexcept { return cqs_[cqn].uar; }
  [[nodiscard]] std::uint32_t eqn_of(std::uint32_t cqn) const noexcept { return cqs_[cqn].eqn; }
  /// The CQ cell of `uar` was kicked: reads the arm record of every CQ on it. One that was never
  /// armed is armed by that, too: its record is 0 from the start, as of a first request.
  void kick(std::uint32_t uar);
  /// The doorbell of `uar` named that CQ: reads the arm record of this one, if it is on that page.
  void ring(std::uint32_t uar, std::uint32_t cqn);
  [[nodiscard]] std::size_t size() const noexcept { return live_numbers_.size(); }
  void clear() noexcept;

 private:
  /// What a CQE needs comes first, in one cache line.
  struct alignas(64) Cq {
    std::uint64_t producer = 0;
    std::uint64_t consumer = 0;  // as last read from the record
    std::uint8_t log_size = 0;
    std::uint8_t log_stride = 6;
    bool live = false;
    bool armed = false;
    bool armed_solicited = false;
    bool failed = false;
    bool ignore_overrun = false;
    bool overflowed = false;  // why it failed
    bool is_collapsed = false;
    bool is_padded = false;
    QueuePages pages;
    Iova record = 0;
    std::uint32_t uar = 0;
    std::uint32_t eqn = 0;
    std::uint32_t events = 0;  // COMP events so far: the arm sequence number expected, modulo 4
    // Moderation: an event waits until so many completions have come, or so long.
    std::uint32_t max_count = 0;   // 0: no number is enough
    std::uint64_t period_ns = 0;   // 0: it does not wait
    bool period_from_cqe = false;  // counted from the first completion, or from the last event
    // `producer` at the last event and behind the last solicited completion, as a card has them in
    // last_notified_index and last_solicit_index (mlx5_ifc_cqc_bits).
    std::uint64_t told = 0;
    std::uint64_t last_solicited = 0;
    std::uint64_t period_start_ns = 0;     // of the last event, or of the first completion since
    std::optional<TimerId> wait;           // an event waits
    std::unique_ptr<CqeSession> gathered;  // null: the queue compresses nothing
    prm::Buffer<prm::cqc> context;         // as created, for QUERY_CQ
  };
  /// The consumer index as the doorbell record has it.
  [[nodiscard]] std::uint64_t consumer_now(const Cq& cq) const noexcept;
  void read_consumer(Cq& cq) noexcept;
  bool publish(Cq& cq, std::uint64_t number, std::span<const std::byte> entry);
  bool write(Cq& cq, const Completion& completion, std::uint64_t now_ns);
  bool gather(std::uint32_t cqn, Cq& cq, const Completion& completion, std::uint64_t now_ns);
  bool write_gathered(std::uint32_t cqn, Cq& cq);
  void tell(std::uint32_t cqn, Cq& cq, bool solicited);
  bool has_room(Cq& cq) noexcept;
  void moderate(Cq& cq, prm::ConstView<prm::cqc> context);
  void raise(std::uint32_t cqn, Cq& cq);
  bool fail(std::uint32_t cqn, Cq& cq, std::uint8_t syndrome);
  void read_arm_record(std::uint32_t cqn, Cq& cq);
  void notify(std::uint32_t cqn, Cq& cq);

  Dma* dma_;
  EqTable* eqs_;
  Scheduler* scheduler_;
  std::vector<Cq> cqs_;  // grows with the highest number in use
  std::vector<std::uint32_t> live_numbers_;
  IdAllocator ids_;
};

}  // namespace portcullis::model
