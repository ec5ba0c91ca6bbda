// SPDX-License-Identifier: BSD-3-Clause
#include "client/advice.hpp"

#include <nlohmann/json.hpp>

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

Result<std::string> advise(const std::string& dump_json, std::uint32_t rkey,
                           const wire::RevokeAnswer& how, std::uint32_t most_ms) {
  PORTCULLIS_TRY_ASSIGN(auto dump, failover::read_dump(dump_json, "dump"));
  for (failover::OutstandingRequest& each : dump) {
    if (each.rkey != rkey) continue;
    if (each.contract.is_fenced)
      return fail(
          Errc::InvalidArgument,
          "dump: the region of the lease's rkey says fenced; the outcome says whether it is");
    each.contract.is_fenced = is_fence(how);
  }
  const failover::Deadline deadline(most_ms);
  PORTCULLIS_TRY_ASSIGN(const auto advice, failover::classify(dump, &deadline.flag()));
  auto json = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < dump.size(); ++i)
    json.push_back(failover::to_json(dump[i], advice[i]));
  return json.dump(2);
}

}  // namespace portcullis::client
