// SPDX-License-Identifier: BSD-3-Clause
#include "client/advice.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "failover/classify/classify.hpp"
#include "failover/classify/dump.hpp"
#include "failover/explore/deadline.hpp"
#include "failover/report/json_report.hpp"

namespace portcullis::client {

bool is_fence(const wire::RevokeAnswer& how) noexcept {
  const bool has_outcome =
      how.outcome == wire::Outcome::TornDown || how.outcome == wire::Outcome::Fenced;
  return has_outcome && how.memory != wire::Memory::Unproved;
}

Result<std::vector<failover::OutstandingRequest>> read_dump_of(const std::string& dump_json,
                                                               std::uint32_t rkey) {
  PORTCULLIS_TRY_ASSIGN(auto dump, failover::read_dump(dump_json, "dump"));
  const auto says_too_much = [rkey](const failover::OutstandingRequest& each) {
    return each.rkey == rkey && each.contract.is_fenced;
  };
  if (std::ranges::none_of(dump, says_too_much)) return dump;
  return fail(Errc::InvalidArgument,
              "dump: the region of the lease's rkey says fenced; the outcome says whether it is");
}

Result<std::string> advise(std::vector<failover::OutstandingRequest> dump, std::uint32_t rkey,
                           const wire::RevokeAnswer& how, std::uint32_t most_ms) {
  for (failover::OutstandingRequest& each : dump)
    if (each.rkey == rkey) each.contract.is_fenced = is_fence(how);
  const failover::Deadline deadline(most_ms);
  PORTCULLIS_TRY_ASSIGN(const auto advice, failover::classify(dump, &deadline.flag()));
  auto json = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < dump.size(); ++i)
    json.push_back(failover::to_json(dump[i], advice[i]));
  return json.dump(2);
}

}  // namespace portcullis::client
