// SPDX-License-Identifier: BSD-3-Clause
//
// What an actor did in a state it does in every state with the same bits in its footprint, and each
// step flips the same bits. Clients have few states of their own, combinations of them are many:
// nearly all steps are found here instead of being worked out from the rules. A step is private
// when it flips nothing that another actor sees: explore/engine.hpp. One for each worker.
#pragma once

#include <algorithm>
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
    for (Actor& actor : actors_) {
      // Who sees all of the state never meets the same twice.
      actor.is_cached = !(actor.footprint == everything);
      for (const Actor& other : actors_)
        for (unsigned i = 0; i < kWords && &other != &actor; ++i)
          actor.seen_by_others.words[i] |= other.footprint.words[i];
    }
  }

  /// Calls emit(actor, next, violation, is_private) for every step that is possible in `state`, but
  /// for the private ones of actors before `first` that break nothing. Returns how many there are.
  template <class Emit>
  std::uint64_t for_each_step(const S& state, unsigned first, Emit&& emit) {
    std::uint64_t steps = 0;
    for (unsigned number = 0; number < actors_.size(); ++number) {
      Actor& actor = actors_[number];
      if (!actor.is_cached) {
        work_out(number, state, [&](const S& flips, Violation violation) {
          ++steps;
          const bool is_private = !meet(flips, actor.seen_by_others);
          if (number >= first || !is_private || violation != Violation::None)
            emit(number, changed(state, flips), violation, is_private);
        });
        continue;
      }
      const Row& row = row_of(number, actor, state);
      steps += row.end - row.first;
      for (std::uint32_t i = row.first; i < row.first_private; ++i)
        emit(number, changed(state, actor.flips[i].bits), actor.flips[i].violation, false);
      if (number < first) continue;
      for (std::uint32_t i = row.first_private; i < row.end; ++i)
        emit(number, changed(state, actor.flips[i].bits), Violation::None, true);
    }
    return steps;
  }

 private:
  struct Flip {
    S bits;
    Violation violation;
  };
  struct Row {
    S key;                                                // the state's bits in the footprint
    std::uint32_t first = 0, first_private = 0, end = 0;  // what breaks a property is not private
    bool is_used = false;
  };
  struct Actor {
    S footprint{}, seen_by_others{};
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

  [[nodiscard]] static bool meet(const S& a, const S& b) noexcept {
    std::uint64_t common = 0;
    for (unsigned i = 0; i < kWords; ++i) common |= a.words[i] & b.words[i];
    return common != 0;
  }

  template <class Note>
  void work_out(unsigned actor, const S& state, Note&& note) const {
    const auto each = [&](const S& next, const Label&, Violation violation) {
      note(changed(state, next), violation);
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
    const auto at = static_cast<std::ptrdiff_t>(actor.flips.size());
    work_out(number, state, [&](const S& flips, Violation violation) {
      actor.flips.push_back({flips, violation});
    });
    const auto first_private =
        std::partition(actor.flips.begin() + at, actor.flips.end(), [&](const Flip& flip) {
          return flip.violation != Violation::None || meet(flip.bits, actor.seen_by_others);
        });
    row = {key, static_cast<std::uint32_t>(at),
           static_cast<std::uint32_t>(first_private - actor.flips.begin()),
           static_cast<std::uint32_t>(actor.flips.size()), true};
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
