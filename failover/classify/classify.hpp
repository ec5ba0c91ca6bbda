// SPDX-License-Identifier: BSD-3-Clause
//
// What may be done with the requests of a dump whose outcome is unknown: repost, never, only if a
// condition holds, or no advice. Unless rules are asked for nothing is looked up: the requests that
// meet in the same bytes become scenarios (story.hpp), and the verdict is what the explorer finds
// for all of them, with the run that shows what a repost can do. What is not modelled gets no
// advice, and the reason.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "failover/classify/request.hpp"
#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

enum class Advice : std::uint8_t {
  Repost,    // no run that was explored shows that it was posted twice
  Never,     // a run does, whatever is promised
  OnlyIf,    // a run does, and none does where one of `one_of` is promised
  NoAdvice,  // not modelled, contradictory, or too much to explore
};

/// What the dump could promise beside what it does.
enum class Proviso : std::uint8_t {
  FenceDone,
  TargetQuiet,
  TagUnique,
  NothingLater,
  QueuePairFenced,   // where a SEND is known not to have been executed yet
  CompletionPolled,  // of a buffer: whatever its status, or the sender's QP is reset or destroyed
};

/// What a repost takes for granted.
struct Requirement {
  enum class Kind : std::uint8_t {
    PostingOrder,     // all of `requests`, in this order, one after the other
    NoOtherRepost,    // none of `requests` is posted again as well: ask again with what holds then
    QueuePairFailed,  // no completion says so: the old QP is in error, or destroyed
    SourceUnchanged,  // the bytes to be sent are those of the first attempt; `requests` had answers
                      // that may have come into them
    ResultUnknown,    // unless it returns the compare word, the answer says nothing of the first
    EvidenceIsLast,   // that of `requests` was taken when their QPs had failed, behind every fence
    BufferUnshared,   // no request whose sg_list the dump does not say has these bytes
    NotPostedAgain,   // none of `requests` is posted again with what is in its buffer
  };
  Kind kind = Kind::PostingOrder;
  std::vector<std::size_t> requests;  // of the dump, from 0
};

/// Whether the sender may use the memory of a request, its sg_list, for something else.
struct BufferAdvice {
  enum class Answer : std::uint8_t {
    None,      // it has no buffer
    Reuse,     // no run sends from it again to any effect, nor writes an answer into it
    OnlyIf,    // a run does, and none does where one of `one_of` is promised
    NoAdvice,  // not modelled, or not looked at
  };
  Answer answer = Answer::None;
  std::vector<Requirement> conditions;       // Reuse, OnlyIf: all of them
  std::vector<std::vector<Proviso>> one_of;  // OnlyIf: all of any one of these lists, too
  std::string reason;
  std::vector<std::size_t> shared_with;  // what else still needs these bytes
  std::uint64_t states = 0;
  bool is_by_rule = false;         // then there is no trace
  std::optional<Machine> machine;  // of the trace
  std::optional<Trace> trace;      // what a reuse can do as things stand
};

struct Classification {
  Advice advice = Advice::NoAdvice;
  std::vector<Requirement> conditions;       // Repost, OnlyIf: all of them
  std::vector<std::vector<Proviso>> one_of;  // OnlyIf: all of any one of these lists, too
  std::string reason;
  std::string lemma;                       // of failover/proofs; for a request that meets no other
  std::vector<std::size_t> explored_with;  // requests of the dump, from 0
  std::uint64_t states = 0;                // explored for the verdict, all attempts together
  bool is_by_rule = false;                 // rules.hpp; then there is no trace
  std::optional<Machine> machine;          // of the trace
  std::optional<Trace> trace;              // what a repost can do as things stand
  BufferAdvice buffer;
};

enum class Effort : std::uint8_t {
  Explore,
  Rules,  // nothing is explored, so it takes microseconds: what no rule covers gets no advice
};

/// One for each request, in the order of the dump, which is the posting order. The advice holds
/// when every request with the advice to repost is reposted, and no other. `stop` is asked now and
/// then; once it is true, what is left gets no advice. InvalidArgument names the evidence that no
/// run leads to.
[[nodiscard]] Result<std::vector<Classification>> classify(
    const std::vector<OutstandingRequest>& dump, const std::atomic<bool>* stop = nullptr,
    Effort effort = Effort::Explore);

class Findings;

/// What to look at, beside the whole.
struct Asked {
  /// Those of the dump whose advice is wanted, empty: of all. Of the others is explored what that
  /// takes: whether messages behind them are reposted.
  std::vector<bool> requests = {};
  /// What was explored for dumps before this one; keeps what is found. An answer from there has no
  /// run. May be null.
  Findings* findings = nullptr;
};

/// The same without the buffers.
[[nodiscard]] Result<std::vector<Classification>> classify_reposts(
    const std::vector<OutstandingRequest>& dump, const std::atomic<bool>* stop, Effort effort,
    const Asked& asked = {});

[[nodiscard]] const char* name_of(Advice advice) noexcept;
[[nodiscard]] const char* name_of(BufferAdvice::Answer answer) noexcept;
[[nodiscard]] const char* name_of(Proviso proviso) noexcept;
[[nodiscard]] const char* name_of(Requirement::Kind kind) noexcept;

}  // namespace portcullis::failover
