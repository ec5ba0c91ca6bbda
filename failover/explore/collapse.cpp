// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/collapse.hpp"

#include <algorithm>

#include "failover/semantics/step.hpp"

namespace portcullis::failover {
namespace {

/// Whether a client's steps depend on and change its own part and the memory alone, and the
/// environment's the memory alone.
bool has_separate_parts(const Machine& machine) {
  const auto& others = machine.scenario.environment;
  return machine.clients.size() > 1 && !machine.has_slots && !machine.has_tags &&
         !machine.scenario.has_history &&
         std::all_of(others.begin(), others.end(), [](const EnvironmentStep& step) {
           return step.address.space == Address::Space::Shared;
         });
}

/// A client's part beside any memory is more than what is reached, and may execute into words that
/// no run knows: nothing is looked for behind those.
bool has_known_words(const Machine& machine, const AnyState& state, unsigned actor) {
  const auto is_known = [&](const Field& field) { return state.get(field) < machine.word_count(); };
  const auto are_known = [&](const std::vector<Field>& fields) {
    return std::all_of(fields.begin(), fields.end(), is_known);
  };
  if (!are_known(machine.shared)) return false;
  if (actor >= machine.clients.size()) return true;
  const ClientFields& client = machine.fields[actor];
  return is_known(client.reg) && are_known(client.cells) &&
         std::all_of(client.requests.begin(), client.requests.end(),
                     [&](const RequestFields& request) {
                       return is_known(request.result) && is_known(request.content);
                     });
}

/// The next `width` bits of a state; a field lies within a word.
Field take(unsigned& bits, unsigned width) {
  if (bits / 64 != (bits + width - 1) / 64 && width != 0) bits = (bits + 63) / 64 * 64;
  const Field field{static_cast<std::uint8_t>(bits / 64), static_cast<std::uint8_t>(bits % 64),
                    static_cast<std::uint8_t>(width), (std::uint64_t{1} << width) - 1};
  bits += width;
  return width == 0 ? Field{} : field;
}

}  // namespace

std::unique_ptr<const Collapse> Collapse::of(const Machine& machine) {
  if (!has_separate_parts(machine)) return nullptr;
  auto collapse = std::unique_ptr<Collapse>(new Collapse(machine));
  if (!collapse->find_blocks(machine) || !collapse->lay_out(machine)) return nullptr;
  return collapse;
}

Collapse::Collapse(const Machine& machine) {
  for (const auto& pieces : machine.pieces) {
    parts_.emplace_back();
    for (const Piece& piece : pieces) parts_.back().push_back(piece.field);
  }
  parts_.push_back(machine.shared);
  parts_.back().push_back(machine.environment_budget);
}

/// All that a client can become beside any memory, and all memory beside any client.
bool Collapse::find_blocks(const Machine& machine) {
  constexpr std::size_t kMostPairs = std::size_t{1} << 15;
  const unsigned environment = static_cast<unsigned>(machine.clients.size());
  clients_.add(taken(machine.initial, parts_.front()));
  memory_.add(taken(machine.initial, parts_.back()));
  std::vector<std::size_t> tried;  // for each client's block, beside so many blocks of memory
  std::size_t pairs = 0;
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (std::size_t client = 0; client < clients_.all.size(); ++client) {
      tried.resize(clients_.all.size());
      for (; tried[client] < memory_.all.size(); ++tried[client]) {
        is_new = true;
        if (++pairs > kMostPairs) return false;
        AnyState state = machine.initial;
        put(state, parts_.back(), memory_.all[tried[client]]);
        if (environment < actor_count(machine) && client == 0) step(machine, state, environment);
        for (unsigned actor = 0; actor < environment; ++actor) {
          AnyState beside = state;
          put(beside, parts_[actor], clients_.all[client]);
          step(machine, beside, actor);
        }
      }
    }
  }
  return true;
}

void Collapse::step(const Machine& machine, const AnyState& state, unsigned actor) {
  const auto note = [&](const AnyState& next, const Label&, Violation) {
    if (!has_known_words(machine, next, actor)) return;
    if (actor < machine.clients.size()) clients_.add(taken(next, parts_[actor]));
    memory_.add(taken(next, parts_.back()));
  };
  Stepper<kMaxStateWords, decltype(note)>(machine, state, note).run(actor);
}

bool Collapse::lay_out(const Machine& machine) {
  unsigned bits = 0;
  unsigned used = 0;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const unsigned width = bits_for(blocks_of(part).all.size() - 1);
    used += width;
    numbers_.push_back(take(bits, width));
  }
  if (used >= machine.bits) return false;
  memories_ = memory_.all.size();
  view_ = machine;
  view_.fields.clear();
  view_.pieces.clear();
  for (std::size_t client = 0; client < machine.clients.size(); ++client)
    view_.pieces.push_back({{numbers_[client]}});
  view_.shared = {numbers_.back()};
  view_.environment_budget = {};
  for (EnvironmentRule& rule : view_.environment) rule.cell = numbers_.back();
  view_.bits = used;
  view_.state_words = std::max(1U, (bits + 63) / 64);
  view_.last_word_bits = bits - (view_.state_words - 1) * 64;
  view_.initial = numbered<kMaxStateWords>(machine.initial);
  return true;
}

void Collapse::Blocks::add(const Block& block) {
  if (numbers.try_emplace(block, all.size()).second) all.push_back(block);
}

Collapse::Block Collapse::taken(const AnyState& state, const std::vector<Field>& fields) {
  Block block;
  for (const Field& field : fields) block.push_back(state.get(field));
  return block;
}

void Collapse::put(AnyState& state, const std::vector<Field>& fields, const Block& block) {
  for (std::size_t i = 0; i < fields.size(); ++i) state.set(fields[i], block[i]);
}

}  // namespace portcullis::failover
