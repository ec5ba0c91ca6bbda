// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/pairs.hpp"

#include <algorithm>
#include <utility>

namespace portcullis::failover {

Pairs::Pairs(Parts& parts)
    : parts_(parts), clients_(parts.view().clients.size()), actors_(actor_count(parts.view())) {}

std::optional<double> Pairs::count(std::size_t most, const std::atomic<bool>* stop) {
  for (std::size_t actor = 0; actor < actors_.size(); ++actor) {
    const std::uint64_t first = initial_of(actor);
    meet({actor, static_cast<Number>(first >> 32), static_cast<Number>(first)});
  }
  while (!unstepped_.empty()) {
    if (pairs_ > most || parts_.is_overfull() || (stop != nullptr && stop->load())) return {};
    const Pair pair = unstepped_.back();
    unstepped_.pop_back();
    step(pair);
  }
  double states = 0;
  const std::size_t memories = actors_.front().beside.size();
  for (std::size_t memory = 0; memory < memories; ++memory) {
    double beside = 1;
    for (std::size_t client = 0; client < clients_; ++client)
      beside *= static_cast<double>(at(actors_[client].beside, static_cast<Number>(memory)).size());
    states += beside;
  }
  return states;
}

void Pairs::meet(const Pair& pair) {
  std::vector<Pair> found = {pair};
  while (!found.empty()) {
    const Pair now = found.back();
    found.pop_back();
    Actor& actor = actors_[now.actor];
    if (!actor.known.insert(std::uint64_t{now.own} << 32 | now.memory).second) continue;
    ++pairs_;
    at(actor.beside, now.memory).push_back(now.own);
    unstepped_.push_back(now);
    for (std::size_t other = 0; other < actors_.size(); ++other)
      if (other != now.actor)
        for (const Number to : at(actors_[other].moves_to, now.memory))
          found.push_back({now.actor, now.own, to});
  }
}

void Pairs::move(std::size_t actor, Number from, Number to) {
  std::vector<Number>& moves = at(actors_[actor].moves_to, from);
  if (std::find(moves.begin(), moves.end(), to) != moves.end()) return;
  moves.push_back(to);
  for (std::size_t other = 0; other < actors_.size(); ++other) {
    if (other == actor) continue;
    const std::vector<Number> beside = at(actors_[other].beside, from);  // meet() may add to it
    for (const Number own : beside) meet({other, own, to});
  }
}

void Pairs::step(const Pair& pair) {
  const Machine& view = parts_.view();
  const Field& memory = view.shared.front();
  AnyState state = view.initial;
  if (pair.actor < clients_) state.set(field_of(pair.actor), pair.own);
  state.set(memory, pair.memory);
  std::vector<Pair> found;
  const auto each = [&](const AnyState& next, const AnyState&, const Label&, Violation violation) {
    if (violation != Violation::None) return;  // there a run ends
    const Number own =
        pair.actor < clients_ ? static_cast<Number>(next.get(field_of(pair.actor))) : 0;
    found.push_back({pair.actor, own, static_cast<Number>(next.get(memory))});
  };
  parts_.for_each_step(state, static_cast<unsigned>(pair.actor), each);
  const auto packed = [](const Pair& one) { return std::uint64_t{one.own} << 32 | one.memory; };
  for (const Pair& next : found) {
    if (packed(next) != packed(pair))
      actors_[pair.actor].steps.push_back({packed(next), packed(pair)});
    meet(next);
    if (next.memory != pair.memory) move(pair.actor, pair.memory, next.memory);
  }
}

std::uint64_t Pairs::initial_of(std::size_t actor) const {
  const Machine& view = parts_.view();
  const std::uint64_t own = actor < clients_ ? view.initial.get(field_of(actor)) : 0;
  return own << 32 | view.initial.get(view.shared.front());
}

const std::vector<Pairs::Number>& Pairs::beside(std::size_t client, Number memory) const {
  static const std::vector<Number> none;
  const auto& lists = actors_[client].beside;
  return memory < lists.size() ? lists[memory] : none;
}

std::vector<Pairs::Step> Pairs::take_steps_of(std::size_t actor) {
  std::vector<Step> steps = std::move(actors_[actor].steps);
  std::sort(steps.begin(), steps.end());
  steps.shrink_to_fit();
  return steps;
}

std::vector<Pairs::Number>& Pairs::at(std::vector<std::vector<Number>>& lists, Number memory) {
  if (lists.size() <= memory) lists.resize(memory + 1);
  return lists[memory];
}

const Field& Pairs::field_of(std::size_t actor) const {
  return parts_.view().pieces[actor].front().field;
}

}  // namespace portcullis::failover
