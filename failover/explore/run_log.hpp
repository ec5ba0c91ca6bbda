// SPDX-License-Identifier: BSD-3-Clause
//
// States in the order in which a breadth-first search found them, each with the state that it was
// found from: what turns a state back into a shortest run to it.
#pragma once

#include <unordered_map>
#include <vector>

#include "failover/explore/explorer.hpp"
#include "failover/explore/hash.hpp"
#include "failover/explore/symmetry.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover {

class RunLog {
 public:
  RunLog(const Machine& machine, bool uses_symmetry)
      : m_(machine), uses_symmetry_(uses_symmetry), symmetry_(machine) {
    (void)add(machine.initial, 0);
  }

  [[nodiscard]] std::size_t size() const noexcept { return log_.size(); }
  [[nodiscard]] AnyState state(std::size_t number) const { return log_[number].state; }

  /// The number of `state`, which is found from number `parent` where it is new.
  std::size_t add(const AnyState& state, std::size_t parent) {
    const AnyState one = canonical(state);
    const auto [found, is_new] = seen_.try_emplace(one, log_.size());
    if (is_new) log_.push_back({one, parent});
    return found->second;
  }

  /// The steps of real clients from the initial state to one of the class of number `last`.
  [[nodiscard]] std::vector<TraceStep> run_to(std::size_t last) const {
    std::vector<std::size_t> path;
    for (std::size_t at = last; at != 0; at = log_[at].parent) path.push_back(at);
    std::vector<TraceStep> steps;
    AnyState now = m_.initial;
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      TraceStep found;
      for_each_step(m_, now, [&](const AnyState& next, const Label& label, Violation broken) {
        if (broken == Violation::None && canonical(next) == log_[*at].state) found = {label, next};
      });
      steps.push_back(found);
      now = found.state;
    }
    return steps;
  }

 private:
  struct Logged {
    AnyState state;
    std::size_t parent;
  };
  struct StateHash {
    std::size_t operator()(const AnyState& state) const noexcept { return fingerprint(state, 0); }
  };

  [[nodiscard]] AnyState canonical(const AnyState& state) const {
    return uses_symmetry_ ? symmetry_.canonical(state) : state;
  }

  const Machine& m_;
  bool uses_symmetry_;
  Symmetry symmetry_;
  std::vector<Logged> log_;
  std::unordered_map<AnyState, std::size_t, StateHash> seen_;
};

}  // namespace portcullis::failover
