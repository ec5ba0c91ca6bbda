// SPDX-License-Identifier: BSD-3-Clause
//
// One lease of leased as the client library keeps it: asked for, its challenge met, its gate, the
// word of its end and when that came, and the advice afterwards. Times are of CLOCK_MONOTONIC.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "client/keeper.hpp"
#include "service/exchange/exchange.hpp"
#include "tools/lease_verify/options.hpp"
#include "tools/lease_verify/requester.hpp"

namespace portcullis::tools::lease_verify {

/// The word of a lease's end, as the keeper's thread hands it on.
struct Ended {
  client::KeptEnd how;
  std::uint64_t at_ns = 0;
};

class LeasedLease {
 public:
  /// For the queue pair of `request`. While nobody listens or the server is busy it is asked again,
  /// for `wait_ms` or until `stop`. An answer that no lease can have is Malformed.
  [[nodiscard]] static Result<std::unique_ptr<LeasedLease>> open(
      const LeasedOptions& options, const service::exchange::Request& request,
      std::uint64_t wait_ms, const std::function<bool()>& stop);
  LeasedLease(const LeasedLease&) = delete;
  LeasedLease& operator=(const LeasedLease&) = delete;

  [[nodiscard]] const service::exchange::Grant& grant() const noexcept { return grant_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return kept_.grant.id; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return kept_.grant.epoch; }
  /// The gate: one load.
  [[nodiscard]] bool may_post() const noexcept { return kept_.gate->is_open(); }

  /// Writes what the server asks for, by `requester`, and waits until the server has seen it: how
  /// long that took in ns. None where it asks for nothing.
  [[nodiscard]] Result<std::optional<std::uint64_t>> meet_challenge(
      Requester& requester, const std::function<bool()>& stop);
  /// None after `most_ms` in which the lease has not ended otherwise than by end().
  [[nodiscard]] std::optional<Ended> wait_for_end(std::uint64_t most_ms);
  /// Gives the lease back; of one that has ended it is how that was.
  [[nodiscard]] Result<wire::RevokeAnswer> end();

 private:
  LeasedLease() = default;
  void note(const client::KeptEnd& how);

  std::mutex lock_;
  std::condition_variable changed_;
  std::optional<Ended> ended_;
  service::exchange::Grant grant_;
  client::KeptLease kept_;
  std::unique_ptr<client::Keeper> keeper_;  // last: its thread calls note() until it is gone
};

/// Has a lease revoked after a while, over a connection of its own: the keeper hears of it as of
/// anybody's.
class Revoker {
 public:
  struct Asked {
    std::uint64_t asked_ns = 0;
    std::uint64_t answered_ns = 0;
    Result<wire::RevokeAnswer> answer;
  };

  [[nodiscard]] static Result<std::unique_ptr<Revoker>> start(const client::ServerAddress& server,
                                                              const LeasedLease& lease,
                                                              std::uint64_t after_ms);
  Revoker(const Revoker&) = delete;
  Revoker& operator=(const Revoker&) = delete;
  ~Revoker() { stop(); }

  /// What was answered; none when it was not asked yet, and is not any more.
  [[nodiscard]] std::optional<Asked> finish();

 private:
  explicit Revoker(client::Connection connection) : connection_(std::move(connection)) {}
  void run(wire::RevokeRequest wanted, std::uint64_t after_ms);
  void stop();

  client::Connection connection_;
  std::mutex lock_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::optional<Asked> asked_;  // the thread's until it was joined
  std::thread thread_;
};

}  // namespace portcullis::tools::lease_verify
