// SPDX-License-Identifier: BSD-3-Clause
//
// Which requests of a dump meet in the same bytes, what their order on a QP says of outcomes, and
// the story of those that meet.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "failover/classify/story.hpp"

namespace portcullis::failover {

/// Requests that meet, directly or through others; by their number in the dump.
struct Group {
  std::vector<unsigned> members;
  /// Why it cannot be explored as a whole; empty where it can.
  std::string obstacle;
  /// The dump does not say whether they meet at all, or what else happens is not modelled: still
  /// never repostable is what is not when it is alone.
  bool is_unclear = false;
  /// READs, and there is an obstacle. None undoes another: what each answers is told from those
  /// that were answered.
  bool is_of_reads = false;
};

/// The requests of a settled dump that may tell its receiver something, by their numbers.
class Letters {
 public:
  explicit Letters(const std::vector<OutstandingRequest>& dump);

  /// Of unknown outcome.
  [[nodiscard]] const std::vector<unsigned>& unknown() const noexcept { return unknown_; }
  /// That were executed, or may be yet.
  [[nodiscard]] const std::vector<unsigned>& alive() const noexcept { return alive_; }
  /// Of those, from place `at` on, where the first of another QP than that one's is.
  [[nodiscard]] std::size_t next_queue(std::size_t at) const noexcept { return next_queue_[at]; }

 private:
  std::vector<unsigned> unknown_, alive_;
  std::vector<std::size_t> next_queue_;
};

/// A request whose completion is implied by a later one of its QP becomes Completed, one that is
/// out of order has a QP of its own, which allows more runs. Of each, the
/// later one of its QP whose SUCCESS contradicts its error, which would have stopped the QP.
[[nodiscard]] std::vector<std::optional<std::size_t>> settle_outcomes(
    std::vector<OutstandingRequest>& dump);

/// What was posted on a QP behind a request of a fenced key that was not executed as a whole, as
/// the evidence says, is not executed any more: that one is refused, and stops the QP.
void close_behind_fences(std::vector<OutstandingRequest>& dump);

/// Groups of the requests that may matter to each other, each alone where it meets nobody. Nothing
/// once `stop` is true: what was not compared with all others is not known to meet nobody.
[[nodiscard]] std::optional<std::vector<Group>> groups_of(
    const std::vector<OutstandingRequest>& dump, const Letters& letters,
    const std::atomic<bool>* stop = nullptr);

/// A READ that was answered.
struct ReadBehind {
  unsigned number = 0;
  bool is_sure = false;  // that it meets the one before it
};
/// Of the READs `members`, the first that was posted behind `read`, was answered and meets it; or
/// one that may. What it answered is older than what a repost of `read` would.
[[nodiscard]] std::optional<ReadBehind> answered_read_behind(
    const std::vector<OutstandingRequest>& dump, const std::vector<unsigned>& members,
    unsigned read);

/// `members` of a dump, and the message after them, if any, that lets the receiver go on.
[[nodiscard]] Story story_of(const std::vector<OutstandingRequest>& dump,
                             const std::vector<unsigned>& members, const Letters& letters);

}  // namespace portcullis::failover
