// SPDX-License-Identifier: BSD-3-Clause
//
// What sends Ethernet frames: transport interface send (TIS) and the send queues (SQ) on one. A
// kick of a UAR says that some record may have moved, as for queue pairs (transport/doorbells.hpp).
// Queues take turns, some frames each, so that none keeps the port; one whose WQE cannot be sent
// goes to ERR and, if its context asks for it, flushes.
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
#include "model/ethernet/frame_outlet.hpp"
#include "model/ethernet/offloads.hpp"
#include "model/ethernet/port_counters.hpp"
#include "model/ethernet/rate_limits.hpp"
#include "model/id_table.hpp"
#include "model/mkey.hpp"
#include "model/port_settings.hpp"
#include "model/references.hpp"
#include "model/scheduler.hpp"
#include "model/transport/qp.hpp"
#include "model/transport/send_wqe.hpp"
#include "model/verdict.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class SendQueues {
 public:
  static constexpr std::uint32_t kLogMaxTis = 10;
  static constexpr std::uint32_t kLogMaxSq = 16;
  static constexpr std::uint32_t kLogMaxLso = 18;  // bytes of a large send
  /// Basic blocks, the only stride of a send queue (mlx5e_build_sq_param_common).
  static constexpr std::uint32_t kLogStride = 6;

  struct Deps {
    Dma* dma = nullptr;
    const MkeyTable* mkeys = nullptr;
    CqTable* cqs = nullptr;
    Scheduler* scheduler = nullptr;
    Domains* domains = nullptr;
    const PortSettings* port = nullptr;
    PortCounters* counters = nullptr;
    UmemTable* umems = nullptr;         // null: no queue lies in one
    const RateLimits* rates = nullptr;  // null: no queue has a limit
  };
  explicit SendQueues(const Deps& deps) noexcept : deps_(deps) {}
  SendQueues(const SendQueues&) = delete;
  SendQueues& operator=(const SendQueues&) = delete;
  /// Where frames go, before the first kick.
  void connect(FrameOutlet& outlet) noexcept { outlet_ = &outlet; }

  // Commands: model/commands_ethernet.cpp has looked at PD, CQ, UAR and the index of a rate.
  Verdict create_tis(prm::ConstView<prm::tisc> context, std::uint32_t& number);
  Verdict modify_tis(prm::ConstView<prm::modify_tis_in> in);
  Verdict query_tis(std::uint32_t number, prm::View<prm::tisc> context) const;
  Verdict destroy_tis(std::uint32_t number);
  /// `pas` is the list behind the context.
  Verdict create_sq(prm::ConstView<prm::sqc> context, std::span<const std::byte> pas,
                    std::uint32_t& number);
  Verdict modify_sq(prm::ConstView<prm::modify_sq_in> in);
  Verdict query_sq(std::uint32_t number, prm::View<prm::sqc> context) const;
  /// What a queue that is gone referred to.
  struct Used {
    std::uint32_t pd = 0;
    std::uint32_t cqn = 0;
    std::uint32_t uar = 0;
  };
  Verdict destroy_sq(std::uint32_t number, Used& used);

  /// An entry of the table of rates is another one.
  void rate_changed(std::uint32_t index);
  void kick_uar(std::uint32_t uar);
  /// The port has room again.
  void room();
  void clear();

 private:
  struct Sq {
    prm::SqState state = prm::SqState::RST;
    Used used;
    std::uint32_t tisn = 0;          // 0: none, and it sends no frames
    std::uint32_t domain = 0;        // of the TIS
    std::uint32_t underlay_qpn = 0;  // of the TIS; 0: it sends Ethernet
    std::uint32_t user_index = 0;
    bool may_use_reserved_key = false;
    bool flushes = false;
    UmemUse umems;
    Iova record = 0;
    SendQueueMemory memory;
    std::uint16_t cursor = 0;                   // the next WQE
    std::uint16_t producer = 0;                 // as last read from the record
    std::optional<std::uint32_t> stale_record;  // what it said when the queue became ready
    Segment segment;                            // the next one of a large send
    bool has_turn = false;                      // a task is posted
    QueuePace pace;
    std::optional<TimerId> due;  // set: it waits for its pace
    prm::Buffer<prm::sqc> context;
  };
  /// What became of a queue's next WQE.
  enum class Step : std::uint8_t { Done, Idle, NoRoom, NotDue };
  /// A WQE as far as Ethernet reads it.
  struct Work {
    std::uint8_t cs_flags = 0;
    std::optional<std::uint32_t> tag;  // ethertype and tag to insert
    std::size_t header_at = 0;         // in the WQE
    std::size_t header_bytes = 0;
    std::uint32_t mss = 0;       // 0: no large send
    std::uint32_t metadata = 0;  // for flow tables
  };

  [[nodiscard]] const RateLimit& limit_of(const Sq& sq) const;
  bool waits(std::uint32_t number, Sq& sq, std::size_t frame_bytes);
  void restart_pace(std::uint32_t number, Sq& sq);
  static void come_due(void* self, std::uint64_t number);
  [[nodiscard]] std::uint8_t priority_of_tis(const Sq& sq) const;
  [[nodiscard]] const Sq* find(std::uint32_t number) const noexcept;
  void wake(std::uint32_t number, Sq& sq);
  static void take_turn(void* self, std::uint64_t number);
  Step step(std::uint32_t number, Sq& sq);
  Step flush(std::uint32_t number, Sq& sq);
  void launch(const Sq& sq, std::span<std::byte> room, std::size_t length,
              const FrameSender& sender);
  Step send(std::uint32_t number, Sq& sq, const Work& work);
  Step send_datagram(std::uint32_t number, Sq& sq, const Work& work);
  Step go_on(std::uint32_t number, Sq& sq, std::uint32_t part);
  [[nodiscard]] bool parse(Work& work, std::size_t segment_at);
  std::uint32_t take_part(Sq& sq, const Work& work) const noexcept;
  [[nodiscard]] const WqeError* build(const Sq& sq, const Work& work, std::span<std::byte> frame,
                                      std::size_t front);
  [[nodiscard]] bool gather(const Sq& sq, std::uint64_t offset, std::span<std::byte> to);
  void finish(std::uint32_t number, Sq& sq);
  void complete(std::uint32_t number, Sq& sq, const WqeError* error);
  Step fail(std::uint32_t number, Sq& sq, const WqeError& error);

  Deps deps_;
  FrameOutlet* outlet_ = nullptr;
  SendWqe wqe_;
  std::vector<std::byte> datagram_;     // scratch of send_datagram()
  std::vector<std::uint32_t> waiting_;  // for room
  std::unordered_map<std::uint32_t, prm::Buffer<prm::tisc>> tiss_;
  std::unordered_map<std::uint32_t, Sq> sqs_;
  References tis_references_;
  IdAllocator tis_ids_{1, 1U << kLogMaxTis};
  IdAllocator sq_ids_{1, 1U << kLogMaxSq};
};

}  // namespace portcullis::model
