// SPDX-License-Identifier: BSD-3-Clause
//
// Many runs, on as many threads as there are, and what they came to: violations by plan, how often
// each position was occupied when the key was taken away, and the smallest run that shows the first
// violation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "proof/adversary/run.hpp"

namespace portcullis::proof::adversary {

struct ProofOptions {
  std::uint64_t runs = 10'000;
  std::uint64_t first_seed = 1;
  std::vector<lease::Plan> plans;  // run k takes the k-th in turn
  Mutant mutant = Mutant::None;
  std::uint32_t operations = 300;
  std::uint64_t holds = RunSpec::kNoLimit;
  std::string pcap_path = "";  // of every run, the last one's stay
  std::string trace_path = "";
  trace::OnRecordingLost on_recording_lost = {};  // may be empty
  unsigned jobs = 1;
  bool stops_at_first = false;              // violation: for a mutant, one is enough
  const std::atomic<bool>* stop = nullptr;  // no further run begins once it is set; null: never
};

struct PlanTally {
  std::string plan;
  std::uint64_t runs = 0;
  std::uint64_t torn_down = 0;
  std::uint64_t fenced = 0;
  std::uint64_t unproved = 0;
  std::uint64_t steered = 0;
  std::uint64_t violations = 0;  // runs with one
};

struct Finding {
  RunSpec spec;
  Violation violation;
};

struct ProofReport {
  std::vector<PlanTally> plans;
  std::uint64_t runs = 0;
  std::uint64_t asked = 0;  // runs; more than there were when somebody stopped it
  std::uint64_t violations = 0;
  std::uint64_t key_steps = 0;
  std::uint64_t crowded = 0;  // runs with 8 packets and 2 DMAs in flight at a key step
  std::array<std::uint64_t, kPositions.size()>
      occupied{};  // key steps at which something stood there
  OperationCounts posted{};
  OperationCounts succeeded{};
  std::uint64_t holds = 0;
  std::uint64_t touched = 0;
  std::uint64_t joined = 0;        // revokes that joined one under way
  std::uint64_t reached_over = 0;  // messages of a neighbour to where a lease of its group lay
  std::uint64_t drained = 0;       // leases that ended with the function
  std::uint64_t faked = 0;         // commands that a kernel has answered by itself
  std::uint64_t long_grace = 0;    // runs in which GRACE outlasts the clients' retry budget
  std::optional<Finding> first;    // of the lowest seed
  double seconds = 0;

  /// All that was asked for was run: no violation, no position empty, every operation carried out,
  /// half of the runs crowded.
  [[nodiscard]] bool is_shown() const noexcept;
};

inline constexpr std::uint32_t kCrowdedPackets = 8;
inline constexpr std::uint32_t kCrowdedDmas = 2;

/// The plans that may answer TornDown, and so are put to the proof, each also with its commands
/// issued together.
[[nodiscard]] std::vector<lease::Plan> provable_plans();
/// The one that a mutant is about, or all of them.
[[nodiscard]] std::vector<lease::Plan> plans_for(const MutantInfo& info);
/// An error of a run, with its seed and plan.
[[nodiscard]] Result<ProofReport> prove(const ProofOptions& options);
/// The same violation with fewer operations and fewer steps held, as far as halving goes.
[[nodiscard]] Finding shrink(const Finding& finding);

}  // namespace portcullis::proof::adversary
