// SPDX-License-Identifier: BSD-3-Clause
//
// States in the order in which a breadth-first search found them, each with the state that it was
// found from: what turns a state back into a shortest run to it. A state takes the words that its
// machine has, however many others may have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "failover/explore/explorer.hpp"
#include "failover/explore/parts.hpp"
#include "failover/explore/symmetry.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover {

class RunLog {
 public:
  /// How many states have numbers, less those that the steps of one more may add.
  static constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max() - 65'536;

  RunLog(const Machine& machine, bool uses_symmetry)
      : m_(machine),
        uses_symmetry_(uses_symmetry),
        symmetry_(machine),
        states_(words_of(machine.state_words)) {
    (void)add(machine.initial, 0);
  }

  [[nodiscard]] std::size_t size() const noexcept { return parents_.size(); }
  [[nodiscard]] AnyState state(std::size_t number) const noexcept {
    AnyState state;
    states_.put(state, number);
    return state;
  }

  /// The number of `state`, which is found from number `parent` where it is new.
  std::size_t add(const AnyState& state, std::size_t parent) {
    const std::size_t number = states_.number_of(canonical(state));
    if (number == parents_.size()) parents_.push_back(static_cast<std::uint32_t>(parent));
    return number;
  }

  /// The steps of real clients from the initial state to one of the class of number `last`.
  [[nodiscard]] std::vector<TraceStep> run_to(std::size_t last) const {
    std::vector<std::size_t> path;
    for (std::size_t at = last; at != 0; at = parents_[at]) path.push_back(at);
    std::vector<TraceStep> steps;
    AnyState now = m_.initial;
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      const AnyState wanted = state(*at);
      TraceStep found;
      for_each_step(m_, now, [&](const AnyState& next, const Label& label, Violation broken) {
        if (broken == Violation::None && canonical(next) == wanted) found = {label, next};
      });
      steps.push_back(found);
      now = found.state;
    }
    return steps;
  }

 private:
  [[nodiscard]] static AnyState words_of(unsigned count) noexcept {
    AnyState all;
    std::fill_n(all.words.begin(), count, ~std::uint64_t{0});
    return all;
  }
  [[nodiscard]] AnyState canonical(const AnyState& state) const {
    return uses_symmetry_ ? symmetry_.canonical(state) : state;
  }

  const Machine& m_;
  bool uses_symmetry_;
  Symmetry symmetry_;
  PartStates states_;
  std::vector<std::uint32_t> parents_;
};

}  // namespace portcullis::failover
