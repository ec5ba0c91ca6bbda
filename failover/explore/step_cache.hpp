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
#include "failover/explore/reach.hpp"
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
      : m_(machine), collapse_(collapse), parts_(parts), reach_(machine) {
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

  /// Calls emit(next, step, violation) for every step that is possible in `state`, but for those
  /// that commute with the step `last` that led there, are of an actor before its actor, and break
  /// nothing. Of an actor's steps that break something one is enough, the first by its number, and
  /// it leads nowhere. Returns how many there are.
  template <class Emit>
  std::uint64_t for_each_step(const S& state, StepMark last, Emit&& emit) {
    std::uint64_t steps = 0;
    for (unsigned number = 0; number < actors_.size(); ++number) {
      Actor& actor = actors_[number];
      const Row* const row = actor.is_cached ? row_of(number, actor, state) : nullptr;
      if (row == nullptr) {
        work_out(number, state, [&](const Flip& flip) {
          ++steps;
          const StepMark mark{number, flip.touches_memory};
          if (!mark.is_behind(last) || flip.violation != Violation::None)
            emit(changed(state, flip.bits), mark, flip.violation);
        });
        continue;
      }
      steps += row->broken + row->shared + row->own;
      if (row->broken != 0)
        emit(state, StepMark{number, true}, static_cast<Violation>(row->violation));
      const unsigned end = number >= last.actor()  ? row->shared + row->own
                           : last.touches_memory() ? row->shared
                                                   : 0U;
      const S* const flips = actor.flips.at(row->first);
      for (unsigned i = 0; i < end; ++i)
        emit(changed(state, flips[i]), StepMark{number, i < row->shared}, Violation::None);
    }
    return steps;
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const Actor& actor : actors_)
      bytes += actor.rows.capacity() * sizeof(Row) + actor.flips.bytes();
    return bytes;
  }
  /// Whether a client could report that it does not know.
  [[nodiscard]] bool gives_up() const noexcept { return gives_up_; }
  /// What steps led to.
  [[nodiscard]] const Reach& reach() const noexcept { return reach_; }

 private:
  struct Flip {
    S bits;
    Violation violation = Violation::None;
    bool touches_memory = false;
  };
  static constexpr unsigned kCountBits = 9;
  static constexpr unsigned kMostFlips = (1U << kCountBits) - 1;  // of one kind
  /// Of the harmless steps those that touch memory come first. There are as many rows as clients
  /// have states beside memory, more than anything else beside the set: they are kept short.
  struct Row {
    S key;                    // the state's bits in the footprint
    std::uint32_t first = 0;  // of the flips of the harmless steps
    std::uint32_t is_used : 1 = 0, violation : 4 = 0, broken : kCountBits = 0,
                            shared : kCountBits = 0, own : kCountBits = 0;
  };
  static_assert(static_cast<unsigned>(Violation::NoProgress) < 16);
  /// Flips in blocks that never move: those of a row lie in one.
  class Flips {
   public:
    std::uint32_t add(const std::vector<S>& flips) {
      if (blocks_.empty() || blocks_.back().size() + flips.size() > kBlock) {
        blocks_.emplace_back();
        blocks_.back().reserve(kBlock);
      }
      std::vector<S>& block = blocks_.back();
      const std::size_t first = (blocks_.size() - 1) * kBlock + block.size();
      block.insert(block.end(), flips.begin(), flips.end());
      return static_cast<std::uint32_t>(first);
    }
    [[nodiscard]] const S* at(std::uint32_t first) const noexcept {
      const std::size_t block = first / kBlock;
      // No flips at all may stand behind the last block, when that is full.
      return block < blocks_.size() ? blocks_[block].data() + first % kBlock : nullptr;
    }
    void clear() noexcept { blocks_.clear(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept {
      return blocks_.size() * kBlock * sizeof(S);
    }

   private:
    static constexpr std::size_t kBlock = 1024;
    static_assert(2 * kMostFlips <= kBlock);
    std::vector<std::vector<S>> blocks_;
  };
  struct Actor {
    S footprint{};
    bool is_cached = true;
    // Of a collapsed view one for each pair; else open addressing, a power of two of them.
    std::vector<Row> rows = std::vector<Row>(64);
    std::size_t used = 0;
    std::uint64_t lookups = 0;
    Flips flips;
    const Row* last = nullptr;  // looked up: neighbours in a frontier differ in one client mostly
  };
  static constexpr std::size_t kMostRows = std::size_t{1} << 16;
  /// Where a row spares a look into a table that all workers share, and a lock.
  static constexpr std::size_t kMostRowsOfParts = std::size_t{1} << 20;

  static S changed(S state, const S& flips) noexcept {
    for (unsigned i = 0; i < kWords; ++i) state.words[i] ^= flips.words[i];
    return state;
  }

  /// Of what no run goes on behind nothing is noted. `pc` is the client's behind the step.
  void note(const Label& label, Violation violation, std::uint64_t pc) {
    gives_up_ = gives_up_ || is_giving_up(label);
    if (violation == Violation::None) reach_.note(label, pc);
  }
  [[nodiscard]] const Field& pc_of(const Label& label) const noexcept {
    return m_.fields[label.client].pc;
  }
  template <class Note>
  void work_out(unsigned actor, const S& state, Note&& take) {
    if (parts_ != nullptr)
      return parts_->for_each_step(
          state, actor,
          [&](const S& numbered, const AnyState& next, const Label& label, Violation violation) {
            note(label, violation, next.get(pc_of(label)));
            take(Flip{changed(state, numbered), violation, touches_memory(m_, label)});
          });
    if (collapse_ != nullptr) {
      const auto each = [&](const AnyState& next, const Label& label, Violation violation) {
        note(label, violation, next.get(pc_of(label)));
        const S numbered = collapse_->numbered<kWords>(next);
        take(Flip{changed(state, numbered), violation, touches_memory(m_, label)});
      };
      const AnyState whole = collapse_->whole(state);
      return Stepper<kMaxStateWords, decltype(each)>(m_, whole, each).run(actor);
    }
    const auto each = [&](const S& next, const Label& label, Violation violation) {
      note(label, violation, next.get(pc_of(label)));
      take(Flip{changed(state, next), violation, touches_memory(m_, label)});
    };
    Stepper<kWords, decltype(each)>(m_, state, each).run(actor);
  }

  static Row& place_of(std::vector<Row>& rows, const S& key) noexcept {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key.words) hash = fold(hash ^ word, 0xbb67ae8584caa73bU);
    for (std::size_t at = hash;; ++at) {
      Row& row = rows[at & (rows.size() - 1)];
      if (row.is_used == 0 || row.key == key) return row;
    }
  }

  /// Null when the actor has more steps than a row can say.
  const Row* row_of(unsigned number, Actor& actor, const S& state) {
    if (collapse_ != nullptr) {
      Row& row = actor.rows[collapse_->pair_of(state, number)];
      return row.is_used != 0 || fill(row, number, actor, state, state) ? &row : nullptr;
    }
    S key = state;
    for (unsigned i = 0; i < kWords; ++i) key.words[i] &= actor.footprint.words[i];
    ++actor.lookups;
    if (actor.last != nullptr && actor.last->key == key) return actor.last;
    Row* row = &place_of(actor.rows, key);
    if (row->is_used == 0) {
      if (actor.used * 4 >= actor.rows.size() * 3) make_room(actor);
      row = &place_of(actor.rows, key);
      ++actor.used;
      if (!fill(*row, number, actor, state, key)) return nullptr;
    }
    actor.last = row;
    return row;
  }
  bool fill(Row& row, unsigned number, Actor& actor, const S& state, const S& key) {
    unsigned broken = 0;
    auto least = Violation::NoProgress;
    shared_.clear();
    own_.clear();
    work_out(number, state, [&](const Flip& flip) {
      if (flip.violation == Violation::None)
        return (flip.touches_memory ? shared_ : own_).push_back(flip.bits);
      ++broken;
      least = std::min(least, flip.violation);
    });
    if (std::max<std::size_t>({broken, shared_.size(), own_.size()}) > kMostFlips) {
      actor.is_cached = false;
      return false;
    }
    row.key = key;
    row.is_used = 1;
    row.violation = static_cast<unsigned>(least) & 15U;
    row.broken = broken & kMostFlips;
    row.shared = static_cast<unsigned>(shared_.size()) & kMostFlips;
    row.own = static_cast<unsigned>(own_.size()) & kMostFlips;
    shared_.insert(shared_.end(), own_.begin(), own_.end());
    row.first = actor.flips.add(shared_);
    return true;
  }

  /// Doubles; what is full begins anew, or stays out of use when it seldom knew the answer.
  void make_room(Actor& actor) const {
    std::vector<Row> old = std::move(actor.rows);
    if (old.size() < (parts_ == nullptr ? kMostRows : kMostRowsOfParts)) {
      actor.rows = std::vector<Row>(old.size() * 2);
      for (const Row& row : old)
        if (row.is_used != 0) place_of(actor.rows, row.key) = row;
      return;
    }
    actor.last = nullptr;
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
  std::vector<S> shared_, own_;  // of the row that is filled
  Reach reach_;
};

}  // namespace portcullis::failover
