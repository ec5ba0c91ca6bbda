// SPDX-License-Identifier: BSD-3-Clause
//
// What floor_bench found, run by run and series by series, in records and in words: when the client
// was last served, when the region last changed, when and how it first failed, and the name of what
// it saw.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "pmd/q_counter.hpp"
#include "proof/floor_fit.hpp"

namespace portcullis::bench {

/// What a client saw of a revoke.
enum class FloorSeen : std::uint8_t {
  Silence,           // its retry budget ran out
  Nak,               // the responder refused
  ServedAfterFence,  // bytes changed after the outcome: the fence is no fence
  Nothing,           // no failure before the deadline: censored
};
[[nodiscard]] std::string_view name(FloorSeen seen) noexcept;

/// One run, in nanoseconds from the revoke.
struct FloorRun {
  std::uint64_t outcome_ns = 0;
  std::uint64_t last_success_ns = 0;  // 0: none after the revoke
  std::uint64_t last_change_ns = 0;   // the same
  std::optional<std::uint64_t> failure_ns{};
  int status = 0;          // ibv_wc_status of the failure
  bool is_served = false;  // bytes changed after an outcome that protects them
  /// Of both queue pairs, from the revoke to the end of the run; none on a function without.
  std::optional<pmd::QCounterValues> counters{};

  [[nodiscard]] FloorSeen seen() const noexcept;
};

/// What the runs of one series came to.
struct FloorFindings {
  std::string plan;
  unsigned timeout = 0;
  unsigned retry = 0;
  std::uint64_t deadline_ns = 0;
  bool is_watched = true;  // after the outcome; legacy frees the region with it

  std::string not_measured;  // why this series has no result; empty: it has

  std::vector<FloorRun> runs;
  std::map<int, std::uint64_t> statuses;  // of the first failing completion: how often
  std::uint64_t censored = 0;
  std::uint64_t served = 0;  // runs in which bytes changed that a fence protects
  std::uint64_t greatest_ns = 0;
  std::uint64_t last_success_ns = 0;  // the latest
  std::uint64_t last_change_ns = 0;   // the latest

  void add(const FloorRun& run);
  /// Of all runs together, those that are not 0, in their own order.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> counted() const;
  [[nodiscard]] bool is_met(std::uint64_t limit_ns) const noexcept {
    return !runs.empty() && censored == 0 && greatest_ns <= limit_ns;
  }
  /// "IBV_WC_RETRY_EXC_ERR (12): silence"; with their counts when runs differ.
  [[nodiscard]] std::string seen_text() const;
};

/// By the name of the series, in the order of running.
class FloorReport {
 public:
  [[nodiscard]] FloorFindings& operator[](const std::string& name);
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

  [[nodiscard]] bool is_served_after_fence() const noexcept;
  /// The runs of each plan as points for explain_floor(), of the series that have a result.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<proof::FloorPoint>>> points() const;
  /// A line a run: series, then every figure of the record; a counter that the function has not is
  /// empty. For a spreadsheet.
  [[nodiscard]] std::string csv() const;

 private:
  std::deque<std::pair<std::string, FloorFindings>> all_;  // references stay good
};

/// Says that a mechanism was put into the model; empty when none was, as on a card.
[[nodiscard]] std::string chosen_mechanism(std::string_view behaviours);

/// The series in full: verdicts, what was seen, each of the first runs.
[[nodiscard]] std::string describe(const std::string& series, const FloorFindings& findings);

}  // namespace portcullis::bench
