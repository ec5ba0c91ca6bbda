// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that meet no other and differ in nothing that is explored: what was found for the first
// of them holds for all. A send queue of 64 such requests costs one exploration.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "failover/classify/classify.hpp"
#include "failover/classify/story.hpp"

namespace portcullis::failover {

class Alike {
 public:
  /// The number of an earlier request with the same story, of one request alone.
  [[nodiscard]] std::optional<unsigned> earlier(const Story& story, unsigned number);

 private:
  struct Key {
    Opcode opcode = Opcode::Read;
    Outcome outcome = Outcome::Unknown;
    unsigned cells = 1;
    bool has_status = false, has_bytes = true;
    Word compare_add = 0, swap = 0;
    Environment environment = Environment::Quiet;
    Consumer consumer = Consumer::Polls;
    bool is_fenced = false, has_unique_tags = false, is_nothing_later = false;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, unsigned> first_;
};

/// The same advice, told of another request: its run names that one.
[[nodiscard]] Classification told_of(Classification found, unsigned from, unsigned to);

}  // namespace portcullis::failover
