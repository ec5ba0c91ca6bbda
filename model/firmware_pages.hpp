// SPDX-License-Identifier: BSD-3-Clause
//
// Host pages that the firmware owns: asked for at boot, before INIT_HCA, and at any moment after it
// by an event; given, refused and taken back with MANAGE_PAGES (mlx5/core/pagealloc.c).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "model/dma.hpp"
#include "model/eq.hpp"
#include "model/verdict.hpp"
#include "prm/enums.hpp"

namespace portcullis::model {

class FirmwarePages {
 public:
  FirmwarePages(Dma& dma, EqTable& eqs) noexcept : dma_(&dma), eqs_(&eqs) {}

  /// The function was enabled: `boot` pages are wanted first, `init` more before INIT_HCA.
  void start(std::uint32_t boot, std::uint32_t init);
  void clear() noexcept;

  [[nodiscard]] bool has_boot_pages() const noexcept { return held_.size() >= boot_; }
  [[nodiscard]] bool has_startup_pages() const noexcept { return held_.size() >= boot_ + init_; }
  [[nodiscard]] std::size_t held() const noexcept { return held_.size(); }

  // Commands.
  Verdict query(prm::QueryPagesOpMod what, std::int32_t& pages) const;
  /// `pas` is the list of MANAGE_PAGES, raw; all of it or nothing is taken.
  Verdict give(std::uint32_t count, std::span<const std::byte> pas);
  /// The driver has none to give: what was asked is not asked any more.
  void refuse_pages() noexcept;
  /// Fills `pas` with at most `count` pages and says in `taken` how many. `initialised` keeps the
  /// pages that the function works with.
  Verdict take(std::uint32_t count, bool initialised, std::span<std::byte> pas,
               std::uint32_t& taken);

  /// Asks for `pages` more by event, or offers |pages| back; the event waits for an EQ that
  /// subscribed to it.
  void request(std::int32_t pages);
  void send_pending_events();
  /// Pages asked for by event and neither given nor refused.
  [[nodiscard]] std::uint32_t outstanding() const noexcept { return outstanding_; }

 private:
  [[nodiscard]] std::uint64_t wanted() const noexcept;

  Dma* dma_;
  EqTable* eqs_;
  std::uint32_t boot_ = 0;
  std::uint32_t init_ = 0;
  std::uint32_t granted_later_ = 0;  // given on top of the start-up pages
  std::uint32_t outstanding_ = 0;
  std::uint32_t returnable_ = 0;
  std::unordered_set<Iova> known_;
  std::vector<Iova> held_;  // returned from the back
  std::vector<std::int32_t> pending_events_;
};

}  // namespace portcullis::model
