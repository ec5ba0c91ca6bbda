// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/symmetry.hpp"

namespace portcullis::failover {

Symmetry::Symmetry(const Machine& machine)
    : m_(machine), pieces_(static_cast<unsigned>(machine.pieces[0].size())) {
  if (!machine.has_tags) return;
  const unsigned clients = machine.scenario.clients;
  std::vector<unsigned> order(clients);
  std::iota(order.begin(), order.end(), 0U);
  while (std::next_permutation(order.begin(), order.end())) {
    Renaming renaming{order, {}};
    for (unsigned index = 0; index < machine.word_count(); ++index) {
      const unsigned owner = machine.owner[index];
      Word word = machine.words[index];
      if (owner != kNobody) word = tag_of(order[owner], static_cast<unsigned>(word & 0xffffffffU));
      const auto found = std::find(machine.words.begin(), machine.words.end(), word);
      renaming.words.push_back(static_cast<WordIndex>(found - machine.words.begin()));
    }
    renamings_.push_back(std::move(renaming));
  }
  const auto note = [&](const Field& field) {
    if (field.exists()) word_fields_.push_back(field);
  };
  for (const Field& cell : machine.shared) note(cell);
  for (const ClientFields& fields : machine.fields) {
    note(fields.reg);
    for (const Field& cell : fields.cells) note(cell);
    for (const RequestFields& request : fields.requests) {
      note(request.result);
      note(request.content);
    }
  }
}

}  // namespace portcullis::failover
