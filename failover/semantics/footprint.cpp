// SPDX-License-Identifier: BSD-3-Clause
#include "failover/semantics/footprint.hpp"

#include <algorithm>

namespace portcullis::failover {
namespace {

void add(AnyState& bits, const Field& field) {
  if (field.exists()) bits.words[field.word] |= field.mask << field.shift;
}

/// Requests and probes of an owner's slot reach into another client's cells.
bool reaches_other_clients(const Scenario& scenario) {
  const auto is_slot = [](const auto& of) { return of.address.space == Address::Space::OwnerSlot; };
  return std::any_of(scenario.work_requests.begin(), scenario.work_requests.end(), is_slot) ||
         std::any_of(scenario.program.begin(), scenario.program.end(), is_slot);
}

}  // namespace

AnyState footprint(const Machine& machine, unsigned actor) {
  AnyState bits;
  for (const Field& entry : machine.log) add(bits, entry);
  if (actor == machine.clients.size()) {
    add(bits, machine.environment_budget);
    for (const EnvironmentRule& rule : machine.environment) add(bits, rule.cell);
    return bits;
  }
  for (const Piece& piece : machine.pieces[actor]) add(bits, piece.field);
  for (const Field& cell : machine.shared) add(bits, cell);
  if (reaches_other_clients(machine.scenario))
    for (const ClientFields& fields : machine.fields)
      for (const Field& cell : fields.cells) add(bits, cell);
  return bits;
}

}  // namespace portcullis::failover
