// SPDX-License-Identifier: BSD-3-Clause
//
// Every protocol in every environment, each verdict explored.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "failover/explore/verdict.hpp"
#include "failover/protocols/models.hpp"

namespace portcullis::failover {

struct ProtocolVerdict {
  ModelInfo model;
  Parameters parameters;
  std::shared_ptr<const Machine> machine;
  Judged judged;
};

/// The parameters with at least the clients and operations that the model needs.
[[nodiscard]] Parameters raised_to_model(const ModelInfo& model, Parameters parameters) noexcept;

/// One row for each model and environment, in the order of models(), from exact sets. `each` is
/// called as rows are decided. Ends early, with the rows so far, when options.stop becomes true.
[[nodiscard]] Result<std::vector<ProtocolVerdict>> protocol_table(
    const Parameters& parameters, const ExploreOptions& options,
    const std::function<void(const ProtocolVerdict&)>& each);

}  // namespace portcullis::failover
