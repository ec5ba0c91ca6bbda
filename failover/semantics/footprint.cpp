// SPDX-License-Identifier: BSD-3-Clause
#include "failover/semantics/footprint.hpp"

#include <algorithm>

namespace portcullis::failover {
namespace {

void add(AnyState& bits, const Field& field) {
  if (field.exists()) bits.words[field.word] |= field.mask << field.shift;
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
  if (machine.has_slots)
    for (const ClientFields& fields : machine.fields)
      for (const Field& cell : fields.cells) add(bits, cell);
  return bits;
}

bool touches_memory(const Machine& machine, const Label& label) noexcept {
  const bool has_history = machine.scenario.has_history;
  const auto& others = machine.scenario.environment;
  const bool shares_own_cells =
      machine.has_slots || std::any_of(others.begin(), others.end(), [](const auto& step) {
        return step.address.space == Address::Space::Own;
      });
  switch (label.action) {
    case Action::Execute:
    case Action::ExecuteChanged:
    case Action::AcknowledgeAgain:
      return shares_own_cells ||
             machine.clients[label.client].requests[label.number].space == Address::Space::Shared;
    case Action::Probe:
    case Action::Assert:
      return shares_own_cells || !machine.shared.empty();
    case Action::Receive:
      return shares_own_cells || has_history;
    case Action::Write:
      return true;
    case Action::Post:
    case Action::Report:
      return has_history;
    default:
      return false;
  }
}

}  // namespace portcullis::failover
