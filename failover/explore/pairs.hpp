// SPDX-License-Identifier: BSD-3-Clause
//
// How many states there are, from what each client can be in beside each state of the memory. A
// client's step depends on itself and the memory alone; what the others do to it is to change the
// memory. So pairs of a client's state and the memory's are found one client at a time, and every
// client is taken to meet every change of memory that another can make from there (thread-modular
// reasoning, Flanagan and Qadeer, 2003). The clients beside one state of the memory are then taken
// to combine freely. Both only add states, so the count is no less than what a search finds, and is
// the same where clients do not meet. There are so few pairs that this takes milliseconds where
// the search takes minutes.
#pragma once

#include <atomic>
#include <optional>
#include <unordered_set>
#include <vector>

#include "failover/explore/parts.hpp"

namespace portcullis::failover {

class Pairs {
 public:
  explicit Pairs(Parts& parts);

  /// At least as many states as can be reached; nothing when there are more than `most` pairs, or
  /// more states of a part than it has numbers for, or `stop` became true.
  [[nodiscard]] std::optional<double> count(std::size_t most, const std::atomic<bool>* stop);

  using Number = std::uint32_t;
  /// A step of one actor, of its pairs as (own << 32 | memory).
  struct Step {
    std::uint64_t to = 0, from = 0;
    friend bool operator<(const Step& a, const Step& b) noexcept { return a.to < b.to; }
  };
  /// Once counted: clients, then the environment, whose own number is 0.
  [[nodiscard]] std::size_t actors() const noexcept { return actors_.size(); }
  [[nodiscard]] std::size_t client_count() const noexcept { return clients_; }
  [[nodiscard]] std::size_t memory_count() const noexcept { return actors_.front().beside.size(); }
  [[nodiscard]] bool has(std::size_t actor, std::uint64_t pair) const {
    return actors_[actor].known.contains(pair);
  }
  /// What a client can be in beside a state of the memory.
  [[nodiscard]] const std::vector<Number>& beside(std::size_t client, Number memory) const;
  /// By where they lead. They are kept here no longer.
  [[nodiscard]] std::vector<Step> take_steps_of(std::size_t actor);
  /// Of each actor that it begins in.
  [[nodiscard]] std::uint64_t initial_of(std::size_t actor) const;

 private:
  /// Of one actor; inner vectors are by the memory's number.
  struct Actor {
    std::unordered_set<std::uint64_t> known;    // pairs
    std::vector<std::vector<Number>> beside;    // the actor's states
    std::vector<std::vector<Number>> moves_to;  // what its steps make of the memory
    std::vector<Step> steps;
  };
  struct Pair {
    std::size_t actor = 0;
    Number own = 0, memory = 0;
  };

  /// A pair that a step led to, and those that the others' moves make of it.
  void meet(const Pair& pair);
  /// The actor can change the memory from `from` to `to`, whatever the others are in.
  void move(std::size_t actor, Number from, Number to);
  void step(const Pair& pair);
  [[nodiscard]] static std::vector<Number>& at(std::vector<std::vector<Number>>& lists,
                                               Number memory);
  [[nodiscard]] const Field& field_of(std::size_t actor) const;

  Parts& parts_;
  std::size_t clients_;
  std::vector<Actor> actors_;  // clients, then the environment, which is in one state
  std::vector<Pair> unstepped_;
  std::size_t pairs_ = 0;
};

}  // namespace portcullis::failover
