// SPDX-License-Identifier: BSD-3-Clause
//
// A shortest violating run: the search once more, this time with every state's parent kept. A run
// through canonical states is turned into one of real clients by following it from the start.
#include <algorithm>
#include <new>

#include "failover/explore/run_log.hpp"

namespace portcullis::failover {
namespace {

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

}  // namespace

namespace {

std::optional<Trace> found_anew(const Machine& machine, bool uses_symmetry,
                                std::uint64_t state_limit, const std::atomic<bool>* stop) {
  RunLog log(machine, uses_symmetry);
  const std::uint64_t most = std::min(state_limit, RunLog::kMost);
  for (std::size_t at = 0; at < log.size() && log.size() <= most; ++at) {
    if (stop != nullptr && stop->load()) return std::nullopt;
    const AnyState state = log.state(at);
    const Violation own = judge(machine, state);
    if (own != Violation::None) return replay(machine, log, at, own);
    Violation broken = Violation::None;
    for_each_step(machine, state, [&](const AnyState& next, const Label&, Violation violation) {
      if (violation != Violation::None) broken = violation;
      if (violation == Violation::None) log.add(next, at);
    });
    if (broken != Violation::None) return replay(machine, log, at, broken);
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
