// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/verdict.hpp"

#include <algorithm>

namespace portcullis::failover {

Verdict Judged::verdict() const noexcept {
  if (explored.ending == Ending::Violated) return Verdict::Refuted;
  if (explored.ending != Ending::Complete) return Verdict::Stopped;
  // A deadlock is seen without a look at progress.
  if (explored.stuck > explored.cut || (progress && progress->hanging > 0)) return Verdict::Hangs;
  if (is_interrupted) return Verdict::Stopped;
  return explored.gives_up ? Verdict::GivesUp : Verdict::Safe;
}

Result<Judged> judge_protocol(const Machine& machine, const ExploreOptions& options,
                              std::uint64_t most_states) {
  Judged judged;
  PORTCULLIS_TRY_ASSIGN(judged.explored, explore(machine, options));
  if (judged.explored.ending != Ending::Complete) return judged;
  const std::uint64_t limit =
      std::min(most_states, options.memory_limit_bytes / kLivenessStateBytes);
  // With symmetry the exploration counts classes: how many states they are shows on the way.
  if (judged.explored.states > limit) return judged;
  PORTCULLIS_TRY_ASSIGN(Liveness progress, judge_progress(machine, limit, options.stop));
  judged.is_interrupted = !progress.is_whole && options.stop != nullptr && options.stop->load();
  if (progress.is_whole) judged.progress = std::move(progress);
  return judged;
}

const char* name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::Safe:
      return "safe";
    case Verdict::GivesUp:
      return "gives-up";
    case Verdict::Hangs:
      return "hangs";
    case Verdict::Refuted:
      return "refuted";
    case Verdict::Stopped:
      return "stopped";
  }
  return "?";
}

}  // namespace portcullis::failover
