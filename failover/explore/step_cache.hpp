// SPDX-License-Identifier: BSD-3-Clause
//
// What an actor did in a state it does in every state with the same bits in its footprint, and each
// step flips the same bits. Clients have few states of their own, combinations of them are many:
// nearly all steps are found here instead of being worked out from the rules. One for each worker.
#pragma once

#include <algorithm>
#include <vector>

#include "failover/explore/collapse.hpp"
#include "failover/explore/hash.hpp"
#include "failover/explore/parts.hpp"
#include "failover/semantics/footprint.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover {

/// Of a step what decides with which others it commutes, in a byte.
class StepMark {
 public:
  /// Of no step: none is behind it.
  constexpr StepMark() = default;
  constexpr StepMark(unsigned actor, bool touches_memory) noexcept
      : byte_(static_cast<std::uint8_t>(actor << 1 | (touches_memory ? 1U : 0U))) {}
  [[nodiscard]] static constexpr StepMark of_byte(std::uint8_t byte) noexcept {
    return {unsigned{byte} >> 1U, (byte & 1U) != 0};
  }
  [[nodiscard]] constexpr std::uint8_t byte() const noexcept { return byte_; }
  [[nodiscard]] constexpr unsigned actor() const noexcept { return byte_ >> 1U; }
  [[nodiscard]] constexpr bool touches_memory() const noexcept { return (byte_ & 1U) != 0; }
  [[nodiscard]] constexpr bool commutes_with(StepMark other) const noexcept {
    return actor() != other.actor() && !(touches_memory() && other.touches_memory());
  }
  /// Of a lower actor than `last`, which it commutes with.
  [[nodiscard]] constexpr bool is_behind(StepMark last) const noexcept {
    return actor() < last.actor() && commutes_with(last);
  }

 private:
  std::uint8_t byte_ = 0;
};

template <unsigned kWords>
class StepCache {
 public:
  using S = State<kWords>;

  /// Of states of the machine itself, or of the view of one of the others, where there is one.
  StepCache(const Machine& machine, const Collapse* collapse, Parts* parts)
      : m_(machine), collapse_(collapse), parts_(parts) {
    const Machine& view = parts != nullptr      ? parts->view()
                          : collapse != nullptr ? collapse->view()
                                                : machine;
    S everything{};
    for (unsigned actor = 0; actor < actor_count(view); ++actor) {
      const AnyState bits = footprint(view, actor);
      actors_.emplace_back();
      for (unsigned i = 0; i < kWords; ++i) {
        actors_.back().footprint.words[i] = bits.words[i];
        everything.words[i] |= bits.words[i];
      }
    }
    // Who sees all of the state never meets the same twice.
    for (Actor& actor : actors_) actor.is_cached = !(actor.footprint == everything);
    if (collapse_ != nullptr)
      for (Actor& actor : actors_) actor.rows.resize(collapse_->pairs());
  }

