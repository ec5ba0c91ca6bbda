// SPDX-License-Identifier: BSD-3-Clause
//
// A shortest violating run: the search once more, this time with every state's parent kept. A run
// through canonical states is turned into one of real clients by following it from the start.
#include <unordered_map>

#include "failover/explore/explorer.hpp"
#include "failover/explore/hash.hpp"
#include "failover/explore/symmetry.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover {
namespace {

struct StateHash {
  std::size_t operator()(const AnyState& state) const noexcept { return fingerprint(state, 0); }
};

class Tracer {
 public:
  Tracer(const Machine& machine, bool uses_symmetry)
      : m_(machine), uses_symmetry_(uses_symmetry), symmetry_(machine) {}

  std::optional<Trace> search(std::uint64_t state_limit) {
    add(canonical(m_.initial), 0);
    for (std::size_t at = 0; at < log_.size() && log_.size() <= state_limit; ++at) {
      const AnyState state = log_[at].state;
      const Violation own = judge(m_, state);
      if (own != Violation::None) return replay(at, own);
      Violation broken = Violation::None;
      for_each_step(m_, state, [&](const AnyState& next, const Label&, Violation violation) {
        if (violation != Violation::None) broken = violation;
        if (violation == Violation::None) add(canonical(next), at);
      });
      if (broken != Violation::None) return replay(at, broken);
    }
    return std::nullopt;
  }

 private:
  struct Logged {
    AnyState state;
    std::size_t parent;
  };

  AnyState canonical(const AnyState& state) const {
    return uses_symmetry_ ? symmetry_.canonical(state) : state;
  }
  void add(const AnyState& state, std::size_t parent) {
    if (seen_.try_emplace(state, log_.size()).second) log_.push_back({state, parent});
  }

  Trace replay(std::size_t last, Violation violation) const {
    std::vector<std::size_t> path;
    for (std::size_t at = last; at != 0; at = log_[at].parent) path.push_back(at);
    Trace trace;
    trace.violation = violation;
    AnyState now = m_.initial;
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      TraceStep found;
      for_each_step(m_, now, [&](const AnyState& next, const Label& label, Violation broken) {
        if (broken == Violation::None && canonical(next) == log_[*at].state) found = {label, next};
      });
      trace.steps.push_back(found);
      now = found.state;
    }
    TraceStep breaking;
    for_each_step(m_, now, [&](const AnyState& next, const Label& label, Violation broken) {
      if (broken == violation) breaking = {label, next};
    });
    if (judge(m_, now) != violation) trace.steps.push_back(breaking);
    return trace;
  }

  const Machine& m_;
  bool uses_symmetry_;
  Symmetry symmetry_;
  std::vector<Logged> log_;
  std::unordered_map<AnyState, std::size_t, StateHash> seen_;
};

}  // namespace

std::optional<Trace> shortest_violation(const Machine& machine, bool uses_symmetry,
                                        std::uint64_t state_limit) {
  return Tracer(machine, uses_symmetry).search(state_limit);
}

}  // namespace portcullis::failover
