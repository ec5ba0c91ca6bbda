// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that the firmware keeps its own state in: given at boot and init, asked for or returned at
// any moment after, taken back at teardown (core/pagealloc.c of Linux). Requests at run time are
// served without ever waiting: a command in flight may itself be held back until its pages arrive.
// Addresses that come back from the device are not trusted; one that was never given is an error
// line and frees nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/command_queue.hpp"
#include "pmd/events.hpp"

namespace portcullis::pmd {

/// One line at a time, for whoever shows diagnostics; may be empty.
using LogSink = std::function<void(std::string_view)>;

class FirmwarePages {
 public:
  enum class Startup : std::uint8_t { Boot, Init };
  /// Pages in one MANAGE_PAGES: what fits the mailboxes that are always there.
  static constexpr std::size_t kBatchPages = 512;
  /// Linux: MLX5_TO_RECLAIM_PAGES_MS, without progress.
  static constexpr std::uint64_t kReclaimTimeoutNs = 5 * kNsPerSecond;

  /// Both must outlive this.
  FirmwarePages(const Device& device, CommandQueue& commands, DmaArena& arena, LogSink log);

  /// QUERY_PAGES and as many MANAGE_PAGES as it takes; waits.
  [[nodiscard]] Result<void> give_startup(Startup phase);
  /// Notes a request; serve() works on it.
  void request(const PageRequestEvent& event);
  /// One step on: collects the command in flight if it has come back, sends the next. Never waits.
  void serve();
  [[nodiscard]] bool is_idle() const noexcept { return !in_flight_ && requests_.empty(); }
  /// Teardown: takes pages back until none is held.
  [[nodiscard]] Result<void> reclaim_all();

  /// Pages the device holds.
  [[nodiscard]] std::size_t held() const noexcept { return pages_.size(); }

 private:
  struct Page {
    DmaBuffer memory;
    std::uint32_t function;
  };
  struct Command {
    Ticket ticket;
    std::uint64_t deadline_ns;
    PageRequestEvent request;  // what of it this command serves
    std::vector<Iova> pages;   // given by it
  };

  const Device* device_;
  CommandQueue* commands_;
  DmaArena* arena_;
  LogSink log_;
  std::unordered_map<Iova, Page> pages_;
  std::deque<PageRequestEvent> requests_;
  std::optional<Command> in_flight_;
};

}  // namespace portcullis::pmd
