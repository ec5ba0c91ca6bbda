// SPDX-License-Identifier: BSD-3-Clause
//
// The impossibility, shown by trying everything: a decision model fixes what the sender may see
// when it has to decide, and every decision table over those views is run. Each must break; the
// shortest run that breaks it is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

struct PolicyVerdict {
  std::uint64_t policy = 0;  // bit d: the answer to decision d, 1 is repost
  Violation violation = Violation::None;
  std::uint64_t states = 0;
  Trace trace;  // empty when nothing breaks
};

struct PolicyModel {
  std::string_view name;
  std::string_view views;  // what the sender has seen when it decides
};

[[nodiscard]] const std::vector<PolicyModel>& policy_models();

struct PolicyRun {
  Machine machine;         // of policy 0; labels of the traces refer to it
  unsigned decisions = 0;  // tables are 2^decisions
  std::vector<PolicyVerdict> verdicts;
  [[nodiscard]] bool all_refuted() const noexcept;
};

/// InvalidArgument with the accepted names for an unknown model.
[[nodiscard]] Result<PolicyRun> refute_all_policies(std::string_view name);

}  // namespace portcullis::failover
