// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify at leased: the data check, or a revoke with the client library listening, and what
// both sides' words come to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/lease_verify/leased_lease.hpp"
#include "tools/lease_verify/program.hpp"
#include "tools/lease_verify/revoke_test.hpp"

namespace portcullis::tools::lease_verify {

/// The program's status; the gravest first, and 2 is that it could not be checked.
enum class Verdict {
  Good = 0,
  Wrong = 1,           // a byte, no revoke, no word of it, or something went on behind it
  ContractMissed = 5,  // no outcome within a second of asking for it
  BudgetMissed = 4,    // this side knew of it after more than 2000 ms
  PropertyMissed = 3,  // .. than a second
};

/// A revoke as the queue pair, the keeper and whoever asked for it saw it.
struct LeasedRevoke {
  RevokeObservation seen;
  bool cooperates = false;
  std::optional<Ended> ended;           // the word of the end, as the keeper heard it
  std::optional<Revoker::Asked> asked;  // by this side

  [[nodiscard]] Verdict verdict() const;
  /// How long this side did not know: from asking for the revoke, where it was this side that did,
  /// else from the last success. None where neither is known.
  [[nodiscard]] std::optional<std::uint64_t> unknown_for_ns() const noexcept;
  /// The verdict in words, and what it rests on.
  [[nodiscard]] std::string verdict_text() const;
  /// The word of the end, who asked for it, and what went on behind it.
  [[nodiscard]] std::vector<std::string> lines() const;
  void add_to(nlohmann::ordered_json& object) const;

 private:
  [[nodiscard]] bool is_word_of_end() const noexcept { return ended && ended->how.is_known; }
  /// Behind the word of the end: posted by who cooperates, or posted and done by who does not.
  [[nodiscard]] bool goes_on() const noexcept;
  [[nodiscard]] std::string what_is_wrong() const;
};

/// What was under way at the end, as docs/failover.md has it ("Advice for a send queue"): nobody
/// else has the region's key, and this program reads it whenever it likes.
[[nodiscard]] std::string send_queue(const RevokeObservation& seen, Op op);

/// Asks leased for a lease and checks it. An error: it could not be checked.
[[nodiscard]] Result<Verdict> run_leased(const Options& options, const World& world);

}  // namespace portcullis::tools::lease_verify
