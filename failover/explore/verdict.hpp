// SPDX-License-Identifier: BSD-3-Clause
//
// What a protocol is, of four: a property breaks, a client may hang, a client may give up, or none
// of these. An exploration and, where nothing breaks, a look at progress.
#pragma once

#include <optional>

#include "failover/explore/explorer.hpp"
#include "failover/explore/liveness.hpp"

namespace portcullis::failover {

enum class Verdict : std::uint8_t {
  Safe,     // nothing breaks, and every run comes to its end or to where a bound cuts it
  GivesUp,  // the same, but some run ends with an error to the application
  Hangs,    // nothing breaks, but some run can never come to its end
  Refuted,  // a property breaks
  Stopped,  // none: interrupted, or a limit of the exploration
};

struct Judged {
  Exploration explored;
  /// Empty where something breaks, the exploration was stopped, or there is too much to look at:
  /// then a Safe or GivesUp says nothing of progress beyond deadlock.
  std::optional<Liveness> progress;
  bool is_interrupted = false;  // `stop` ended the look at progress: no verdict but a deadlock's
  [[nodiscard]] Verdict verdict() const noexcept;
};

/// Progress is looked at up to `most_states`, and as far as the memory limit of `options` goes.
[[nodiscard]] Result<Judged> judge_protocol(const Machine& machine, const ExploreOptions& options,
                                            std::uint64_t most_states = 5'000'000);

/// "safe", "gives-up", "hangs", "refuted", "stopped".
[[nodiscard]] const char* name_of(Verdict verdict) noexcept;

}  // namespace portcullis::failover
