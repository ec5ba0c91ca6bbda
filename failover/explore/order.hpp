// SPDX-License-Identifier: BSD-3-Clause
//
// Linearizability is the question whether there is an order of operations, respecting which came
// before which, that explains every answer. Here is the search for one, for whoever has operations:
// the explorer's judge (judge.cpp), and histories of programs that ran (whole_history.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "failover/semantics/operation.hpp"

namespace portcullis::failover {

using Memory = std::vector<Word>;

/// What one operation of a history does to memory, and what it claims.
struct Operated {
  struct OnWord {
    unsigned cell = 0;
    Operation operation = {};
    std::optional<Word> answer = {};  // what has to come back
  };
  std::vector<OnWord> words = {};
  std::uint64_t first = 0, last = 0;  // when it was invoked and answered
  bool is_answered = false;           // otherwise it may have happened, or not,
  bool is_certain = false;            // unless it was executed, whoever says so
};

/// Nothing where the answers are not those that would come.
inline std::optional<Memory> applied(const Operated& operated, const Memory& memory) {
  Memory after = memory;
  for (const Operated::OnWord& word : operated.words) {
    const Executed executed = execute(word.operation, after[word.cell]);
    if (word.answer && *word.answer != executed.result) return std::nullopt;
    after[word.cell] = executed.memory;
  }
  return after;
}

/// Of operations in the order of their invocations. `Placed` is a set of their numbers: begin() is
/// not above the least that is missing, has(i), with(i). `Rules` has what else there is to heed:
/// may_end(memory), may_place(i, placed), and what is known of failures: enter(memory, placed),
/// false where no order goes on from there, and failed(memory, placed).
template <class Placed, class Rules>
class Orders {
 public:
  Orders(const std::vector<Operated>& operations, Rules& rules)
      : operations_(operations), rules_(rules) {}

  /// Places one operation after another that nothing unplaced precedes.
  [[nodiscard]] bool exists(const Memory& memory, const Placed& placed) {
    if (!rules_.enter(memory, placed)) return false;
    const std::uint64_t limit = first_answer(placed);
    if (is_complete(placed) && rules_.may_end(memory)) return true;
    for (std::size_t i = placed.begin(); i < operations_.size(); ++i) {
      if (operations_[i].first > limit) break;
      if (placed.has(i) || !rules_.may_place(i, placed)) continue;
      const auto after = applied(operations_[i], memory);
      if (after && exists(*after, placed.with(i))) return true;
    }
    rules_.failed(memory, placed);
    return false;
  }

 private:
  /// Among the unplaced. What was invoked later is answered later, too.
  [[nodiscard]] std::uint64_t first_answer(const Placed& placed) const {
    std::uint64_t limit = ~std::uint64_t{0};
    for (std::size_t i = placed.begin(); i < operations_.size(); ++i) {
      if (operations_[i].first > limit) break;
      if (!placed.has(i) && operations_[i].is_answered)
        limit = std::min(limit, operations_[i].last);
    }
    return limit;
  }
  [[nodiscard]] bool is_complete(const Placed& placed) const {
    for (std::size_t i = placed.begin(); i < operations_.size(); ++i)
      if (!placed.has(i) && (operations_[i].is_answered || operations_[i].is_certain)) return false;
    return true;
  }

  const std::vector<Operated>& operations_;
  Rules& rules_;
};

}  // namespace portcullis::failover
