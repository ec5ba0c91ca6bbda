// SPDX-License-Identifier: BSD-3-Clause
//
// The history of a run as a state carries it: the order of invocations, responses and other actors'
// steps, a code each. Neighbouring invocations commute, and so do neighbouring responses: they are
// kept sorted, so that a state holds what precedes what and no more.
#pragma once

#include "failover/semantics/scenario.hpp"

namespace portcullis::failover {

struct Event {
  enum class Kind : std::uint8_t { Invoke, Respond, Consume, Reuse, Environment };
  Kind kind = Kind::Invoke;
  unsigned client = 0;  // Environment: whose cell it was, for an own cell
  unsigned number = 0;  // the operation, or the environment step
};

/// Codes count from 1; 0 is no event.
[[nodiscard]] constexpr unsigned code_of(const Scenario& scenario, const Event& event) noexcept {
  const unsigned operations = scenario.clients * scenario.operations;
  const unsigned own = event.client * scenario.operations + event.number;
  switch (event.kind) {
    case Event::Kind::Invoke:
      return 1 + own;
    case Event::Kind::Respond:
      return 1 + operations + own;
    case Event::Kind::Consume:
      return 1 + 2 * operations + event.client;
    case Event::Kind::Reuse:
      return 1 + 2 * operations + scenario.clients + event.client;
    case Event::Kind::Environment:
      return 1 + 2 * operations + 2 * scenario.clients + event.number * scenario.clients +
             event.client;
  }
  return 0;
}

[[nodiscard]] constexpr Event event_of(const Scenario& scenario, unsigned code) noexcept {
  const unsigned operations = scenario.clients * scenario.operations;
  unsigned rest = code - 1;
  for (const Event::Kind kind : {Event::Kind::Invoke, Event::Kind::Respond}) {
    if (rest < operations) return {kind, rest / scenario.operations, rest % scenario.operations};
    rest -= operations;
  }
  for (const Event::Kind kind : {Event::Kind::Consume, Event::Kind::Reuse}) {
    if (rest < scenario.clients) return {kind, rest, 0};
    rest -= scenario.clients;
  }
  return {Event::Kind::Environment, rest % scenario.clients, rest / scenario.clients};
}

[[nodiscard]] inline unsigned greatest_code(const Scenario& scenario) noexcept {
  return scenario.clients *
         (2 * scenario.operations + 2 + static_cast<unsigned>(scenario.environment.size()));
}

/// Events of the longest run.
[[nodiscard]] inline unsigned longest_history(const Scenario& scenario) noexcept {
  const unsigned receiver = scenario.receiver.empty() ? 0 : 2 * scenario.clients;
  return 2 * scenario.clients * scenario.operations + receiver + scenario.environment_budget;
}

}  // namespace portcullis::failover
