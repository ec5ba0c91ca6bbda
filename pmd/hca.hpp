// SPDX-License-Identifier: BSD-3-Clause
//
// A ConnectX-5 function, up: bring_up() is the list of steps from reset to an initialised HCA with
// an event queue; tear_down() is its reverse and ends in a reset. Whatever step fails, everything
// before it is undone and the error names the step.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/device.hpp"
#include "base/dma_memory.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "pmd/command_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/event_queue.hpp"
#include "pmd/firmware_pages.hpp"
#include "pmd/function.hpp"
#include "pmd/health.hpp"
#include "pmd/port.hpp"
#include "pmd/uar.hpp"

namespace portcullis::pmd {

struct HcaOptions {
  /// Hears what is no error and yet somebody should know, such as a link that stays down. Give one.
  LogSink log = {};
  std::uint64_t firmware_pre_init_ms = 120'000;  // MLX5_TO_FW_PRE_INIT_TIMEOUT_MS of Linux
  std::uint32_t log_event_entries = EventQueue::kDefaultLogEntries;
  /// How long bring-up waits for the link of an Ethernet port; a link that stays down is told in
  /// the log and is no error.
  std::uint64_t link_wait_ms = 10'000;
  /// The device signs its answers where it can, and each is checked. Linux does not ask for it.
  bool checks_answers = true;
  bool binds_keys = true;          // see Context
  bool answers_neighbours = true;  // the same
  bool forces_loopback = false;    // the same; Unsupported where the device does not offer it
  /// Given the command queue, returns the channel that every command of the function goes by from
  /// then on: one that records, say. It must outlive the function. May be empty.
  std::function<CommandChannel&(CommandChannel& queue)> present_commands = {};
};

class Hca final : public Function {
 public:
  using Options = HcaOptions;
  /// Events kept for next_event().
  static constexpr std::size_t kMostPendingEvents = std::size_t{1} << 16;

  /// From reset to initialised. `device` is copied; what it refers to must outlive the Hca.
  [[nodiscard]] static Result<std::unique_ptr<Hca>> bring_up(const Device& device,
                                                             const Options& options = {});
  /// Tears down if nobody has, without telling.
  ~Hca() override;

  /// Objects made on it must be gone before tear_down.
  [[nodiscard]] const Context& context() const noexcept override { return context_; }
  [[nodiscard]] bool is_virtual_function() const noexcept;
  [[nodiscard]] const std::string& firmware_version() const noexcept override {
    return firmware_version_;
  }
  [[nodiscard]] const std::string& board_id() const noexcept override { return board_id_; }

  /// Of an Ethernet port. What changes it comes as PortChangeEvent.
  [[nodiscard]] Result<PortState> port_state() const {
    return query_port_state(*context_.commands);
  }
  /// Serves page requests too.
  [[nodiscard]] Result<void> poll() override;
  [[nodiscard]] Result<void> condition() const override;
  /// Page requests are served and never seen here.
  [[nodiscard]] std::optional<Event> next_event() override;
  [[nodiscard]] const Health& health() const noexcept { return health_; }
  void function_was_reset() override { health_.report_failure("the function has been reset"); }
  [[nodiscard]] const LogSink& log() const noexcept override { return log_; }
  [[nodiscard]] std::uint32_t fence_slots_available() const noexcept override {
    return commands_->fence_slots_available();
  }
  /// Pages the firmware holds.
  [[nodiscard]] std::size_t firmware_pages() const noexcept { return pages_->held(); }
  /// Events that nobody fetched in time.
  [[nodiscard]] std::uint64_t events_lost() const noexcept { return events_lost_; }
  /// Events of no known type; none any more once it is torn down.
  [[nodiscard]] std::uint64_t unknown_events() const noexcept {
    return events_ ? events_->unknown_events() : 0;
  }

  /// Everything back, in reverse, then bus mastering off and a reset. Always runs to the end; the
  /// first error is returned. Done twice is done.
  [[nodiscard]] Result<void> tear_down();

 private:
  Hca(const Device& device, LogSink log);

  [[nodiscard]] Result<void> run_steps(const Options& options);
  [[nodiscard]] Result<void> wait_for_firmware(std::uint64_t timeout_ms) const;
  [[nodiscard]] Result<void> start_commands(const Options& options);
  [[nodiscard]] Result<void> enable();
  [[nodiscard]] Result<void> set_capabilities(bool checks_answers);
  [[nodiscard]] Result<void> initialise();
  [[nodiscard]] Result<void> note_board();
  [[nodiscard]] Result<void> allocate_uar();
  [[nodiscard]] Result<void> create_event_queue(std::uint32_t log_entries);
  [[nodiscard]] Result<void> note_capabilities();
  [[nodiscard]] Result<void> note_wishes(const Options& options);
  [[nodiscard]] Result<void> enable_roce();
  [[nodiscard]] Result<void> bring_up_port(std::uint64_t link_wait_ms);
  [[nodiscard]] Result<void> widen_frames();
  [[nodiscard]] Result<void> announce();
  [[nodiscard]] Result<void> forgive_refusal(Result<void> result, const char* what_then) const;

  [[nodiscard]] Result<void> hand_back();
  [[nodiscard]] Result<void> stop_function();
  void tell_of_undone(const Result<void>& stopped) const;
  [[nodiscard]] Result<void> stop_events();
  void serve_events();
  void take(const Event& event);

  // In the order of bring-up, so that destruction is its reverse.
  Context context_;
  LogSink log_;
  DmaArena arena_;
  Health health_;
  std::string firmware_version_;
  std::string board_id_;
  std::unique_ptr<CommandQueue> commands_;
  std::optional<FirmwarePages> pages_;
  std::optional<Uar> uar_;
  std::optional<EventQueue> events_;
  std::deque<Event> pending_events_;
  std::uint64_t events_lost_ = 0;
  bool enabled_ = false;
  bool initialised_ = false;
  bool serving_ = false;
  bool down_ = false;
};

}  // namespace portcullis::pmd
