// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/alike.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace portcullis::failover {

std::optional<unsigned> Alike::earlier(const Story& story, unsigned number) {
  if (story.requests.size() != 1) return std::nullopt;
  const OutstandingRequest& r = story.requests.front().request;
  if (!r.opcode) return std::nullopt;
  const bool is_atomic = *r.opcode == Opcode::FetchAdd || *r.opcode == Opcode::CompareSwap;
  const Contract& contract = story.contract;
  const Evidence& e = r.evidence;
  const Key key{*r.opcode,
                r.outcome,
                story.requests.front().cells,
                may_run_on(r),
                r.length != 0U,
                is_atomic ? r.compare_add : 0,
                is_atomic ? r.swap : 0,
                contract.environment,
                contract.consumer,
                contract.is_fenced,
                contract.has_unique_tags,
                contract.is_nothing_later,
                Known(e.least, e.most, e.is_queue_fenced, e.word, e.word_before, e.holds_source)};
  const auto [found, is_new] = first_.try_emplace(key, number);
  if (is_new) return std::nullopt;
  return found->second;
}

Classification told_of(Classification found, unsigned from, unsigned to) {
  for (Requirement& condition : found.conditions)
    std::replace(condition.requests.begin(), condition.requests.end(), std::size_t{from},
                 std::size_t{to});
  if (!found.machine) return found;
  const std::string was = fmt::format("[{}]", from);
  for (WorkRequest& request : found.machine->scenario.work_requests) {
    const std::size_t at = request.name.find(was);
    if (at != std::string::npos) request.name.replace(at, was.size(), fmt::format("[{}]", to));
  }
  return found;
}

}  // namespace portcullis::failover
