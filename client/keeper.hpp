// SPDX-License-Identifier: BSD-3-Clause
//
// Leases that are looked after: a thread of its own renews them, hears of their end, comes back to
// a server that went, and closes the gate of each lease that is no more. Whoever posts asks the
// gate first, which is one load and no call to anybody. Every call may come from any thread.
//
// A gate is closed as soon as the server says so; when the server is gone for longer than the lease
// lives, or than the server keeps leases of clients that are gone; and when the holder gives it
// back. It never opens again.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "client/connection.hpp"
#include "wire/messages.hpp"

namespace portcullis::client {

/// Whether requests may be posted under a lease.
class Gate {
 public:
  [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }
  void close() noexcept { open_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> open_{true};
};

/// How a kept lease ended, as far as its holder knows.
struct KeptEnd {
  wire::Notice notice = wire::Notice::Revoked;
  /// False: the server could not be reached until the lease's time was over; `body` names the lease
  /// and says nothing else.
  bool is_known = false;
  wire::EndedNotice body;
};

struct KeptLease {
  wire::AllocAnswer grant;
  std::shared_ptr<const Gate> gate;
};

class Keeper {
 public:
  struct Options {
    ServerAddress server;
    std::string name = "client";
    std::uint64_t deadline_ms = 5'000;  // of each request
    /// A lease has ended otherwise than by release(); its gate is closed already. Called from the
    /// keeper's thread, which must not be kept waiting, and must not call the keeper. May be empty.
    /// Not called any more once stop() has been.
    std::function<void(const KeptEnd&)> on_ended = {};
  };

  /// As Connection::open.
  [[nodiscard]] static Result<std::unique_ptr<Keeper>> open(Options options);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  /// Ends without giving back: the server ends what is left, by its own rule for clients that go.
  ~Keeper();

  /// Errors as Connection's; DeviceGone while the server cannot be reached.
  [[nodiscard]] Result<KeptLease> alloc(const wire::AllocRequest& wanted);
  /// What the server asks of the lease's holder, and whether it has seen it. NotFound once the
  /// lease has ended; Timeout without an answer within `most_ms`, where that is less than a request
  /// has.
  [[nodiscard]] Result<wire::ChallengeAnswer> challenge(
      std::uint64_t id, std::uint64_t epoch, std::optional<std::uint64_t> most_ms = std::nullopt);
  /// Closes the gate, and then has the lease revoked.
  [[nodiscard]] Result<wire::RevokeAnswer> release(std::uint64_t id, std::uint64_t epoch,
                                                   wire::Plan plan = wire::Plan::Default);
  [[nodiscard]] wire::HelloAnswer server() const;
  /// From within on_ended: what waits for the keeper's thread would wait for itself.
  [[nodiscard]] bool is_own_thread() const noexcept {
    return std::this_thread::get_id() == thread_.get_id();
  }
  /// Its thread ends soon, and nobody hears of what ends meanwhile; the destructor waits for it.
  void stop() noexcept;

 private:
  struct Held {
    std::uint64_t epoch = 0;
    std::uint64_t asked_ttl_ms = 0;  // as its holder asked
    std::uint64_t ttl_ms = 0;        // as it was granted
    std::uint64_t renew_at_ns = 0;
    std::uint64_t ends_ns = 0;  // by this side's clock, counted from before it was asked for
    bool is_over = false;       // its gate is closed, and its end not told yet
    std::shared_ptr<Gate> gate;
  };
  using Job = std::function<void()>;

  Keeper(Options options, Connection connection);
  void run();
  void do_jobs();
  void wait(std::uint64_t most_ms);
  void look_after();
  void renew_due();
  void ask_how_it_ended(std::uint64_t id);
  void hear_news();
  void hear(const News& news);
  void end(std::uint64_t id, const KeptEnd& how);
  void drop(std::map<std::uint64_t, Held>::iterator held);
  [[nodiscard]] std::uint64_t ends_ns(const Held& held) const;
  void lose_overdue();
  void lose_connection();
  void come_back();
  void attend();
  /// What does not wait for an answer to something else: gates are closed in time, and their ends
  /// told later.
  void shut(const News& news);
  void watch_gates();
  void ask_for_life();
  /// How long a server may be called for: no lease's end may pass meanwhile.
  [[nodiscard]] std::uint64_t patience_ms() const;
  [[nodiscard]] Result<KeptLease> do_alloc(const wire::AllocRequest& wanted);
  [[nodiscard]] Result<wire::RevokeAnswer> do_release(const wire::RevokeRequest& wanted);
  /// Has the keeper's thread do it, and waits. Timeout: it is done all the same, and nobody hears.
  template <class T>
  [[nodiscard]] Result<T> have_done(std::function<Result<T>()> what,
                                    std::optional<std::uint64_t> most_ms = std::nullopt);
  void wake() noexcept;
  [[nodiscard]] bool is_stopped() const;
  [[nodiscard]] tl::unexpected<Error> gone() const;

  Options options_;
  UniqueFd wake_;
  mutable std::mutex lock_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  wire::HelloAnswer server_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<Gate>> gates_;  // by name
  // The keeper's thread alone.
  std::optional<Connection> connection_;
  std::map<std::uint64_t, Held> held_;  // by id
  std::uint64_t try_again_ns_ = 0;
  std::thread thread_;
};

}  // namespace portcullis::client
