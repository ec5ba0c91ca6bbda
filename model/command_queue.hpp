// SPDX-License-Identifier: BSD-3-Clause
//
// The command queue: 32 entries whose lowest bit of the last byte says who owns them. A ring names
// entries; those of them that the device owns and has not started are started, in seeded order;
// entries work side by side, each for as long as the timing says; ownership is given back last.
// A bit of an entry that the driver owns, or that is at work, says nothing and is not remembered.
//
// Entry and mailboxes are read when the command starts; it takes effect at the moment of its
// answer, the latest that the interface allows. One that may have to wait for something else, and
// whose time is of a device that waited (a profile), begins as early as that device answered one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/command_times.hpp"
#include "model/dma.hpp"
#include "model/eq.hpp"
#include "model/mailbox.hpp"
#include "model/model.hpp"
#include "model/scheduler.hpp"
#include "model/verdict.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/status.hpp"
#include "trace/trace_file.hpp"

namespace portcullis::model {

/// The list of command faults that a test asked for, and which command meets which.
class CommandFaults {
 public:
  void add(const CommandFaultRule& rule) { rules_.push_back(rule); }

  /// What the command that just arrived meets. Every rule that names it counts it; the first that
  /// is due wins, and others that were due stay for the next.
  [[nodiscard]] std::optional<CommandFaultRule> meet(std::uint16_t opcode) {
    std::optional<std::size_t> due;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      CommandFaultRule& rule = rules_[i];
      if (rule.opcode != 0 && rule.opcode != opcode) continue;
      if (rule.nth > 1)
        --rule.nth;
      else if (!due)
        due = i;
    }
    if (!due) return std::nullopt;
    const CommandFaultRule rule = rules_[*due];
    if (!rule.repeat) rules_.erase(rules_.begin() + static_cast<std::ptrdiff_t>(*due));
    return rule;
  }

 private:
  std::vector<CommandFaultRule> rules_;
};

/// A command as its handler sees it: the whole input, and the whole output, zeroed.
struct Command {
  std::uint32_t slot = 0;
  std::span<const std::byte> in;
  std::span<std::byte> out;
};

class CommandQueue {
 public:
  /// Runs a command; nothing when it must wait for firmware pages, until resume() of its slot.
  using Execute = std::optional<Verdict> (*)(void* context, const Command& command);
  struct Deps {
    Dma* dma = nullptr;
    Scheduler* scheduler = nullptr;
    EqTable* eqs = nullptr;
    Counters* counters = nullptr;
    Execute execute = nullptr;
    void* context = nullptr;
    /// Whether a command may have to wait for firmware pages or for DMA. Null: none does.
    bool (*may_wait)(void* context, std::span<const std::byte> in) = nullptr;
  };

  CommandQueue(const Deps& deps, CommandTimes times) noexcept
      : deps_(deps), times_(std::move(times)) {}

  ~CommandQueue() { reset(); }
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  /// Every command from now on is written there; null: nowhere.
  void record_to(std::unique_ptr<trace::TraceFile> trace) noexcept { trace_ = std::move(trace); }
  void remark(std::string_view text) {
    if (trace_) trace_->remark(text);
  }
  static constexpr std::uint32_t kEverySlot = ~std::uint32_t{0};
  /// The doorbell rang for `slots`, a bit each. `queue` is the entries' address, `checksums`
  /// whether input is verified and output signed (cmdif_checksum 3).
  void ring(std::uint32_t slots, Iova queue, bool checksums);
  /// Firmware pages came, or will not: `slot` runs again.
  void resume(std::uint32_t slot);
  void inject(const CommandFaultRule& rule) { faults_.add(rule); }
  /// Reset: what was in flight is forgotten and will never be answered. Faults stay: they are the
  /// test's.
  void reset();
  [[nodiscard]] std::uint32_t in_flight() const noexcept;

 private:
  struct Slot {
    bool checksums = false;
    bool announced = false;  // an EQ subscribed to completions when the command began
    std::uint64_t sequence = 0;
    std::uint64_t started_ns = 0;
    std::uint64_t answer_ns = 0;  // not before
    bool is_done = false;         // and waits to be answered
    Iova address = 0;
    prm::DeliveryStatus delivery = prm::DeliveryStatus::OK;
    std::optional<CommandFaultRule> fault;
    std::array<std::byte, prm::cmd_queue_entry::bytes> entry{};
    std::vector<std::byte> in;
    std::vector<std::byte> out;
    std::vector<Iova> out_blocks;
  };

  [[nodiscard]] bool is_busy(std::uint32_t index) const noexcept {
    return (busy_ >> index & 1) != 0;
  }
  void start(std::uint32_t index, Iova address, bool checksums);
  [[nodiscard]] prm::DeliveryStatus fetch(Slot& slot);
  /// When to run it: as late as may be.
  [[nodiscard]] std::uint64_t plan(Slot& slot);
  void finish(std::uint32_t index);
  [[nodiscard]] std::optional<Verdict> run(std::uint32_t index, Slot& slot);
  void answer(std::uint32_t index, Slot& slot);
  [[nodiscard]] bool write_output(Slot& slot, Signing signing);
  void give_back(std::uint32_t index, Slot& slot, Signing signing);
  void record(std::uint32_t index, const Slot& slot, trace::TraceAnswer answer);
  static void finish_task(void* self, std::uint64_t index);

  Deps deps_;
  CommandTimes times_;
  CommandFaults faults_;
  std::array<Slot, prm::kMaxCommands> slots_;
  std::uint32_t busy_ = 0;  // bit n: slots_[n] is at work
  std::unique_ptr<trace::TraceFile> trace_;
  std::uint64_t issued_ = 0;
};

}  // namespace portcullis::model
