// SPDX-License-Identifier: BSD-3-Clause
#include "failover/protocols/program_faults.hpp"

#include <fmt/format.h>

#include <vector>

namespace portcullis::failover {
namespace {

class Steps {
 public:
  explicit Steps(const Scenario& scenario) : s_(scenario) {}

  [[nodiscard]] std::optional<ProgramFault> fault() const {
    const std::vector<bool> reached = reached_from({0}, kNoRequest);
    for (std::size_t at = 0; at < s_.program.size(); ++at) {
      if (!reached[at]) continue;
      if (!can_end(at)) return ProgramFault{at, "no step from here on leads to an end"};
      if (auto fault = fault_at(at)) return fault;
    }
    return std::nullopt;
  }

 private:
  static constexpr unsigned kNoRequest = ~0U;

  [[nodiscard]] std::vector<std::size_t> after(std::size_t at) const {
    const Instruction& i = s_.program[at];
    if (i.act == Act::End) return {};
    std::vector<std::size_t> next;
    if (i.act != Act::Await || i.may_complete) next = {i.next, i.otherwise};
    if (i.act == Act::Await && i.may_time_out) next.push_back(i.on_timeout);
    return next;
  }
  /// Steps that are come to from `first`, without going on behind a step that posts `request`.
  [[nodiscard]] std::vector<bool> reached_from(std::vector<std::size_t> first,
                                               unsigned request) const {
    std::vector<bool> reached(s_.program.size(), false);
    while (!first.empty()) {
      const std::size_t at = first.back();
      first.pop_back();
      if (reached[at]) continue;
      reached[at] = true;
      if (posts(at, request)) continue;
      for (const std::size_t next : after(at)) first.push_back(next);
    }
    return reached;
  }
  [[nodiscard]] bool posts(std::size_t at, unsigned request) const {
    return s_.program[at].act == Act::Post && s_.program[at].work_request == request;
  }
  [[nodiscard]] bool can_end(std::size_t from) const {
    const std::vector<bool> reached = reached_from({from}, kNoRequest);
    for (std::size_t at = 0; at < reached.size(); ++at)
      if (reached[at] && s_.program[at].act == Act::End) return true;
    return false;
  }
  [[nodiscard]] const std::string& name(unsigned request) const {
    return s_.work_requests[request].name;
  }

  [[nodiscard]] std::optional<ProgramFault> fault_at(std::size_t at) const {
    const Instruction& i = s_.program[at];
    const unsigned request = i.work_request;
    const bool needs_posted = i.act == Act::Await || i.act == Act::QueryPsn;
    if (needs_posted && reached_from({0}, request)[at])
      return ProgramFault{at, fmt::format("{} is not posted on every way that leads here; a step "
                                          "behind its post is accepted",
                                          name(request))};
    if (i.act != Act::Post) return std::nullopt;
    if (reached_from(after(at), kNoRequest)[at])
      return ProgramFault{at, fmt::format("{} can be posted twice; a work request of its own for "
                                          "each attempt is accepted",
                                          name(request))};
    for (std::size_t other = 0; other < s_.program.size(); ++other)
      if (other != at && posts(other, request) && reached_from(after(at), kNoRequest)[other])
        return ProgramFault{other, fmt::format("{} was posted before, on a way that leads here; a "
                                               "work request of its own for each attempt is "
                                               "accepted",
                                               name(request))};
    for (unsigned earlier = 0; earlier < request; ++earlier) {
      if (s_.work_requests[earlier].queue != s_.work_requests[request].queue) continue;
      if (reached_from({0}, earlier)[at])
        return ProgramFault{
            at, fmt::format("{} can be posted without {}, which stands before it on QP {} and has "
                            "the PSN before its own; the order of work_requests is accepted",
                            name(request), name(earlier), s_.work_requests[request].queue)};
    }
    return std::nullopt;
  }

  const Scenario& s_;
};

}  // namespace

std::optional<ProgramFault> fault_of(const Scenario& scenario) { return Steps(scenario).fault(); }

}  // namespace portcullis::failover
