// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a history of programs that ran is linearizable: the explorer's question, of what was
// asked and answered in the world. Linearizability is local (Herlihy and Wing): operations that
// share no cell, not even by others between them, are judged apart, so a history may be long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "failover/explore/order.hpp"

namespace portcullis::failover {

struct WholeHistory {
  struct Named {
    std::string name = {};  // for whoever reads what is wrong
    Operated operated = {};
  };
  std::vector<Named> operations = {};
  std::map<std::string, unsigned, std::less<>> cells = {};  // each holds 0 at first

  /// Of the cell of that name, which is new if there is none.
  [[nodiscard]] unsigned cell(std::string_view name);
};

/// Operations that no order explains.
struct Unordered {
  std::vector<std::string> cells = {};
  std::size_t operations = 0;
  std::size_t placed = 0;               // of them, at most
  std::vector<std::string> stuck = {};  // what could have come then and does not fit; a few
};

struct HistoryVerdict {
  std::size_t parts = 0;
  std::vector<Unordered> unordered = {};
};

/// OutOfResources where some part has too many operations, or takes more than `most_steps` steps of
/// the search.
[[nodiscard]] Result<HistoryVerdict> judge_history(const WholeHistory& history,
                                                   std::uint64_t most_steps = 4'000'000);

/// {"operations": [{"name": "..", "from": 1, "to": 2, "words": [{"cell": "..", "do": "write",
/// "value": 3, "answer": 4}, ..]}, ..]}; do is read, write, add or cas (with "compare"). Without
/// "to" it was not answered. InvalidArgument or Malformed: file, line and field.
[[nodiscard]] Result<WholeHistory> read_history(std::string_view text, std::string_view file);

}  // namespace portcullis::failover
