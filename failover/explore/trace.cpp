// SPDX-License-Identifier: BSD-3-Clause
//
// A shortest violating run: the search once more, this time with every state's parent kept. A run
// through canonical states is turned into one of real clients by following it from the start.
#include <algorithm>
#include <new>

#include "failover/explore/run_log.hpp"

namespace portcullis::failover {
namespace {

/// Where a run can end in what it breaks. Of equally long runs those of the first kind come first,
/// as in the search (engine.hpp).
struct Break {
  Violation violation = Violation::None;
  std::size_t at = 0;  // in the log

  [[nodiscard]] bool is_any() const noexcept { return violation != Violation::None; }
  void note(Violation found, std::size_t place) {
    if (found == Violation::None) return;
    if (!is_any() || found < violation) *this = {found, place};
  }
};

Trace replay(const Machine& machine, const RunLog& log, std::size_t last, Violation violation) {
  Trace trace{log.run_to(last), violation};
  const AnyState now = trace.steps.empty() ? machine.initial : trace.steps.back().state;
  TraceStep breaking;
  for_each_step(machine, now, [&](const AnyState& next, const Label& label, Violation broken) {
    if (broken == violation) breaking = {label, next};
  });
  if (judge(machine, now) != violation) trace.steps.push_back(breaking);
  return trace;
}

std::optional<Trace> found_anew(const Machine& machine, bool uses_symmetry,
                                std::uint64_t state_limit, const std::atomic<bool>* stop) {
  RunLog log(machine, uses_symmetry);
  const std::uint64_t most = std::min(state_limit, RunLog::kMost);
  Break of_state, of_step;  // of one level
  std::size_t level_end = log.size();
  for (std::size_t at = 0; at < log.size() && log.size() <= most; ++at) {
    if (stop != nullptr && stop->load()) return std::nullopt;
    const AnyState state = log.state(at);
    of_state.note(judge(machine, state), at);
    for_each_step(machine, state, [&](const AnyState& next, const Label&, Violation violation) {
      of_step.note(violation, at);
      const bool is_last_level = of_state.is_any() || of_step.is_any();
      if (violation == Violation::None && !is_last_level) log.add(next, at);
    });
    if (at + 1 != level_end) continue;
    for (const Break& found : {of_state, of_step})  // a step leads to the next level
      if (found.is_any()) return replay(machine, log, found.at, found.violation);
    level_end = log.size();
  }
  return std::nullopt;
}

}  // namespace

std::optional<Trace> shortest_violation(const Machine& machine, bool uses_symmetry,
                                        std::uint64_t state_limit, const std::atomic<bool>* stop) {
  try {
    return found_anew(machine, uses_symmetry, state_limit, stop);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

}  // namespace portcullis::failover
