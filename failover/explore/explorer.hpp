// SPDX-License-Identifier: BSD-3-Clause
//
// Every reachable state of a machine, breadth-first, on one or two cores or more, and the shortest
// run that breaks a monitored property. Deterministic: the counts do not depend on the threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "failover/explore/reach.hpp"
#include "failover/semantics/label.hpp"
#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

enum class SetKind : std::uint8_t {
  Exact,        // the states themselves: nothing is omitted
  Fingerprint,  // 64 bits of each, or all where a state has no more: see omission_bound()
};

struct Progress {
  std::uint64_t states = 0, transitions = 0, frontier = 0, bytes = 0;
  unsigned depth = 0;
  double seconds = 0;
};

struct ExploreOptions {
  SetKind set = SetKind::Exact;
  bool uses_symmetry = false;
  bool collapses = true;  // states by the numbers of their parts where that takes fewer bits
  unsigned threads = 1;   // 1 .. 16
  std::uint64_t seed = 0;
  std::uint64_t memory_limit_bytes = ~std::uint64_t{0};
  /// Ends the run like its own limit once the whole machine has less left than this, whoever took
  /// it; looked at about once a second.
  std::uint64_t leave_bytes = 0;
  std::uint64_t state_limit = ~std::uint64_t{0};
  std::uint64_t shares_from = 16'384;  // states of a level that one thread does not expand alone
  /// Of parts' numbers at first, as estimate() knows them: the clients' and then the memory's, or
  /// one for all; empty: as a word has room for.
  std::vector<unsigned> part_bits = {};
  double expected_states = 0;  // a guess, as of estimate(): sets grow towards it in fewer steps
  const std::atomic<bool>* stop = nullptr;             // asked now and then; true ends the run
  std::function<void(const Progress&)> progress = {};  // about once a second, from one thread
};

enum class Ending : std::uint8_t {
  Complete,     // every reachable state was seen
  Violated,     // a property broke; the level it broke in was finished
  Interrupted,  // `stop` became true
  MemoryLimit,
  StateLimit,
};

struct Exploration {
  Ending ending = Ending::Complete;
  Violation violation = Violation::None;  // the first one by number among the shortest
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  /// States that no step leaves while a client waits; none of them is a violation.
  std::uint64_t stuck = 0;
  /// Of them those in which a client has no timeout left, as Limits::timeouts bounds them.
  std::uint64_t cut = 0;
  bool gives_up = false;    // a step was possible that reports Claim::Unknown
  unsigned depth = 0;       // steps to the farthest state; Violated: of the shortest violating run
  std::uint64_t bytes = 0;  // greatest size of set and frontiers
  std::uint64_t greatest_frontier = 0;
  double seconds = 0;
  unsigned state_bits = 0;  // of a state as set and frontiers hold it
  bool is_exact = true;     // also by fingerprints that are permutations of their states
  /// Complete: what the scenario says and no run does. Empty where the search ended earlier.
  std::vector<Unreached> unreached = {};
};

/// MemAvailable of /proc/meminfo in bytes; 0 when it cannot be read.
[[nodiscard]] std::uint64_t machine_memory_left();

/// OutOfResources when the kernel refuses memory; InvalidArgument when symmetry is asked for a
/// machine with a history.
[[nodiscard]] Result<Exploration> explore(const Machine& machine, const ExploreOptions& options);

/// Expected number of states that a fingerprint set misses by taking two for one, at most:
/// n(n-1)/2 pairs, 2^-64 each; none where the exploration was exact.
[[nodiscard]] double omission_bound(const Exploration& explored) noexcept;

struct TraceStep {
  Label label;
  AnyState state;  // after it
};

struct Trace {
  std::vector<TraceStep> steps;  // from machine.initial
  Violation violation = Violation::None;
};

/// What shortest_violation() takes for each state, about: it keeps parents.
inline constexpr std::uint64_t kTraceStateBytes = 200;

/// A shortest violating run, found anew with parents kept; nothing when there is none within
/// `state_limit` states, or `stop` became true, or the kernel gives no more memory. Exact.
[[nodiscard]] std::optional<Trace> shortest_violation(const Machine& machine, bool uses_symmetry,
                                                      std::uint64_t state_limit,
                                                      const std::atomic<bool>* stop = nullptr);

/// Whether a client has not come to the end of its program.
[[nodiscard]] bool has_waiting_client(const Machine& machine, const AnyState& state) noexcept;

/// Nothing more can happen in `state`, and a client that waits for a request has timed out as often
/// as Limits::timeouts allows: it would go on, and what it would do is not looked at.
[[nodiscard]] bool is_cut(const Machine& machine, const AnyState& state) noexcept;

/// What a state itself breaks: with a history that is judged, Linearizability once all is settled.
[[nodiscard]] Violation judge(const Machine& machine, const AnyState& state);

}  // namespace portcullis::failover
