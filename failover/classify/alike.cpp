// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/alike.hpp"

#include <fmt/format.h>

namespace portcullis::failover {

std::optional<unsigned> Alike::earlier(const Story& story, unsigned number) {
  if (story.requests.size() != 1) return std::nullopt;
  const OutstandingRequest& r = story.requests.front().request;
  if (!r.opcode) return std::nullopt;
  const bool is_atomic = *r.opcode == Opcode::FetchAdd || *r.opcode == Opcode::CompareSwap;
  const Key key{.opcode = *r.opcode,
                .outcome = r.outcome,
                .cells = story.requests.front().cells,
                .has_status = !r.status_name.empty(),
                .has_bytes = r.length != 0U,
                .compare_add = is_atomic ? r.compare_add : 0,
                .swap = is_atomic ? r.swap : 0,
                .environment = story.contract.environment,
                .consumer = story.contract.consumer,
                .is_fenced = story.contract.is_fenced,
                .has_unique_tags = story.contract.has_unique_tags,
                .is_nothing_later = story.contract.is_nothing_later};
  const auto [found, is_new] = first_.try_emplace(key, number);
  if (is_new) return std::nullopt;
  return found->second;
}

Classification told_of(Classification found, unsigned from, unsigned to) {
  if (!found.machine) return found;
  const std::string was = fmt::format("[{}]", from);
  for (WorkRequest& request : found.machine->scenario.work_requests) {
    const std::size_t at = request.name.find(was);
    if (at != std::string::npos) request.name.replace(at, was.size(), fmt::format("[{}]", to));
  }
  return found;
}

}  // namespace portcullis::failover
