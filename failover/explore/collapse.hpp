// SPDX-License-Identifier: BSD-3-Clause
//
// States by the numbers of their parts. A client with its queue pairs and its part of the receiver
// is in few of the states that its bits could spell, and so is the memory that clients share: each
// is one number, and a state is a number for each client and one for the memory (Holzmann, State
// Compression in SPIN, 1997). Nothing is lost, equal states have equal numbers. SPIN numbers parts
// as it meets them; here they are numbered before the search, so that all workers read one table.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

class Collapse {
 public:
  /// Null where parts reach into one another (slots, tags, a history, an environment that writes
  /// clients' own cells), where there are too many, or where numbers take no fewer bits.
  [[nodiscard]] static std::unique_ptr<const Collapse> of(const Machine& machine);

  /// The machine's actors on the numbers: its pieces are clients' numbers, its one shared cell is
  /// that of the memory. What a step does there only the machine itself says.
  [[nodiscard]] const Machine& view() const noexcept { return view_; }

  /// The machine's state that a state of the view stands for.
  template <unsigned kWords>
  [[nodiscard]] AnyState whole(const State<kWords>& state) const {
    AnyState result;
    for (std::size_t part = 0; part < parts_.size(); ++part)
      put(result, parts_[part], blocks_of(part).all[state.get(numbers_[part])]);
    return result;
  }
  /// And back, of a state that steps lead to.
  template <unsigned kWords>
  [[nodiscard]] State<kWords> numbered(const AnyState& state) const {
    State<kWords> result;
    for (std::size_t part = 0; part < parts_.size(); ++part)
      result.set(numbers_[part], blocks_of(part).numbers.at(taken(state, parts_[part])));
    return result;
  }

  /// What decides an actor's steps: its own number and the memory's, as one below pairs().
  template <unsigned kWords>
  [[nodiscard]] std::size_t pair_of(const State<kWords>& state, unsigned actor) const noexcept {
    const std::size_t memory = state.get(numbers_.back());
    return actor + 1 < parts_.size() ? state.get(numbers_[actor]) * memories_ + memory : memory;
  }
  [[nodiscard]] std::size_t pairs() const noexcept { return clients_.all.size() * memories_; }

 private:
  /// What the fields of a part hold, in their order.
  using Block = std::vector<std::uint64_t>;
  struct Blocks {
    std::vector<Block> all;
    std::map<Block, std::uint64_t> numbers;
    void add(const Block& block);
  };

  explicit Collapse(const Machine& machine);
  [[nodiscard]] bool find_blocks(const Machine& machine);
  void step(const Machine& machine, const AnyState& state, unsigned actor);
  [[nodiscard]] bool lay_out(const Machine& machine);

  [[nodiscard]] const Blocks& blocks_of(std::size_t part) const noexcept {
    return part + 1 < parts_.size() ? clients_ : memory_;
  }
  [[nodiscard]] static Block taken(const AnyState& state, const std::vector<Field>& fields);
  static void put(AnyState& state, const std::vector<Field>& fields, const Block& block);

  std::vector<std::vector<Field>> parts_;  // fields of each client, then of the memory
  std::vector<Field> numbers_;             // of each part, in the view
  Blocks clients_, memory_;                // clients run one program: one list for all of them
  std::size_t memories_ = 0;               // how many there are
  Machine view_;
};

}  // namespace portcullis::failover
