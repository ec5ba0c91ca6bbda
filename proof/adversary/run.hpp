// SPDX-License-Identifier: BSD-3-Clause
//
// One run: a ConnectX-5 in software, two leases, clients that never stop, an adversary that holds
// what it likes, two revokes one after the other on the same slot, and a witness who says whether
// anything touched a region after its outcome, or came from an old client into the next one's. A
// run is a function of its spec.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "proof/adversary/adversary.hpp"
#include "proof/adversary/mutant.hpp"
#include "proof/adversary/operation.hpp"
#include "proof/adversary/witness.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::proof::adversary {

/// At a time.
inline constexpr std::uint32_t kMostLeases = 2;

struct RunSpec {
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t seed = 1;
  lease::Plan plan = lease::seed_plan();
  Mutant mutant = Mutant::None;
  std::uint32_t operations = 300;  // of all clients together, at least
  std::uint64_t holds = kNoLimit;  // the adversary holds no more steps than this
  // What the run leaves behind, for whoever wants to see it; empty: nothing.
  std::string pcap_path = "";                     // every packet
  std::string trace_path = "";                    // every command, docs/trace-format.md
  trace::OnRecordingLost on_recording_lost = {};  // may be empty
};

/// A number of 64 bits in which every bit depends on the seed, whatever the order of the plans.
[[nodiscard]] constexpr std::uint64_t scatter(std::uint64_t seed) noexcept {
  return seed * 0x9e37'79b9'7f4a'7c15;  // 2^64 over the golden ratio: Fibonacci hashing
}
/// A command of each fence fails in this run: in one of eight.
[[nodiscard]] constexpr bool fails_commands(const RunSpec& spec) noexcept {
  return spec.mutant == Mutant::None && scatter(spec.seed) >> 61 == 0;
}
/// The NIC stays with a kernel that takes it for broken in the midst of each fence, and answers for
/// it: in one of eight runs, of a plan that such a NIC takes and without an entry, which DevX has
/// not (docs/devx.md).
[[nodiscard]] inline bool is_kept(const RunSpec& spec) {
  if (spec.mutant == Mutant::FakeBelieved) return true;
  return spec.mutant == Mutant::None && !fails_commands(spec) &&
         (scatter(spec.seed) >> 47 & 7) == 0 && spec.plan.entry == steering::EntryPlan::AtRevoke &&
         lease::check_for_kept_nic(spec.plan).has_value();
}
/// Steering drops what comes after the fence: in every run of a plan whose entry stands from the
/// grant on, and every other run of one that installs it. In the others everything comes.
[[nodiscard]] inline bool is_steered(const RunSpec& spec) {
  if (is_kept(spec)) return false;
  if (spec.plan.entry != steering::EntryPlan::AtRevoke) return true;
  return spec.plan.has(lease::Step::InstallDrop) && (scatter(spec.seed) >> 60 & 1) != 0;
}

/// The leases were granted together: always where the plan is made for that, and in one of eight
/// runs of every other, which takes each back by its own key.
[[nodiscard]] inline bool are_together(const RunSpec& spec) noexcept {
  return spec.plan.is_for_groups() || (scatter(spec.seed) >> 57 & 7) == 0;
}
/// GRACE outlasts the client's retry budget, 134 ms, in one half of the runs and not in the other,
/// so that the number's rest is now the one and now the other.
[[nodiscard]] constexpr bool outlasts_budget(const RunSpec& spec) noexcept {
  return (scatter(spec.seed) >> 56 & 1) != 0;
}
[[nodiscard]] constexpr std::uint64_t grace_ms(const RunSpec& spec) noexcept {
  return outlasts_budget(spec) ? 5'000 : 50;
}
/// The first revoke is asked for twice where its plan lingers: the second joins it.
[[nodiscard]] constexpr bool joins_fences(const RunSpec& spec) noexcept {
  return spec.mutant == Mutant::JoinNotAwaited || (scatter(spec.seed) >> 54 & 3) == 0;
}
/// The last revoke takes everything at once: in one of eight runs, of a function that is ours.
[[nodiscard]] inline bool drains(const RunSpec& spec) {
  return spec.mutant == Mutant::BusMasterLeftOn ||
         (spec.mutant == Mutant::None && (scatter(spec.seed) >> 50 & 7) == 0 && !is_kept(spec));
}
/// The port is InfiniBand: underlays are nowhere else (steering/underlay_drop.hpp).
[[nodiscard]] inline bool is_on_infiniband(const RunSpec& spec) noexcept {
  return spec.plan.entry == steering::EntryPlan::Underlay;
}

struct RunResult {
  /// An access, or an objection where that counts (is_found_by_dma).
  std::optional<Violation> violation;
  /// What contradicts a promise that is not about DMA: the first, whatever the mutant.
  std::optional<Violation> objection;
  std::vector<Occupancy> occupancies;  // at each mkey step
  std::uint32_t torn_down = 0;
  std::uint32_t fenced = 0;
  std::uint32_t unproved = 0;  // of those fenced: the unmap was made to fail, nothing was promised
  std::uint32_t joined = 0;    // revokes that joined one under way
  std::uint32_t reached_over = 0;  // messages of a neighbour to where a lease of its group lay
  std::uint32_t drained = 0;       // leases that ended with the function
  std::uint32_t steered = 0;       // outcomes with a DROP entry in force
  std::uint32_t faked = 0;         // commands that a kernel has answered by itself
  OperationCounts posted{};
  OperationCounts succeeded{};
  std::uint64_t holds = 0;  // steps that were held
  std::uint64_t steps = 0;
  std::uint64_t late = 0;     // accesses to a region after its outcome
  std::uint64_t touched = 0;  // accesses to memory that is or was a lease's
};

/// An error is one of the set-up, or of what the run needs: nothing was shown.
[[nodiscard]] Result<RunResult> run(const RunSpec& spec);

}  // namespace portcullis::proof::adversary
