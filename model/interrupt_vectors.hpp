// SPDX-License-Identifier: BSD-3-Clause
//
// MSI-X vectors between event queues and whoever delivers them: CONFIG_INT_MODERATION keeps the
// interrupts of one apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/scheduler.hpp"

namespace portcullis::model {

class InterruptVectors {
 public:
  static constexpr std::size_t kVectors = 0x1000;  // as many as eqc.intr tells apart

  using Deliver = void (*)(void* context, std::uint32_t vector) noexcept;
  explicit InterruptVectors(Scheduler& scheduler) : scheduler_(&scheduler) {}

  void deliver_to(Deliver deliver, void* context) noexcept {
    deliver_ = deliver;
    context_ = context;
  }

  /// At once, or as soon as the vector's last interrupt is long enough ago: one for all that wait.
  void raise(std::uint32_t vector) noexcept;
  /// Of a vector below kVectors. One that waits comes by the new terms.
  void set_min_delay(std::uint32_t vector, std::uint64_t ns);
  [[nodiscard]] std::uint64_t min_delay_ns(std::uint32_t vector) const noexcept;
  void clear() noexcept;

 private:
  struct Vector {
    std::uint64_t min_delay_ns = 0;
    std::optional<std::uint64_t> last_ns;
    std::optional<TimerId> wait;
  };
  void deliver(std::uint32_t number);

  Scheduler* scheduler_;
  std::vector<Vector> vectors_;  // those with a delay, and those below
  Deliver deliver_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace portcullis::model
