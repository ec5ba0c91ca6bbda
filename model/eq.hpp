// SPDX-License-Identifier: BSD-3-Clause
//
// Event queues: 64-byte entries with an owner bit that flips with every round (eq_get_eqe of
// mlx5/core/eq.c: valid when owner == (ci >> log_eq_size) & 1). The consumer index exists only in
// the doorbell value, so an EQ owns its UAR page, and the index only moves forward.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/dma.hpp"
#include "model/id_table.hpp"
#include "model/verdict.hpp"
#include "prm/eqe.hpp"
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class EqTable {
 public:
  static constexpr std::uint32_t kFirstEqn = 1;  // a doorbell value of 0 must mean "no kick"

  /// `on_overrun(context)` is told when an EQ had no room: the device reports it in health.
  using Overrun = void (*)(void* context) noexcept;
  EqTable(Dma& dma, std::uint32_t log_max_eq, Overrun on_overrun, void* context);

  /// Writes an EQE of `type` to every EQ that subscribed to it; false when none did. `data` is the
  /// event's layout, e.g. prm::qp_events.
  bool raise(std::uint8_t type, std::uint8_t sub_type, std::span<const std::byte, 28> data);
  /// QP events (PATH_MIG .. WQ_ACCESS_ERROR): the affiliated QP's number.
  bool raise_qp(std::uint8_t type, std::uint32_t qpn);
  /// CQ_ERROR. `syndrome` 1 overrun, 2 access violation.
  bool raise_cq_error(std::uint32_t cqn, std::uint8_t syndrome);
  /// COMP, to one EQ: the CQ's own.
  void raise_completion(std::uint32_t eqn, std::uint32_t cqn);
  [[nodiscard]] bool has_subscriber(std::uint8_t type) const noexcept;

  // Commands and doorbells.
  Verdict create(prm::ConstView<prm::eqc> context, std::span<const std::byte, 32> event_bitmask,
                 std::vector<Iova> pages, std::uint32_t& eqn);
  Verdict destroy(std::uint32_t eqn);
  [[nodiscard]] bool exists(std::uint32_t eqn) const noexcept;
  /// The UAR page of a live EQ.
  [[nodiscard]] std::uint32_t uar_of(std::uint32_t eqn) const noexcept;
  /// A doorbell: eqn << 24 | consumer index, host order.
  void doorbell(std::uint32_t uar, std::uint32_t value) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return live_; }
  void clear() noexcept;

 private:
  struct Eq {
    std::uint64_t producer = 0;
    std::uint64_t consumer = 0;
    std::uint32_t log_size = 0;
    std::uint32_t log_page_size = 0;
    std::uint32_t uar = 0;
    std::uint32_t page_offset = 0;
    bool live = false;
    bool overrun = false;
    std::bitset<256> events;
    std::vector<Iova> pages;
  };
  void append(Eq& eq, std::uint8_t type, std::uint8_t sub_type,
              std::span<const std::byte, 28> data);

  Dma* dma_;
  std::vector<Eq> eqs_;
  IdAllocator ids_;
  std::size_t live_ = 0;
  Overrun on_overrun_;
  void* context_;
};

}  // namespace portcullis::model
