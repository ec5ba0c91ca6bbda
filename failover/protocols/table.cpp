// SPDX-License-Identifier: BSD-3-Clause
#include "failover/protocols/table.hpp"

#include <algorithm>

namespace portcullis::failover {

Parameters raised_to_model(const ModelInfo& model, Parameters parameters) noexcept {
  parameters.clients = std::max(parameters.clients, model.least_clients);
  parameters.operations = std::max(parameters.operations, model.least_operations);
  return parameters;
}

Result<std::vector<ProtocolVerdict>> protocol_table(
    const Parameters& parameters, const ExploreOptions& options,
    const std::function<void(const ProtocolVerdict&)>& each) {
  std::vector<ProtocolVerdict> rows;
  for (const ModelInfo& model : models()) {
    for (const Environment environment :
         {Environment::Quiet, Environment::Reuse, Environment::OtherWriters, Environment::Aba}) {
      Parameters own = raised_to_model(model, parameters);
      own.environment = environment;
      PORTCULLIS_TRY_ASSIGN(Scenario scenario, make_model(model.name, own));
      PORTCULLIS_TRY_ASSIGN(Machine compiled, compile(std::move(scenario)));
      const auto machine = std::make_shared<const Machine>(std::move(compiled));
      PORTCULLIS_TRY_ASSIGN(Judged judged, judge_protocol(*machine, options));
      if (judged.verdict() == Verdict::Stopped) return rows;
      rows.push_back({model, own, machine, std::move(judged)});
      each(rows.back());
    }
  }
  return rows;
}

}  // namespace portcullis::failover
