// SPDX-License-Identifier: BSD-3-Clause
//
// The deferred phase, on the idle path: DELETE_FLOW_TABLE_ENTRY and 2RST_QP once GRACE is over,
// then the QP stays in RESET until its number can meet no stale packet, then DESTROY_QP,
// DEALLOC_PD, the region's unmap, and the slot is FREE. Any failure fences the slot.
//
// One slot at a time and one command in flight, in a common entry; sweep_due() never waits for the
// device, so a revoke never waits for a sweep but where Options::wait_ms lets a poll wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "lease/deadline.hpp"
#include "lease/fence.hpp"
#include "lease/holding.hpp"
#include "lease/lease_table.hpp"
#include "pmd/command_channel.hpp"

namespace portcullis::lease {

class Sweep {
 public:
  struct Options {
    /// For each command: a whole sequence of them takes 1.4 s in the floor document, 3.2.
    std::uint64_t command_deadline_ms = 2'000;
    /// How long a poll waits for the device while something is due: 0 for who polls all the time,
    /// the whole of it (LeaseManager::kPollMs) for who does so now and then, or a slot would take a
    /// poll for each of its steps.
    std::uint64_t wait_ms = 0;
  };
  /// A slot is FREE; its holding is still there.
  using OnFree = std::function<void(std::uint32_t slot)>;

  /// `port` and `table` must outlive it. `holding_of` answers for every slot of PENDING_DESTROY.
  Sweep(const FencePort& port, LeaseTable& table, const Options& options,
        std::function<Holding&(std::uint32_t)> holding_of, OnFree on_free)
      : port_(&port),
        table_(&table),
        options_(options),
        holding_of_(std::move(holding_of)),
        on_free_(std::move(on_free)) {}

  /// Goes on with what is due at `now_ns` until the device must answer or nothing is due any more,
  /// and behind `until_ns` with no further phase of a slot. Slots in their waits are not looked at.
  void sweep_due(std::uint64_t now_ns, std::uint64_t until_ns);
  /// A slot is in hand.
  [[nodiscard]] bool is_busy() const noexcept { return current_.has_value(); }
  /// There is no time left: every slot of PENDING_DESTROY, due or not, is fenced where it stands.
  void abandon();

 private:
  struct Current {
    std::uint32_t slot;
    std::span<const Step> steps;
    std::size_t next = 0;
    StepMask done = 0;
    std::optional<pmd::Ticket> ticket;
    std::uint64_t deadline_ns = 0;  // of the ticket's command
  };

  [[nodiscard]] bool take(std::uint64_t now_ns);
  /// Every step of the current phase; false while the device has not answered.
  [[nodiscard]] bool run_steps();
  /// What became of the next step; none while the device has not answered.
  [[nodiscard]] std::optional<Result<void>> run(Step step, const Holding& holding);
  [[nodiscard]] std::optional<Result<void>> run_command(const StepRow& how,
                                                        const FenceTarget& target);
  void finish_phase();
  void fence(Step failed);
  [[nodiscard]] std::uint64_t command_deadline_ns() const noexcept {
    return after_ms(port_->device->clock.now_ns(), options_.command_deadline_ms);
  }

  const FencePort* port_;
  LeaseTable* table_;
  Options options_;
  std::function<Holding&(std::uint32_t)> holding_of_;
  OnFree on_free_;
  std::optional<Current> current_;
};

}  // namespace portcullis::lease
