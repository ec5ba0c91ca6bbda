// SPDX-License-Identifier: BSD-3-Clause
//
// What is wrong with a program as a graph of steps, before anything is run: what would look like a
// hang of the protocol, and is a slip of its author.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "failover/semantics/scenario.hpp"

namespace portcullis::failover {

struct ProgramFault {
  std::size_t step = 0;  // of the program
  std::string what;
};

/// Targets must be in range. Nothing when the program has none of these: a step that can be reached
/// and has no way to an End; a request that is posted twice on one path, awaited or asked for
/// before it is posted, posted before one that stands before it on its queue, or posted on a queue
/// where one timed out.
[[nodiscard]] std::optional<ProgramFault> fault_of(const Scenario& scenario);

/// For each step of the program whether a way through the text leads there, in some run or none.
[[nodiscard]] std::vector<bool> steps_led_to(const Scenario& scenario);

struct RequestFault {
  std::size_t request = 0;  // of the work requests
  const char* field = "";
  std::string what;
};

/// With a history: a request that counts and is no second attempt at what an earlier one of its
/// operation does, for the judge knows one call of each operation.
[[nodiscard]] std::optional<RequestFault> unlike_attempt_of(const Scenario& scenario);

/// Why the judge of a history cannot have this one: it knows operands that the text says, one
/// answer to each operation, one reading and one reuse of the receiver's, and tries all orders of
/// a few operations. Nothing where it can, or where there is no history.
[[nodiscard]] std::optional<std::string> history_fault_of(const Scenario& scenario);

}  // namespace portcullis::failover
