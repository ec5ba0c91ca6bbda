// SPDX-License-Identifier: BSD-3-Clause
//
// Recovery protocols, explored: is there a run in which a retry is seen twice? Each protocol is a
// model of a published idea; no claim is made about any product. docs/failover.md has the models
// and what is judged.
//
// Example, failover.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto verdict, explore("blind-fadd", {.late = 1}));
//   std::cout << name(verdict.ending) << " with " << verdict.bounds.late << " late packet\n";
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/result.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis {

/// A recovery protocol that is built in.
struct Protocol {
  std::string name;        // what explore() calls it
  std::string idea;        // one sentence
  std::string assumption;  // what it takes for granted beyond the semantics; may be empty
};
/// All that are built in.
[[nodiscard]] PORTCULLIS_API std::vector<Protocol> protocols();

/// Who else touches the target.
enum class Surroundings : std::uint8_t {
  Quiet,         // nobody
  Reuse,         // the receiver consumes the data and reuses the memory
  OtherWriters,  // others write it
  Aba,           // others bring the old value back
};

/// How far is looked: a verdict holds for these numbers and says nothing of greater ones.
struct ExploreBounds {
  unsigned clients = 1;                             // 1 to 8, raised to what the protocol needs
  unsigned operations = 1;                          // of each client, 1 to 4
  Surroundings surroundings = Surroundings::Quiet;  // who else touches the target
  unsigned late = 1;                                // packets that may outlive the sender's timeout
  unsigned duplicates = 0;                          // extra copies
  unsigned timeouts = 1;                            // of each client
  unsigned deaths =
      0;  // queue pairs of a client whose responder NIC may die between ACK and memory
};

/// What an exploration may take.
struct ExploreOptions {
  unsigned threads = 1;                     // 1 to 16; the counts do not depend on it
  std::uint64_t memory_bytes = 1 << 30;     // for states
  const std::atomic<bool>* stop = nullptr;  // asked now and then; true ends the run
};

/// How an exploration ended.
enum class ExploreEnding : std::uint8_t {
  Safe,         // nothing breaks, and every run comes to its end, or to where `timeouts` cuts it
  GivesUp,      // the same, but some run ends with an error to the application
  Hangs,        // nothing breaks, but `counterexample` leads to where some client never ends
  Refuted,      // `counterexample` breaks `violation`
  Stopped,      // by `stop`: no verdict
  OutOfMemory,  // more than memory_bytes: no verdict
};
/// "safe", "gives-up", "hangs", "refuted", "stopped", "out of memory".
[[nodiscard]] PORTCULLIS_API std::string_view name(ExploreEnding ending) noexcept;

/// Exact within its bounds: states are held whole, so none is taken for another.
struct ExploreVerdict {
  ExploreEnding ending = ExploreEnding::Stopped;  // the verdict, or why there is none
  ExploreBounds bounds;   // those that were explored, raised to what the protocol needs
  std::string violation;  // Refuted: the property
  /// Refuted, Hangs: a shortest run, step by step; empty: too large to find.
  std::string counterexample;
  std::uint64_t states = 0;       // seen
  std::uint64_t transitions = 0;  // taken
  unsigned depth = 0;             // steps to the farthest state, or to the violation
  /// States that end a run because a client has no timeout left: what it would do is not looked at.
  std::uint64_t cut = 0;
  /// False: too many states to look at progress. Then Safe means no deadlock, not that all end.
  bool is_progress_judged = false;
  /// What the protocol says and no run within the bounds comes to, "steps[5], report operation 0
  /// unknown": nothing of it was verified. Empty also where there is no verdict, or a refutation.
  std::vector<std::string> unreached;
};

/// InvalidArgument names the protocol or the bound and what is accepted; OutOfResources when the
/// kernel refuses memory.
[[nodiscard]] PORTCULLIS_API Result<ExploreVerdict> explore(std::string_view protocol,
                                                            const ExploreBounds& bounds = {},
                                                            const ExploreOptions& options = {});

/// The same for a protocol of your own: JSON as docs/failover-protocol.schema.json says, in one of
/// its environments (empty: its first), within the bounds that it states; `bounds.surroundings` of
/// the verdict says nothing. Malformed as "FILE:LINE: FIELD: what", with what is accepted; `file`
/// is what messages call the text.
[[nodiscard]] PORTCULLIS_API Result<ExploreVerdict> explore_text(
    std::string_view json, std::string_view file, std::string_view environment = {},
    const ExploreOptions& options = {});

}  // namespace portcullis
