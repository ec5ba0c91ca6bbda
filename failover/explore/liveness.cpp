// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/liveness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "failover/explore/run_log.hpp"

namespace portcullis::failover {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// The graph of states, forwards and then backwards.
class Graph {
 public:
  explicit Graph(const Machine& machine) : m_(machine), log_(machine, false) {}

  /// False: more states than the limit, or stopped.
  bool fill(std::uint64_t state_limit, const std::atomic<bool>* stop) {
    for (std::size_t at = 0; at < log_.size(); ++at) {
      if (log_.size() > state_limit || (stop != nullptr && stop->load())) return false;
      const AnyState state = log_.state(at);
      bool is_last = true;
      first_.push_back(targets_.size());
      for_each_step(m_, state, [&](const AnyState& next, const Label& label, Violation violation) {
        is_last = false;
        if (violation != Violation::None) return;
        const std::size_t to = log_.add(next, at);
        targets_.push_back(static_cast<std::uint32_t>(to));
        if (is_giving_up(label) && giving_up_ == kNone) giving_up_ = to;
      });
      const bool is_waiting = has_waiting_client(m_, state);
      cut_.push_back(is_last && is_waiting && is_cut(m_, state));
      ends_.push_back(!is_waiting || cut_.back());
    }
    first_.push_back(targets_.size());
    return true;
  }

  [[nodiscard]] Liveness judged() const {
    Liveness found;
    found.is_whole = true;
    found.states = log_.size();
    const std::vector<bool> can_end = reaching_an_end();
    std::size_t first = kNone;
    for (std::size_t at = 0; at < log_.size(); ++at) {
      found.cut += cut_[at] ? 1 : 0;
      if (can_end[at]) continue;
      ++found.hanging;
      if (first == kNone) first = at;
    }
    if (first != kNone) found.hang = Trace{log_.run_to(first), Violation::NoProgress};
    found.gives_up = giving_up_ != kNone;
    if (found.gives_up) found.giving_up = Trace{log_.run_to(giving_up_), Violation::None};
    return found;
  }

 private:
  /// By the steps against their direction, from all ends at once.
  [[nodiscard]] std::vector<bool> reaching_an_end() const {
    std::vector<std::size_t> start(log_.size() + 1, 0);
    for (const std::uint32_t to : targets_) ++start[to + 1];
    for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    std::vector<std::uint32_t> sources(targets_.size());
    std::vector<std::size_t> filled = start;
    for (std::size_t at = 0; at < log_.size(); ++at)
      for (std::size_t edge = first_[at]; edge < first_[at + 1]; ++edge)
        sources[filled[targets_[edge]]++] = static_cast<std::uint32_t>(at);
    std::vector<bool> reaches = ends_;
    std::vector<std::size_t> waiting;
    for (std::size_t at = 0; at < log_.size(); ++at)
      if (reaches[at]) waiting.push_back(at);
    while (!waiting.empty()) {
      const std::size_t at = waiting.back();
      waiting.pop_back();
      for (std::size_t i = start[at]; i < start[at + 1]; ++i) {
        if (reaches[sources[i]]) continue;
        reaches[sources[i]] = true;
        waiting.push_back(sources[i]);
      }
    }
    return reaches;
  }

  const Machine& m_;
  RunLog log_;
  std::vector<std::size_t> first_;      // of each state's steps, in targets_
  std::vector<std::uint32_t> targets_;  // numbers of states
  std::vector<bool> ends_, cut_;
  std::size_t giving_up_ = kNone;  // the first state behind such a report
};

}  // namespace

Result<Liveness> judge_progress(const Machine& machine, std::uint64_t state_limit,
                                const std::atomic<bool>* stop) {
  try {
    Graph graph(machine);
    if (graph.fill(std::min(state_limit, RunLog::kMost), stop)) return graph.judged();
    return Liveness{};
  } catch (const std::bad_alloc&) {
    return fail(Errc::OutOfResources,
                fmt::format("model {}: the kernel gives no more memory", machine.scenario.name));
  }
}

}  // namespace portcullis::failover
