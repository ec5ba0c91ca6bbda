// SPDX-License-Identifier: BSD-3-Clause
//
// The experiment as a whole: the fabric's bound, a run with every rule in force, one for each of
// the three defences alone, and runs with none of them but a rest of the number that grows from
// far below the bound to above it. And whether they show what the bound is for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "late/experiment.hpp"

namespace portcullis::late {

struct Row {
  std::string kept;  // of the rules
  Trial trial;
  Seen seen;
};

struct Wanted {
  Setup setup;
  /// How long numbers rest in the runs without any other defence; empty: some around the
  /// bound, the bound itself among them, and the shortest that suffices for what was late.
  std::vector<std::uint64_t> rests_ms;
};

struct Findings {
  double bound_us = 0;
  std::uint64_t bound_ms = 0;  // rounded up, as lease-serve --fabric does
  std::vector<Row> defences;   // every rule; the rest, the key byte, the PSN alone
  std::vector<Row> rests;      // none but a rest, ascending
  bool is_stopped = false;

  [[nodiscard]] bool rests_for_bound(const Row& row) const noexcept {
    return row.trial.rest_ms() >= bound_ms;
  }
};

/// InvalidArgument for a fabric that has no bound, with the circle because of which it has none.
[[nodiscard]] Result<Findings> look(const Wanted& wanted);

/// Why they do not show that the bound is what keeps the next tenant's bytes; none: they do.
[[nodiscard]] std::optional<std::string> why_not_shown(const Findings& findings);

}  // namespace portcullis::late
