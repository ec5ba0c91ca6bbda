// SPDX-License-Identifier: BSD-3-Clause
//
// Event queues: 64-byte entries with an owner bit that flips with every round (next_eqe_sw of
// mlx5/core/lib/eq.h: valid when owner == (ci >> log_eq_size) & 1). The consumer index exists only
// in the doorbell value, so an EQ owns its UAR page, and the index only moves forward.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/dma.hpp"
#include "model/id_table.hpp"
#include "model/queue_pages.hpp"
#include "model/verdict.hpp"
#include "prm/enums.hpp"
#include "prm/eqe.hpp"
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class EqTable {
 public:
  static constexpr std::uint32_t kFirstEqn = 1;  // a doorbell value of 0 must mean "no kick"
  static constexpr std::size_t kEventBytes = prm::comp_event::bytes;
  using Event = std::span<const std::byte, kEventBytes>;

  /// Called when an armed EQ has an event the driver has not consumed: MSI-X vector eqc.intr. An
  /// interrupt disarms. Until this is set nothing is called; a driver that polls never arms.
  using OnInterrupt = void (*)(void* context, std::uint32_t vector) noexcept;
  void on_interrupt(OnInterrupt on_interrupt, void* context) noexcept {
    on_interrupt_ = on_interrupt;
    interrupt_context_ = context;
  }

  /// Told when an EQ lost an event: the device reports it as a health syndrome.
  using OnFailure = void (*)(void* context, prm::HealthSyndrome syndrome);
  EqTable(Dma& dma, std::uint32_t log_max_eq, OnFailure on_failure, void* context);

  /// Writes an EQE of `type` to every EQ that subscribed to it; false when none did. `data` is the
  /// event's layout, e.g. prm::qp_events.
  bool raise(prm::EventType type, Event data, std::uint8_t sub_type = 0);
  /// QP events (PATH_MIG .. WQ_ACCESS_ERROR): the affiliated QP's number.
  bool raise_qp(prm::EventType type, std::uint32_t qpn);
  /// CQ_ERROR. `syndrome` 1 overrun, 2 access violation (MLX5_CQ_ERROR_SYNDROME_*).
  bool raise_cq_error(std::uint32_t cqn, std::uint8_t syndrome);
  /// COMP, to one EQ: the CQ's own.
  void raise_completion(std::uint32_t eqn, std::uint32_t cqn);
  [[nodiscard]] bool has_subscriber(prm::EventType type) const noexcept {
    return subscribed_[prm::number(type)];
  }

  // Commands and doorbells.
  Verdict create(prm::ConstView<prm::eqc> context, std::span<const std::byte, 32> event_bitmask,
                 std::vector<Iova> pages, std::uint32_t& eqn);
  Verdict destroy(std::uint32_t eqn);
  /// Pages that CREATE_EQ must bring; 0 when the context's sizes are not acceptable.
  [[nodiscard]] static std::uint64_t pages_needed(prm::ConstView<prm::eqc> context) noexcept;
  [[nodiscard]] bool exists(std::uint32_t eqn) const noexcept {
    return eqn < eqs_.size() && eqs_[eqn].live;
  }
  /// Fills the context of QUERY_EQ, which is zeroed, and the first 64 events of its mask.
  void describe(std::uint32_t eqn, prm::View<prm::eqc> context,
                std::span<std::byte, 8> event_bitmask) const;
  /// The UAR page of a live EQ.
  [[nodiscard]] std::uint32_t uar_of(std::uint32_t eqn) const noexcept { return eqs_[eqn].uar; }
  /// A doorbell in `uar`: eqn << 24 | consumer index, host order. One for an EQ that does not own
  /// the page, or that would move the index back or past the producer, is ignored. `arm`: it came
  /// through the cell that asks for an interrupt.
  void doorbell(std::uint32_t uar, std::uint32_t value, bool arm) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return live_; }
  void clear() noexcept;

 private:
  struct Eq {
    std::uint64_t producer = 0;
    std::uint64_t consumer = 0;
    std::uint32_t log_size = 0;
    std::uint32_t log_page_size = 0;
    std::uint32_t uar = 0;
    std::uint32_t vector = 0;
    bool live = false;
    bool armed = false;
    bool ignore_overrun = false;
    bool overrun = false;
    std::bitset<256> events;
    QueuePages pages;
  };
  void note_subscribers() noexcept;
  void interrupt_if_armed(Eq& eq) noexcept;
  void append(Eq& eq, prm::EventType type, std::uint8_t sub_type, Event data);

  Dma* dma_;
  std::vector<Eq> eqs_;
  std::bitset<256> subscribed_;  // by any of them: every command asks
  IdAllocator ids_;
  std::size_t live_ = 0;
  OnFailure on_failure_;
  void* context_;
  OnInterrupt on_interrupt_ = nullptr;
  void* interrupt_context_ = nullptr;
};

}  // namespace portcullis::model
