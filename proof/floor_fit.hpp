// SPDX-License-Identifier: BSD-3-Clause
//
// Which mechanism explains when clients failed. Runs over many ack timeouts T and retry counts r
// are held against each explanation of the floor document's 1.4 s, each with an offset of its own;
// the simplest that fits is named, and when none fits, or several do equally well, nothing is.
// Where the failure is of another clock, what fits must do so wherever in its uncertainty each
// point was.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::proof {

/// What a verdict may name.
inline constexpr std::array<std::string_view, 9> kMechanisms{"budget",
                                                             "budget without the last timeout",
                                                             "minimum timeout, budget",
                                                             "minimum total, budget",
                                                             "fixed total",
                                                             "cache plus budget",
                                                             "nak",
                                                             "censored",
                                                             "undecided"};

/// What one client saw, in nanoseconds from the revoke.
struct FloorPoint {
  unsigned timeout = 0;  // T is 4.096 us x 2^timeout
  unsigned retry = 0;
  std::optional<std::uint64_t> failure_ns{};  // none: censored, no failure before deadline_ns
  std::uint64_t deadline_ns = 0;
  std::optional<std::uint64_t> outcome_ns{};  // of the revoke; none: nobody says
  std::uint64_t last_change_ns = 0;           // of a byte of the region; 0: none after the revoke
  bool is_nak = false;                        // the failure is an answer of the responder
  bool is_served_late = false;                // a byte changed behind the revoke's outcome
  /// Of failure_ns, either way, where another clock than the revoke's told it.
  std::uint64_t uncertainty_ns = 0;
};

/// One explanation, as well as it can be made to fit.
struct FloorFit {
  std::string mechanism;  // "budget"
  std::string formula;    // "(r + 1) T + 12 us"
  /// The number of its own: ns that it was served or that all took, the exponent of the least
  /// timeout; 0 where it has none.
  std::uint64_t value = 0;
  double median_error = 0;  // of |seen - said| / seen, over the points
  double share_within = 0;  // of the points within 10 %
  /// Wherever within its uncertainty each failure was.
  bool is_accepted = false;
  /// If each failure was where it suits this explanation best.
  bool is_possible = false;
};

struct FloorVerdict {
  std::string mechanism;  // of the fit that is named; "nak", "censored" or "undecided"
  std::string why;        // one line
  std::vector<FloorFit> fits;
};

[[nodiscard]] FloorVerdict explain_floor(std::span<const FloorPoint> points);
/// The verdict and every fit, a line each.
[[nodiscard]] std::string describe(const FloorVerdict& verdict);

}  // namespace portcullis::proof
