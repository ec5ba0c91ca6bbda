// SPDX-License-Identifier: BSD-3-Clause
//
// What flow steering forwards to: transport domains, receive queues (RQ), tables of them (RQT) and
// the TIR in front of either. A frame for a TIR goes into the oldest receive of its RQ, whole but
// for the tag that an RQ without vsd takes out, and the completion says what the port's parser saw;
// with nothing posted it is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/cq.hpp"
#include "model/dma.hpp"
#include "model/domains.hpp"
#include "model/ethernet/ipoib.hpp"
#include "model/ethernet/origin.hpp"
#include "model/ethernet/queue_tables.hpp"
#include "model/ethernet/receive_buffer.hpp"
#include "model/ethernet/rss_hash.hpp"
#include "model/id_table.hpp"
#include "model/mkey.hpp"
#include "model/q_counters.hpp"
#include "model/receive_ring.hpp"
#include "model/references.hpp"
#include "model/scheduler.hpp"
#include "model/transport/receive_queue.hpp"
#include "model/verdict.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/receive_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// How a frame comes to a TIR.
struct Arrival {
  std::uint32_t flow_tag = 0;  // of the entry that forwards it
  Origin from{};
  const IpoibDatagram* datagram = nullptr;  // what the frame stands for, which the queue takes
  Offer offer = Offer::Final;
  std::uint32_t metadata = 0;  // of entries: register B
};

class ReceiveTargets {
 public:
  static constexpr std::uint32_t kLogMaxDomain = 10;
  static constexpr std::uint32_t kLogMaxRq = 16;
  static constexpr std::uint32_t kLogMaxTir = 16;
  static constexpr std::uint32_t kLogMinStride = 4;  // a WQE of one piece

  struct Deps {
    Dma* dma = nullptr;
    const MkeyTable* mkeys = nullptr;
    CqTable* cqs = nullptr;
    const Scheduler* scheduler = nullptr;
    std::uint64_t* lost = nullptr;        // frames without a place
    QCounterTable* q_counters = nullptr;  // null: nobody asks why they are lost
    UmemTable* umems = nullptr;           // null: no queue lies in one
    std::uint64_t dropless_ns = 0;        // how long a frame waits for a receive; 0: it does not
  };
  explicit ReceiveTargets(const Deps& deps) noexcept : deps_(deps) {}
  ReceiveTargets(const ReceiveTargets&) = delete;
  ReceiveTargets& operator=(const ReceiveTargets&) = delete;

  // Commands: model/commands_receive.cpp has looked at PD, CQ and counters, and at who forwards to
  // a TIR.
  /// `pas` is the list behind the context.
  Verdict create_rq(prm::ConstView<prm::rqc> context, std::span<const std::byte> pas,
                    std::uint32_t& number);
  Verdict modify_rq(prm::ConstView<prm::modify_rq_in> in);
  Verdict query_rq(std::uint32_t number, prm::View<prm::rqc> context) const;
  /// `pd` and `cqn` are those that it held.
  Verdict destroy_rq(std::uint32_t number, std::uint32_t& pd, std::uint32_t& cqn);
  /// The set of counters of a queue that is there; 0: none.
  [[nodiscard]] std::uint32_t counters_of(std::uint32_t number) const noexcept;
  Verdict create_tir(prm::ConstView<prm::tirc> context, std::uint32_t& number);
  Verdict modify_tir(prm::ConstView<prm::modify_tir_in> in);
  Verdict query_tir(std::uint32_t number, prm::View<prm::tirc> context) const;
  Verdict destroy_tir(std::uint32_t number);

  /// Flushes what was posted to the next queue in ERR; true when something was. No kick tells of a
  /// receive, so their doorbell records are read in turn, one a look: Linux's ib_drain_rq() posts
  /// one to a queue in ERR and waits for its completion (mlx5_ib_drain_rq of mlx5_ib/qp.c).
  bool look();

