// SPDX-License-Identifier: BSD-3-Clause
//
// Machines for tests, and a plain explorer: a set of states and a loop, to judge the fast one by.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "failover/explore/explorer.hpp"
#include "failover/protocols/models.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover::testing {

struct ModelBounds {
  unsigned clients = 1, operations = 1, late = 1, duplicates = 0, timeouts = 1;
  Environment environment = Environment::Quiet;
  bool is_monitored = true;
  unsigned deaths = 0;
};

inline Machine machine_of(std::string_view model, const ModelBounds& bounds = {}) {
  Parameters parameters{bounds.clients,
                        bounds.operations,
                        bounds.environment,
                        {bounds.late, bounds.duplicates, bounds.timeouts, bounds.deaths},
                        bounds.is_monitored};
  return compile(make_model(model, parameters).value()).value();
}

struct Possible {
  Label label;
  AnyState next;
  Violation violation = Violation::None;
};

inline std::vector<Possible> steps_of(const Machine& machine, const AnyState& state) {
  std::vector<Possible> steps;
  for_each_step(machine, state, [&](const AnyState& next, const Label& label, Violation broken) {
    steps.push_back({label, next, broken});
  });
  return steps;
}

/// The steps with that action, of any client.
inline std::vector<Possible> steps_of(const Machine& machine, const AnyState& state,
                                      Action action) {
  std::vector<Possible> wanted;
  for (const Possible& step : steps_of(machine, state))
    if (step.label.action == action) wanted.push_back(step);
  return wanted;
}

/// Follows one action after the other; each must be possible, and the first of its kind is taken.
inline AnyState after(const Machine& machine, const std::vector<Action>& actions) {
  AnyState state = machine.initial;
  for (const Action action : actions) state = steps_of(machine, state, action).at(0).next;
  return state;
}

/// The reachable states by their distance from the initial one.
inline std::vector<std::vector<AnyState>> levels(const Machine& machine) {
  std::set<AnyState> seen = {machine.initial};
  std::vector<std::vector<AnyState>> all = {{machine.initial}};
  while (!all.back().empty()) {
    std::vector<AnyState> next;
    for (const AnyState& state : all.back())
      for (const Possible& step : steps_of(machine, state))
        if (seen.insert(step.next).second) next.push_back(step.next);
    all.push_back(std::move(next));
  }
  all.pop_back();
  return all;
}

inline std::vector<AnyState> reachable(const Machine& machine) {
  std::vector<AnyState> all;
  for (const auto& level : levels(machine)) all.insert(all.end(), level.begin(), level.end());
  return all;
}

}  // namespace portcullis::failover::testing