  /// Calls emit(next, step) for every step that is possible in `state`, but for those that commute
  /// with the step `last` that led there, are of an actor before its actor, and break nothing.
  /// Returns how many there are.
  template <class Emit>
  std::uint64_t for_each_step(const S& state, StepMark last, Emit&& emit) {
    std::uint64_t steps = 0;
    for (unsigned number = 0; number < actors_.size(); ++number) {
      Actor& actor = actors_[number];
      if (!actor.is_cached) {
        work_out(number, state, [&](const Flip& flip) {
          ++steps;
          const StepMark mark{number, flip.touches_memory};
          if (!mark.is_behind(last) || flip.violation != Violation::None)
            emit(changed(state, flip.bits), mark, flip.violation);
        });
        continue;
      }
      const Row& row = row_of(number, actor, state);
      steps += row.end - row.first;
      const std::uint32_t end = number >= last.actor()  ? row.end
                                : last.touches_memory() ? row.first_private
                                                        : row.first_harmless;
      for (std::uint32_t i = row.first; i < end; ++i) {
        const Flip& flip = actor.flips[i];
        emit(changed(state, flip.bits), StepMark{number, flip.touches_memory}, flip.violation);
      }
    }
    return steps;
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const Actor& actor : actors_)
      bytes += actor.rows.capacity() * sizeof(Row) + actor.flips.capacity() * sizeof(Flip);
    return bytes;
  }
  /// Whether a client could report that it does not know.
  [[nodiscard]] bool gives_up() const noexcept { return gives_up_; }

 private:
  struct Flip {
    S bits;
    Violation violation = Violation::None;
    bool touches_memory = false;
  };
  /// Steps that break a property, then those that touch memory, then the others.
  struct Row {
    S key;  // the state's bits in the footprint
    std::uint32_t first = 0, first_harmless = 0, first_private = 0, end = 0;
    bool is_used = false;
  };
  struct Actor {
    S footprint{};
    bool is_cached = true;
    // Of a collapsed view one for each pair; else open addressing, a power of two of them.
    std::vector<Row> rows = std::vector<Row>(64);
    std::size_t used = 0;
    std::uint64_t lookups = 0;
    std::vector<Flip> flips;
    const Row* last = nullptr;  // looked up: neighbours in a frontier differ in one client mostly
  };
  static constexpr std::size_t kMostRows = std::size_t{1} << 16;
  /// Where a row spares a look into a table that all workers share, and a lock.
  static constexpr std::size_t kMostRowsOfParts = std::size_t{1} << 20;

  static S changed(S state, const S& flips) noexcept {
    for (unsigned i = 0; i < kWords; ++i) state.words[i] ^= flips.words[i];
    return state;
  }

  template <class Note>
  void work_out(unsigned actor, const S& state, Note&& note) {
    if (parts_ != nullptr)
      return parts_->for_each_step(
          state, actor, [&](const S& next, const Label& label, Violation violation) {
            gives_up_ = gives_up_ || is_giving_up(label);
            note(Flip{changed(state, next), violation, touches_memory(m_, label)});
          });
    if (collapse_ != nullptr) {
      const auto each = [&](const AnyState& next, const Label& label, Violation violation) {
        gives_up_ = gives_up_ || is_giving_up(label);
        const S numbered = collapse_->numbered<kWords>(next);
        note(Flip{changed(state, numbered), violation, touches_memory(m_, label)});
      };
      const AnyState whole = collapse_->whole(state);
      return Stepper<kMaxStateWords, decltype(each)>(m_, whole, each).run(actor);
    }
    const auto each = [&](const S& next, const Label& label, Violation violation) {
      gives_up_ = gives_up_ || is_giving_up(label);
      note(Flip{changed(state, next), violation, touches_memory(m_, label)});
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
    if (collapse_ != nullptr) {
      Row& row = actor.rows[collapse_->pair_of(state, number)];
      if (!row.is_used) fill(row, number, actor, state, state);
      return row;
    }
    S key = state;
    for (unsigned i = 0; i < kWords; ++i) key.words[i] &= actor.footprint.words[i];
    ++actor.lookups;
    if (actor.last != nullptr && actor.last->key == key) return *actor.last;
    Row& found = place_of(actor.rows, key);
    actor.last = &found;
    if (found.is_used) return found;
    if (actor.used * 2 >= actor.rows.size()) make_room(actor);
    Row& row = place_of(actor.rows, key);
    actor.last = &row;
    ++actor.used;
    fill(row, number, actor, state, key);
    return row;
  }
  void fill(Row& row, unsigned number, Actor& actor, const S& state, const S& key) {
    const auto first = static_cast<std::ptrdiff_t>(actor.flips.size());
    work_out(number, state, [&](const Flip& flip) { actor.flips.push_back(flip); });
    const auto begin = actor.flips.begin();
    const auto harmless = std::partition(begin + first, actor.flips.end(), [](const Flip& flip) {
      return flip.violation != Violation::None;
    });
    const auto own = std::partition(harmless, actor.flips.end(),
                                    [](const Flip& flip) { return flip.touches_memory; });
    row = {key,
           static_cast<std::uint32_t>(first),
           static_cast<std::uint32_t>(harmless - begin),
           static_cast<std::uint32_t>(own - begin),
           static_cast<std::uint32_t>(actor.flips.size()),
           true};
  }

  /// Doubles; what is full begins anew, or stays out of use when it seldom knew the answer.
  void make_room(Actor& actor) const {
    std::vector<Row> old = std::move(actor.rows);
    if (old.size() < (parts_ == nullptr ? kMostRows : kMostRowsOfParts)) {
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
  const Collapse* collapse_;
  Parts* parts_;
  std::vector<Actor> actors_;
  bool gives_up_ = false;
};

}  // namespace portcullis::failover
