// SPDX-License-Identifier: BSD-3-Clause
//
// States by the numbers of their parts, where parts are too many to be numbered before the search
// or mean something to one another (tags, slots, own cells that others write): each client with its
// queue pairs and its receiver is a part, and so is all memory that several may reach. A part's
// states are numbered when a step first leads there, as SPIN's COLLAPSE does (Holzmann, State
// Compression in SPIN, 1997), but for all workers in one table, which only a step that no worker
// knows yet looks into. Numbers have a fixed width: where a part turns out to have more states than
// its width can name, the search begins anew with wider ones, and knows all steps' parts already.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "failover/explore/hash.hpp"
#include "failover/semantics/step.hpp"

namespace portcullis::failover {

/// The states of one part by number, in the order in which they were met.
class PartStates {
 public:
  /// Of the bits that `mask` has. None is met yet.
  explicit PartStates(const AnyState& mask);

  /// That of the part in `state`, a new one where it was never met.
  [[nodiscard]] std::uint32_t number_of(const AnyState& state);
  /// Adds the part's bits to a state that has none of them.
  void put(AnyState& state, std::uint64_t number) const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return bits_.capacity() * sizeof(std::uint64_t) + places_.size() * sizeof(std::uint32_t);
  }

 private:
  [[nodiscard]] std::size_t place_of(const std::uint64_t* bits) const noexcept;
  void make_room();

  AnyState mask_;
  std::vector<unsigned> words_;        // that the mask has bits in
  std::vector<std::uint64_t> bits_;    // of each state, these words of it
  std::vector<std::uint32_t> places_;  // open addressing, a power of two: number + 1
  std::uint64_t size_ = 0;
};

class Parts {
 public:
  /// Null where there are no parts or, when they `must_spare`, where numbers take as many words.
  /// Numbers have `bits` at first, each part its own or all the same; empty: as a word has room
  /// for.
  [[nodiscard]] static std::unique_ptr<Parts> of(const Machine& machine, bool must_spare = true,
                                                 const std::vector<unsigned>& bits = {});

  /// The machine's actors on the numbers: its pieces are clients' numbers, its one shared cell is
  /// that of the memory. What a step does there only step() says.
  [[nodiscard]] const Machine& view() const noexcept { return view_; }

  /// The machine's state that a state of the view stands for.
  template <unsigned kWords>
  [[nodiscard]] AnyState whole(const State<kWords>& state) {
    const std::lock_guard lock(mutex_);
    return spelled_out(state);
  }

  /// Calls each(numbered, next, label, violation) for each step of an actor: `next` in the view,
  /// and as it is.
  template <unsigned kWords, class Each>
  void for_each_step(const State<kWords>& state, unsigned actor, Each&& each) {
    const std::lock_guard lock(mutex_);
    const auto numbered = [&](const AnyState& next, const Label& label, Violation violation) {
      State<kWords> result = state;
      if (actor < clients()) renumber(result, actor, next);
      renumber(result, clients(), next);
      each(result, next, label, violation);
    };
    const AnyState from = spelled_out(state);
    Stepper<kMaxStateWords, decltype(numbered)>(machine_, from, numbered).run(actor);
  }

  /// A part has met more states than its numbers can name: states were taken for others, and
  /// widen() makes room for another search.
  [[nodiscard]] bool is_overfull() const noexcept {
    return is_overfull_.load(std::memory_order_relaxed);
  }
  /// False where wider numbers spare nothing.
  [[nodiscard]] bool widen();
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }
  /// What the numbers that were given so far need.
  [[nodiscard]] std::vector<unsigned> bits() const;

 private:
  Parts(const Machine& machine, const std::vector<unsigned>& bits);
  void lay_out();

  [[nodiscard]] bool spares() const noexcept { return view_.state_words < machine_.state_words; }
  [[nodiscard]] unsigned clients() const noexcept {
    return static_cast<unsigned>(machine_.clients.size());
  }
  template <unsigned kWords>
  [[nodiscard]] AnyState spelled_out(const State<kWords>& state) const noexcept {
    AnyState result;
    for (std::size_t part = 0; part < parts_.size(); ++part)
      parts_[part].put(result, state.get(numbers_[part]));
    return result;
  }
  template <unsigned kWords>
  void renumber(State<kWords>& state, unsigned part, const AnyState& next) {
    const std::uint64_t number = parts_[part].number_of(next);
    if (number <= numbers_[part].mask)
      state.set(numbers_[part], number);
    else
      is_overfull_ = true;
    if (number + 1 == parts_[part].size()) count_bytes();
  }
  void count_bytes() noexcept;

  const Machine& machine_;
  std::vector<PartStates> parts_;  // of each client, then of the memory
  std::vector<unsigned> widths_;   // of their numbers
  std::vector<Field> numbers_;     // where they lie in the view
  std::mutex mutex_;
  std::atomic<bool> is_overfull_ = false;
  std::atomic<std::uint64_t> bytes_ = 0;
  Machine view_;
};

}  // namespace portcullis::failover
