// SPDX-License-Identifier: BSD-3-Clause
//
// What more than one queue pair receives by: shared receive queues, made as an XRC SRQ, as a
// receive memory pool (RMP) or as an XRQ, which may match tags (model/tag_matching/tag_list.hpp),
// and the XRC domains that the first belong to. The WQEs are a linked
// list that the driver ends and begins (mlx5_ib_post_srq_recv and mlx5_ib_free_srq_wqe of
// mlx5_ib/srq.c): the first one taken is WQE 0, each names its successor, and the doorbell record
// counts how many were posted. A pool may be a ring instead, whose WQEs begin with the same segment
// and follow each other (uct_rc_mlx5_devx_init_rx_common of UCX's rc_mlx5_devx.c, topology
// "cyclic"). Nothing in them is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/dma.hpp"
#include "model/domains.hpp"
#include "model/eq.hpp"
#include "model/id_table.hpp"
#include "model/receive_ring.hpp"
#include "model/references.hpp"
#include "model/tag_matching/tag_list.hpp"
#include "model/transport/receive_queue.hpp"
#include "model/umem.hpp"
#include "model/verdict.hpp"
#include "prm/shared_receive_commands.hpp"
#include "prm/tag_matching.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// Hypotheses, all three: a receive's keys are checked in the domain of the queue pair that took it
/// and not in the queue's own (but on XRC, whose queue pairs have no domain), the limit's event
/// comes when fewer than the limit are left, and at once where that is so when it is set.
class SharedReceives {
 public:
  static constexpr std::uint32_t kLogMaxXrcd = 10;
  static constexpr std::uint32_t kLogMaxSrq = 16;
  enum class Kind : std::uint8_t { XrcSrq, Rmp, Xrq };

  /// A receive that was taken from a queue.
  struct Taken {
    std::uint16_t index = 0;
    std::vector<ReceivePiece> pieces;
  };
  /// What the objects around a queue are, for who counts references.
  struct Uses {
    std::uint32_t pd = 0;
    std::uint32_t cqn = 0;   // of an XRC SRQ and an XRQ
    std::uint32_t xrcd = 0;  // of an XRC SRQ
    std::uint32_t user_index = 0;
    bool offloads_rendezvous = false;  // of an XRQ
  };

  SharedReceives(Dma& dma, EqTable& eqs, UmemTable& umems) noexcept
      : dma_(&dma), eqs_(&eqs), umems_(&umems) {}

  // Commands: model/commands_shared_receive.cpp has looked at PD and CQ.
  /// `pas` is the list behind the context.
  Verdict create(prm::ConstView<prm::xrc_srqc> context, std::span<const std::byte> pas,
                 std::uint32_t& number);
  Verdict create(prm::ConstView<prm::rmpc> context, std::span<const std::byte> pas,
                 std::uint32_t& number);
  Verdict create(prm::ConstView<prm::xrqc> context, std::span<const std::byte> pas,
                 std::uint32_t& number);
  Verdict destroy(Kind kind, std::uint32_t number, Uses& uses);
  /// The event of the limit comes once, when fewer receives than `limit` are left. 0: never.
  Verdict arm(Kind kind, std::uint32_t number, std::uint32_t limit);
  Verdict query(std::uint32_t number, prm::View<prm::xrc_srqc> context) const;
  Verdict query(std::uint32_t number, prm::View<prm::rmpc> context) const;
  Verdict query(std::uint32_t number, prm::View<prm::xrqc> context) const;

  /// A queue pair receives by it from now on, or no longer.
  void hold(std::uint32_t number) { references_.add(number); }
  void release(std::uint32_t number) { references_.drop(number); }
  [[nodiscard]] bool exists(std::uint32_t number) const noexcept {
    return queues_.contains(number);
  }
  [[nodiscard]] Domains& domains() noexcept { return domains_; }
  [[nodiscard]] const Domains& domains() const noexcept { return domains_; }
  /// The XRC SRQ `number`; null: there is none, or it is of another domain.
  [[nodiscard]] const Uses* find_in_domain(std::uint32_t number,
                                           std::uint32_t xrcd) const noexcept {
    const Queue* const queue = find(Kind::XrcSrq, number);
    return queue != nullptr && queue->uses.xrcd == xrcd ? &queue->uses : nullptr;
  }
  /// The XRQ `number`; null: there is none.
  [[nodiscard]] const Uses* find_xrq(std::uint32_t number) const noexcept {
    const Queue* const queue = find(Kind::Xrq, number);
    return queue != nullptr ? &queue->uses : nullptr;
  }
  /// What it matches by, as long as it is there; null: it does not.
  [[nodiscard]] TagList* tags(std::uint32_t number) noexcept {
    return queues_.at(number).tags.get();
  }
  /// Takes the oldest receive that is posted, for good.
  [[nodiscard]] ReceiveFault take(std::uint32_t number, Taken& taken);

  void clear();
  [[nodiscard]] std::size_t queues() const noexcept { return queues_.size(); }

 private:
  struct Queue {
    Kind kind = Kind::Rmp;
    bool is_cyclic = false;  // no list: each is followed by the one behind it
    UmemUse umems = {};
    Uses uses = {};
    ReceiveRing ring = {};
    Iova record = 0;
    std::uint16_t next = 0;               // the WQE that is taken next
    std::uint16_t taken = 0;              // so many in all
    std::uint32_t limit = 0;              // 0: not armed
    std::vector<std::byte> context = {};  // as it was created
    std::unique_ptr<TagList> tags = {};   // null: it matches none
  };
  Verdict add(const RingShape& shape, std::span<const std::byte> pas, Queue queue,
              std::uint32_t& number);
  [[nodiscard]] const Queue* find(Kind kind, std::uint32_t number) const noexcept;
  void check_limit(std::uint32_t number, Queue& queue, std::uint16_t left);

  Dma* dma_;
  EqTable* eqs_;
  UmemTable* umems_;
  Domains domains_{kLogMaxXrcd};
  std::unordered_map<std::uint32_t, Queue> queues_;
  References references_;
  // mlx5_ib finds all kinds in one table (srq_table of mlx5_ib/srq_cmd.c).
  IdAllocator ids_{1, 1U << kLogMaxSrq};
};

}  // namespace portcullis::model
