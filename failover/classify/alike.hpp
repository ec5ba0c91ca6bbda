// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that meet no other and differ in nothing that is explored: what was found for the first
// of them holds for all. A send queue of 64 such requests costs one exploration.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "failover/classify/classify.hpp"
#include "failover/classify/story.hpp"

namespace portcullis::failover {

class Alike {
 public:
  /// The number of an earlier request with the same story, of one request alone.
  [[nodiscard]] std::optional<unsigned> earlier(const Story& story, unsigned number);

 private:
  /// All that a story of one request is made of: opcode, outcome, cells, whether its QP may run
  /// on, whether it has bytes, the operands of an atomic, the contract, the evidence.
  using Known =
      std::tuple<Part, Part, bool, std::optional<Word>, std::optional<Word>, std::optional<bool>>;
  using Key = std::tuple<Opcode, Outcome, unsigned, bool, bool, Word, Word, Environment, Consumer,
                         bool, bool, bool, Known>;
  std::map<Key, unsigned> first_;
};

/// The same advice, told of another request: its run names that one.
[[nodiscard]] Classification told_of(Classification found, unsigned from, unsigned to);

}  // namespace portcullis::failover