  [[nodiscard]] Domains& domains() noexcept { return domains_; }
  [[nodiscard]] bool has_tir(std::uint32_t number) const noexcept { return tirs_.contains(number); }
  /// A frame that an entry forwards to `tirn`. 0: it is gone, otherwise it waits at most so many
  /// ns.
  std::uint64_t deliver(std::uint32_t tirn, std::span<const std::byte> frame, Arrival arrival = {});

  QueueTables tables{{[](const void* self, std::uint32_t rqn) {
                        return static_cast<const ReceiveTargets*>(self)->rqs_.contains(rqn);
                      },
                      this, &rq_references_}};

  void clear();
  [[nodiscard]] std::size_t rqs() const noexcept { return rqs_.size(); }
  [[nodiscard]] std::size_t tirs() const noexcept { return tirs_.size(); }

 private:
  struct Rq {
    prm::RqState state = prm::RqState::RST;
    std::uint32_t pd = 0;
    std::uint32_t cqn = 0;
    std::uint32_t user_index = 0;
    std::uint32_t counters = 0;  // a set of Q counters; 0: none
    bool may_use_reserved_key = false;
    bool keeps_tag = false;     // vsd
    bool flushes = false;       // flush_in_error_en
    bool has_given_up = false;  // no frame waits until one has found a receive again
    UmemUse umems;
    Iova record = 0;
    ReceiveRing ring;
    std::uint16_t consumed = 0;  // receives
    prm::Buffer<prm::rqc> context;
  };
  struct Tir {
    std::uint32_t rqn = 0;  // of a direct one
    std::uint32_t rqt = 0;  // of one that hashes; 0: direct
    std::uint32_t domain = 0;
    std::uint32_t self_loopback = 0;  // prm::SelfLoopback, or-ed
    RssRule rule;
    prm::Buffer<prm::tirc> context;
  };
  using CqeFields = prm::Buffer<prm::mlx5_ethernet_cqe>;

  void lose(const Rq* rq) noexcept;
  /// A frame of the TIR's own transport domain, or of one that nobody knows.
  [[nodiscard]] static bool is_own_of(const Tir& tir, Origin from) noexcept;
  /// The frame as the queue takes it, and what its completion says.
  [[nodiscard]] std::span<const std::byte> look_at(const Rq& rq, std::span<const std::byte> frame,
                                                   const FrameFacts& facts, CqeFields& fields);
  void fill(Rq& rq, std::uint32_t rqn, std::span<const std::byte> frame, CqeFields& fields,
            const IpoibDatagram* datagram);
  /// `rq` goes to ERR. Where its context asks for it, what is posted there is flushed from then on.
  void fail(std::uint32_t rqn, Rq& rq);
  /// How many receives it flushed; nothing: its record or its CQ is out of reach.
  std::optional<std::uint16_t> flush(std::uint32_t rqn, Rq& rq);
  /// The driver's counter in the doorbell record; nothing: it cannot be read.
  [[nodiscard]] std::optional<std::uint32_t> posted(const Rq& rq) const;
  [[nodiscard]] bool has_receive(const Rq& rq);
  [[nodiscard]] bool waits(Rq& rq, Offer offer);
  /// False when a key or the memory behind it does not allow it.
  bool scatter(const Rq& rq, std::span<const ReceivePiece> pieces,
               std::span<const std::byte> frame);

  Deps deps_;
  std::vector<std::byte> untagged_;   // scratch of look_at()
  std::vector<ReceivePiece> pieces_;  // scratch of fill()
  Domains domains_{kLogMaxDomain};
  std::unordered_map<std::uint32_t, Rq> rqs_;
  std::vector<std::uint32_t> flushing_;  // RQs in ERR
  std::size_t next_ = 0;                 // of those, to be looked at
  std::unordered_map<std::uint32_t, Tir> tirs_;
  References rq_references_;
  IdAllocator rq_ids_{1, 1U << kLogMaxRq};
  IdAllocator tir_ids_{1, 1U << kLogMaxTir};
};

}  // namespace portcullis::model
