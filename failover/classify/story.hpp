// SPDX-License-Identifier: BSD-3-Clause
//
// What can happen when some of a sender's requests are posted again: the requests that meet in the
// same bytes, as scenarios for the explorer. One dump leaves open what was in memory, what a WRITE
// carried, which word a READ is judged by and what the sender does next: each way is a scenario of
// its own, and all must be safe.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "failover/classify/request.hpp"
#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

inline constexpr unsigned kMaxStoryRequests = 4;
inline constexpr unsigned kMaxStoryCells = 4;  // as many as a WRITE has packets

/// One request of a story. Cells are the runs of bytes that requests cover or do not cover as one.
struct StoryRequest {
  OutstandingRequest request;
  unsigned cell = 0, cells = 1;
  unsigned queue = 0;  // requests of one QP share it
  bool is_reposted = false;
  /// Only tells the receiver that it may go on; what it carries is not looked at.
  bool is_message = false;
};

struct Story {
  std::vector<StoryRequest> requests;  // in posting order
  unsigned cells = 1;
  Contract contract;
  /// Requests that share a queue were executed in their order, and are not of one QP else.
  bool is_order_alone = false;
  /// What a reposted CAS returns is its answer, also where that is not the word that it expects.
  bool takes_any_answer = false;
};

struct Told {
  enum class Verdict : std::uint8_t {
    Safe,
    Unsafe,
    Undecided,  // more ways or states than are looked at
  };
  Verdict verdict = Verdict::Safe;
  Violation violation = Violation::None;
  std::uint64_t states = 0;  // of all scenarios together
  bool has_run = true;       // some run agrees with the evidence, or none was sought to its end
  std::optional<Machine> machine;  // Unsafe: the scenario that breaks
};

/// Whether anything is known of what was executed, beside the completions.
[[nodiscard]] bool has_evidence(const Story& story) noexcept;

/// Runs are those in which completed requests complete, the others' QPs fail with any number of
/// packets under way, the fence takes effect if there is one, what is found then agrees with the
/// evidence, and then the reposts complete one after the other, in posting order, on one new QP.
/// Once `stop` is true it is Undecided.
[[nodiscard]] Result<Told> tell(const Story& story, const std::atomic<bool>* stop = nullptr);

}  // namespace portcullis::failover
