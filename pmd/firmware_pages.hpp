// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that the firmware keeps its own state in: given at boot and init, asked for or returned at
// any moment after, taken back at teardown (mlx5/core/pagealloc.c of Linux). Requests at run time
// are served without ever waiting: a command in flight may itself be held back until its pages
// arrive. Addresses that come back from the device are not trusted; one that was never given is an
// error line and frees nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/dma_memory.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/events.hpp"
#include "prm/enums.hpp"

namespace portcullis::pmd {

class FirmwarePages {
 public:
  /// Pages in one MANAGE_PAGES: what fits the mailboxes that are always there.
  static constexpr std::size_t kBatchPages = 512;
  /// Most pages the firmware may hold, 4 GiB; a ConnectX-4 asks for 50 MiB. A device that wants
  /// more is not given the machine.
  static constexpr std::size_t kMostPages = std::size_t{1} << 20;
  /// Without progress; MLX5_TO_RECLAIM_PAGES_MS of Linux.
  static constexpr std::uint64_t kReclaimTimeoutNs = 5 * kNsPerSecond;

  /// All but `log` must outlive this.
  FirmwarePages(const Device& device, CommandChannel& commands, DmaArena& arena, LogSink log);

  /// QUERY_PAGES for boot or init pages and as many MANAGE_PAGES as it takes; waits.
  [[nodiscard]] Result<void> give_startup(prm::QueryPagesOpMod phase);
  /// Notes a request; serve() works on it.
  void request(const PageRequestEvent& event);
  /// One step on: collects the command in flight if it has come back, sends the next. Never waits.
  void serve();
  [[nodiscard]] bool is_idle() const noexcept { return !in_flight_ && requests_.empty(); }
  /// Drops requests that were not begun and waits for the batch in flight, no longer than for
  /// a command that is sent now.
  void settle();
  /// Teardown: takes pages back until none is held.
  [[nodiscard]] Result<void> reclaim_all();

  /// Pages the device holds.
  [[nodiscard]] std::size_t held() const noexcept;

 private:
  /// Low half: function id; above it the embedded CPU bit (get_function of Linux).
  using Function = std::uint32_t;
  using PagesByAddress = std::unordered_map<Iova, DmaBuffer>;

  /// One batch on its way to the device, or asked back from it.
  struct Batch {
    Ticket ticket;
    std::uint64_t deadline_ns = 0;
    Function function = 0;
    prm::ManagePagesOpMod kind = prm::ManagePagesOpMod::ALLOCATION_FAIL;
    std::size_t pages = 0;
    std::vector<DmaBuffer> memory;  // of a batch that gives
  };

  [[nodiscard]] Result<void> check_limit(std::size_t pages) const;
  [[nodiscard]] Result<std::vector<DmaBuffer>> allocate(std::size_t pages);
  [[nodiscard]] Result<Batch> send(Function function, prm::ManagePagesOpMod kind, std::size_t pages,
                                   std::vector<DmaBuffer> memory);
  [[nodiscard]] Result<std::size_t> finish(Batch batch);
  [[nodiscard]] Result<std::size_t> take_back(const Batch& batch,
                                              std::span<const std::byte> answer);
  [[nodiscard]] Result<void> give(Function function, std::size_t pages);
  [[nodiscard]] Result<void> reclaim(Function function);
  [[nodiscard]] Result<Batch> send_part(const PageRequestEvent& request);
  void start(PageRequestEvent& request);
  void finish_in_flight();
  void say(const std::string& line) const;

  const Device* device_;
  CommandChannel* commands_;
  DmaArena* arena_;
  LogSink log_;
  std::map<Function, PagesByAddress> pages_;
  std::deque<PageRequestEvent> requests_;
  std::optional<Batch> in_flight_;
};

}  // namespace portcullis::pmd
