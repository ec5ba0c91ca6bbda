// SPDX-License-Identifier: BSD-3-Clause
//
// What an actor did in a state it does in every state with the same bits in its footprint, and each
// step flips the same bits. Clients have few states of their own, combinations of them are many:
// nearly all steps are found here instead of being worked out from the rules. One for each worker.
#pragma once

#include <vector>

#include "failover/explore/hash.hpp"
#include "failover/semantics/footprint.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover {

template <unsigned kWords>
class StepCache {
 public:
  using S = State<kWords>;

  explicit StepCache(const Machine& machine) : m_(machine) {
    S everything{};
    for (unsigned actor = 0; actor < actor_count(machine); ++actor) {
      const AnyState bits = footprint(machine, actor);
      actors_.emplace_back();
      for (unsigned i = 0; i < kWords; ++i) {
        actors_.back().footprint.words[i] = bits.words[i];
        everything.words[i] |= bits.words[i];
      }
    }
    // Who sees all of the state never meets the same twice.
    for (Actor& actor : actors_) actor.is_cached = !(actor.footprint == everything);
  }

  /// Calls emit(next, violation) for every step that is possible in `state`.
  template <class Emit>
  void for_each_step(const S& state, Emit&& emit) {
    for (unsigned number = 0; number < actors_.size(); ++number) {
      Actor& actor = actors_[number];
      if (!actor.is_cached) {
        work_out(number, state, emit);
        continue;
      }
      const Row& row = row_of(number, actor, state);
      for (std::uint32_t i = row.first; i < row.end; ++i)
        emit(changed(state, actor.flips[i].bits), actor.flips[i].violation);
    }
  }

 private:
  struct Flip {
    S bits;
    Violation violation;
  };
  struct Row {
    S key;  // the state's bits in the footprint
    std::uint32_t first = 0, end = 0;
    bool is_used = false;
  };
  struct Actor {
    S footprint{};
    bool is_cached = true;
    std::vector<Row> rows = std::vector<Row>(64);  // open addressing, a power of two of them
    std::size_t used = 0;
    std::uint64_t lookups = 0;
    std::vector<Flip> flips;
  };
  static constexpr std::size_t kMostRows = std::size_t{1} << 16;

  static S changed(S state, const S& flips) noexcept {
    for (unsigned i = 0; i < kWords; ++i) state.words[i] ^= flips.words[i];
    return state;
  }

  template <class Emit>
  void work_out(unsigned actor, const S& state, Emit& emit) const {
    const auto each = [&](const S& next, const Label&, Violation violation) {
      emit(next, violation);
    };
    Stepper<kWords, decltype(each)>(m_, state, each).run(actor);
  }

  static Row& place_of(std::vector<Row>& rows, const S& key) noexcept {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key.words) hash = fold(hash ^ word, 0xbb67ae8584caa73bU);
    for (std::size_t at = hash;; ++at) {
      Row& row = rows[at & (rows.size() - 1)];
      if (!row.is_used || row.key == key) return row;
    }
  }

  const Row& row_of(unsigned number, Actor& actor, const S& state) {
    S key = state;
    for (unsigned i = 0; i < kWords; ++i) key.words[i] &= actor.footprint.words[i];
    ++actor.lookups;
    Row& found = place_of(actor.rows, key);
    if (found.is_used) return found;
    if (actor.used * 2 >= actor.rows.size()) make_room(actor);
    Row& row = place_of(actor.rows, key);
    ++actor.used;
    row = {key, static_cast<std::uint32_t>(actor.flips.size()), 0, true};
    const auto note = [&](const S& next, Violation violation) {
      actor.flips.push_back({changed(state, next), violation});
    };
    work_out(number, state, note);
    row.end = static_cast<std::uint32_t>(actor.flips.size());
    return row;
  }

  /// Doubles; what is full begins anew, or stays out of use when it seldom knew the answer.
  static void make_room(Actor& actor) {
    std::vector<Row> old = std::move(actor.rows);
    if (old.size() < kMostRows) {
      actor.rows = std::vector<Row>(old.size() * 2);
      for (const Row& row : old)
        if (row.is_used) place_of(actor.rows, row.key) = row;
      return;
    }
    actor.is_cached = actor.lookups > 4 * actor.used;
    actor.rows = std::vector<Row>(64);
    actor.flips.clear();
    actor.used = actor.lookups = 0;
  }

  const Machine& m_;
  std::vector<Actor> actors_;
};

}  // namespace portcullis::failover
