// SPDX-License-Identifier: BSD-3-Clause
//
// Time, chance and whose turn it is in a simulated fleet: events in the order of their times, all
// of it in one thread and decided by one seed. What waits for an answer, as the fleet's own code
// does, is a Fiber: it has a stack of its own and goes on when its event comes.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace portcullis::fleet::simulation {

/// A process, as far as anything happens in it.
struct Life {
  bool is_over = false;
  bool is_stopped = false;                          // by SIGSTOP
  std::vector<std::function<void()>> waiting = {};  // what has come for it since
};

class World {
 public:
  using Act = std::function<void()>;

  explicit World(std::uint64_t seed) : chance_(seed) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }
  /// Of those at one time the one that was said first comes first.
  void at(std::uint64_t ns, Act act);
  void after(std::uint64_t ns, Act act) { at(now_ns_ + ns, std::move(act)); }
  /// Not before that life goes on, and never once it is over.
  void after(const std::shared_ptr<Life>& life, std::uint64_t ns, Act act);
  /// It is stopped no longer: what has come meanwhile comes now.
  void go_on(const std::shared_ptr<Life>& life);
  /// Everything up to then.
  void run_until(std::uint64_t ns);

  /// From `least` to `most`.
  [[nodiscard]] std::uint64_t draw(std::uint64_t least, std::uint64_t most);
  [[nodiscard]] bool happens(std::uint64_t in_a_thousand) { return draw(1, 1000) <= in_a_thousand; }

  /// What has happened, for whoever reads it and for telling two runs apart.
  void say(const std::string& line);
  [[nodiscard]] const std::vector<std::string>& said() const noexcept { return said_; }
  /// Of all that was said.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }
  /// What must not have happened.
  void violation(const std::string& what);
  [[nodiscard]] const std::vector<std::string>& violations() const noexcept { return violations_; }

 private:
  struct Event {
    std::uint64_t ns = 0;
    std::uint64_t number = 0;
    Act act;

    [[nodiscard]] bool operator<(const Event& other) const noexcept {  // the top is the first one
      return ns != other.ns ? ns > other.ns : number > other.number;
    }
  };

  std::mt19937_64 chance_;
  std::uint64_t now_ns_ = kNsPerSecond;
  std::uint64_t numbers_ = 0;
  std::vector<Event> events_;  // a heap, the next one first
  std::vector<std::string> said_;
  std::uint64_t digest_ = 0xcbf29ce484222325U;
  std::vector<std::string> violations_;
};

/// A monotonic clock that runs at its own rate and began at its own time.
class HostClock {
 public:
  HostClock(const World& world, std::uint64_t offset_ns, double rate)
      : world_(&world), offset_ns_(offset_ns), rate_(rate) {}
  [[nodiscard]] Clock clock() const noexcept { return Clock::simulated(&HostClock::now, this); }
  /// As no monotonic clock is: it is so much further from now on.
  void set_by(std::int64_t ns) noexcept { offset_ns_ += static_cast<std::uint64_t>(ns); }

 private:
  static std::uint64_t now(const void* self) noexcept {
    const auto& clock = *static_cast<const HostClock*>(self);
    return clock.offset_ns_ +
           static_cast<std::uint64_t>(static_cast<double>(clock.world_->now_ns()) * clock.rate_);
  }
  const World* world_;
  std::uint64_t offset_ns_;
  double rate_;
};

class Fiber {
 public:
  /// `body` begins at the world's next turn. It may end at any wait by an exception that nobody but
  /// the fiber catches: its process was killed.
  Fiber(World& world, std::shared_ptr<Life> life, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// What has not ended is killed.
  ~Fiber();

  /// From within: until then, or until somebody wakes it. It may come back before either.
  void wait_until(std::uint64_t ns);
  /// From outside.
  void wake();
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

 private:
  struct Killed {};
  static void run();
  void go_on();

  static Fiber* running_;

  World& world_;
  std::shared_ptr<Life> life_;
  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t here_{};
  ucontext_t back_{};
  std::uint64_t turn_ = 0;  // what was to wake it before has come too late
  bool has_ended_ = false;
  bool is_killed_ = false;
};

}  // namespace portcullis::fleet::simulation
