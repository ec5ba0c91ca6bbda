// SPDX-License-Identifier: BSD-3-Clause
//
// SENDs back and forth, as ibv_rc_pingpong exchanges them: it sends what it received, so each
// message that comes must be the one sent before, byte by byte. (Its own -c compares with zero:
// `i / page_size % sizeof(char)` of rdma-core's rc_pingpong.c.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "base/result.hpp"
#include "tools/roce_peer/connection.hpp"

namespace portcullis::tools::roce_peer {

struct PingPongOptions {
  std::uint32_t rounds = 1000;
  std::uint32_t bytes = 4096;
  bool starts = false;                 // sends the first message
  std::uint64_t deadline_ms = 10'000;  // of one message
  std::function<bool()> stop = {};     // asked before each; true ends the game with Busy
};

struct PingPongReport {
  std::uint64_t received = 0;
  std::uint64_t compared = 0;  // messages; the first that comes echoes nothing when the peer starts
};

class PingPong {
 public:
  /// Receives for what may come from now on; before the peer learns of the QP. `connection` must
  /// outlive it.
  [[nodiscard]] static Result<PingPong> create(Connection& connection,
                                               const PingPongOptions& options);
  /// Once the QP is connected: one completion, if there is one by `until_ns`. True when all is
  /// done. The error names the completion that failed, or the first byte that differs.
  [[nodiscard]] Result<bool> step(std::uint64_t until_ns);
  /// Steps until all is done; Timeout when a message takes longer than the deadline.
  [[nodiscard]] Result<PingPongReport> run();
  [[nodiscard]] const PingPongReport& report() const noexcept { return report_; }

 private:
  PingPong(Connection& connection, const PingPongOptions& options)
      : connection_(&connection),
        options_(options),
        owes_message_(options.starts),
        sent_(options.bytes) {}

  [[nodiscard]] Result<void> take(const pmd::Completion& done);
  [[nodiscard]] Result<void> compare(std::size_t offset) const;
  [[nodiscard]] Result<void> send_if_due();
  [[nodiscard]] bool is_done() const noexcept {
    return report_.received >= options_.rounds && sends_done_ == sends_ && !owes_message_;
  }

  Connection* connection_;
  PingPongOptions options_;
  bool owes_message_;
  std::mt19937_64 random_{1};
  std::vector<std::byte> sent_;
  std::uint64_t sends_ = 0;
  std::uint64_t sends_done_ = 0;
  PingPongReport report_;
};

}  // namespace portcullis::tools::roce_peer
