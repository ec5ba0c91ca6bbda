// SPDX-License-Identifier: BSD-3-Clause
//
// Which bits of a state an actor's steps read and write, and where actors meet. They meet in few
// words only, so that what an actor does in one state it does in all that agree there
// (explore/step_cache.hpp), and steps of two actors mostly commute (explore/engine.hpp).
#pragma once

#include "failover/semantics/label.hpp"
#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

/// Actors as Stepper::run(actor) numbers them: the clients, each with its queue pairs and its part
/// of the receiver, then the environment if there is one.
[[nodiscard]] inline unsigned actor_count(const Machine& machine) noexcept {
  return static_cast<unsigned>(machine.clients.size()) + (machine.environment.empty() ? 0 : 1);
}

/// A one for each bit that a step of `actor` may read or write.
[[nodiscard]] AnyState footprint(const Machine& machine, unsigned actor);

/// Whether a step reads or writes cells that others may, or the history. All else belongs to one
/// actor alone: steps of two actors commute, unless both touch memory.
[[nodiscard]] bool touches_memory(const Machine& machine, const Label& label) noexcept;

}  // namespace portcullis::failover
