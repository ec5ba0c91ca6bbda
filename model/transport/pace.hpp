// SPDX-License-Identifier: BSD-3-Clause
//
// How long each step of the data path takes. Without a Pace every step takes no time and happens in
// the call that asks for it. With one the responder asks before each step, so that a command may
// meet a packet that has passed its key check and has not touched memory yet: the window that a
// fence must close. Whatever is answered, the packets of a QP are checked, carried out and answered
// in PSN order.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "model/scheduler.hpp"

namespace portcullis::model {

/// Where on its way a packet stands.
enum class PacePoint : std::uint8_t {
  FrameOnWire,      // sent, not received; frames may overtake each other here
  BeforeCheck,      // received and past steering; QP, PSN and key are still to be looked at
  WritePending,     // a WRITE's or SEND's payload: the key allowed it, memory has not changed
  BetweenPackets,   // of one message: the requester's next, or a READ's next response, unchecked
  ReadPending,      // a READ response: the key allowed it, memory has not been read
  AtomicPending,    // the key allowed it, memory has been neither read nor changed
  ResponsePending,  // done, and its acknowledgement, NAK or data not sent
};

/// What the question is about; 0 where a step has no such thing.
struct PaceStep {
  PacePoint at{};
  std::uint8_t opcode = 0;  // BTH, of a packet before its check
  std::uint32_t qpn = 0;    // of the QP that works; of the destination before the check
  std::uint32_t psn = 0;
  std::uint32_t key = 0;
  std::uint64_t va = 0;
  std::uint32_t bytes = 0;
};

class Pace {
 public:
  using Ticket = std::uint64_t;
  static constexpr std::uint64_t kUntilReleased = std::numeric_limits<std::uint64_t>::max();

  virtual ~Pace() = default;
  /// 0: the step is over at once. kUntilReleased: when Model::release(ticket) is called, which may
  /// happen at any later time, and at a function reset never. Called from inside a step.
  virtual std::uint64_t delay_ns(const PaceStep& step, Ticket ticket) = 0;
};

/// One model's steps that are not over.
class Pacer {
 public:
  Pacer(Scheduler& scheduler, std::shared_ptr<Pace> pace) noexcept
      : scheduler_(&scheduler), pace_(std::move(pace)) {}

  /// Whether anybody is to be asked.
  [[nodiscard]] bool engaged() const noexcept { return pace_ != nullptr; }
  /// True: the step is over. False: `task` runs when it is.
  [[nodiscard]] bool pass(const PaceStep& step, Task task) {
    if (pace_ == nullptr) return true;
    const Pace::Ticket ticket = next_++;
    const std::uint64_t ns = pace_->delay_ns(step, ticket);
    if (ns == 0) return true;
    if (ns == Pace::kUntilReleased) {
      held_.emplace(ticket, task);
    } else {
      static_cast<void>(scheduler_->schedule(scheduler_->now_ns() + ns, task));
    }
    return false;
  }
  /// False: no step is held under that ticket.
  bool release(Pace::Ticket ticket) {
    const auto held = held_.extract(ticket);
    if (held.empty()) return false;
    scheduler_->post(held.mapped());
    return true;
  }
  /// Steps that were held are forgotten.
  void clear() noexcept { held_.clear(); }

 private:
  Scheduler* scheduler_;
  std::shared_ptr<Pace> pace_;
  Pace::Ticket next_ = 1;
  std::unordered_map<Pace::Ticket, Task> held_;
};

/// Every access to memory takes the same time.
class FixedPace final : public Pace {
 public:
  explicit FixedPace(std::uint64_t ns) noexcept : ns_(ns) {}
  std::uint64_t delay_ns(const PaceStep& step, Ticket /*ticket*/) override {
    switch (step.at) {
      case PacePoint::WritePending:
      case PacePoint::ReadPending:
      case PacePoint::AtomicPending:
        return ns_;
      default:
        return 0;
    }
  }

 private:
  std::uint64_t ns_;
};

}  // namespace portcullis::model
