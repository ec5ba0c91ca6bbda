// SPDX-License-Identifier: BSD-3-Clause
//
// A client that does not cooperate: it goes on using its lease until its own QP tells it that it
// may not. Each WRITE carries a number, so that whoever owns the memory sees which was the last.
// What it reports separates the ways to be told: a NAK in one round trip, or silence and the QP's
// own retry budget. One that cooperates asks before each operation whether it may go on, and takes
// a no for its end.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "service/exchange/exchange.hpp"
#include "tools/lease_verify/requester.hpp"

namespace portcullis::tools::lease_verify {

/// How long a requester goes on asking a responder that is silent: (retry_cnt + 1) sends, each
/// waited for at least T = 4.096 us x 2^timeout, and by the standard at most 4 T.
struct Budget {
  std::uint8_t timeout = 0;
  std::uint8_t retry = 0;

  [[nodiscard]] std::uint64_t least_ns() const noexcept {
    return (retry + std::uint64_t{1}) * (std::uint64_t{4096} << timeout);
  }
  [[nodiscard]] std::uint64_t most_ns() const noexcept { return 4 * least_ns(); }
  /// "(6 + 1) x 4.096 us x 2^14 = 469.762 ms".
  [[nodiscard]] std::string least_text() const;
  /// "4 times that, as the standard lets a timer run: 1879.048 ms".
  [[nodiscard]] std::string most_text() const;
};

struct RevokeTestOptions {
  Op op = Op::Write;        // or Read, FetchAdd
  std::uint32_t depth = 1;  // outstanding
  /// How long to wait for the revoke; the first failure may come the budget later.
  std::uint64_t limit_ms = 60'000;
  /// What has no answer by the limit is waited for no longer: there was no failure then.
  bool ends_at_limit = false;
  /// True ends the wait as the limit does, and while an operation has no answer the test: Busy.
  std::function<bool()> stop = {};
  /// Asked by a client that cooperates, before each operation and while it waits for an answer: may
  /// it post? Once false, false. Empty: it does not cooperate.
  std::function<bool()> may_post = {};
  std::uint32_t packets_before = 0;  // that this QP has sent already
};

/// What had no success when the first one failed: that one, and what was posted behind it. For
/// `failover-check import`, which says what of it may be posted again.
struct Unanswered {
  std::uint64_t requests = 0;
  std::uint64_t remote_addr = 0;  // of each, 8 bytes
  std::uint32_t rkey = 0;
  std::uint32_t qp_num = 0;  // the responder's
  std::uint32_t psn = 0;     // of the first; each takes one
};

struct RevokeObservation {
  std::uint64_t succeeded = 0;
  std::uint64_t started_ns = 0;
  std::uint64_t last_success_ns = 0;  // 0: there was none
  std::uint64_t first_failure_ns = 0;
  std::uint64_t failed_post_ns = 0;      // when what failed first had been posted
  std::optional<WorkResult> failure;     // none: nothing failed within the limit
  std::optional<Unanswered> unanswered;  // with a failure
  /// When a client that cooperates saw that it may post no more; 0: it never did. What was under
  /// way then is waited for, and `last_success_ns` is of before.
  std::uint64_t closed_ns = 0;
  // Just before it was asked whether the operation may be posted:
  std::uint64_t last_post_ns = 0;          // the newest of all
  std::uint64_t last_success_post_ns = 0;  // the newest of those that succeeded

  /// When this side knew that the lease is no more, by a failure or by asking.
  [[nodiscard]] std::optional<std::uint64_t> found_ns() const noexcept;
  /// From the last success to found_ns(); none where one of them is missing, for then nobody
  /// here knows when it began. The revoke itself may have been called some time before that
  /// success: only whoever called it can tell.
  [[nodiscard]] std::optional<std::uint64_t> told_after_ns() const noexcept;
  /// Told within the limit, as far as is known: false where it is not.
  [[nodiscard]] bool is_met(std::uint64_t limit_ns) const noexcept;
  [[nodiscard]] std::string verdict() const;
  /// What was seen, and the verdict on it.
  [[nodiscard]] std::vector<std::string> lines(const Budget& budget, Op op) const;
  [[nodiscard]] std::vector<std::string> facts(const Budget& budget, Op op) const;
  /// One JSON object; times in ns of the host's CLOCK_MONOTONIC.
  [[nodiscard]] nlohmann::ordered_json object(const Budget& budget, Op op) const;
  [[nodiscard]] std::string json(const Budget& budget, Op op) const;
};

/// The limits that the project was given: a client finds out within a second, and no path takes
/// more than the budget.
inline constexpr std::uint64_t kPropertyNs = kNsPerSecond;
inline constexpr std::uint64_t kRegressionBudgetNs = 2'000 * kNsPerMs;

/// Timeout when a QP tells neither success nor failure for longer than its budget allows;
/// InvalidArgument when the operation is not granted.
[[nodiscard]] Result<RevokeObservation> watch_revoke(Requester& requester,
                                                     const service::exchange::Grant& grant,
                                                     const RevokeTestOptions& options);

/// A file of one JSON object.
[[nodiscard]] std::string file_text(const nlohmann::ordered_json& object);

/// What a status means for who told it: "a NAK of the responder", ..
[[nodiscard]] std::string_view reading(prm::WcStatus status) noexcept;

}  // namespace portcullis::tools::lease_verify
