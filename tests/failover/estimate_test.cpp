// SPDX-License-Identifier: BSD-3-Clause
//
// What is said of a run before it starts, held against what it then counts: every shipped model in
// every environment, as far as the run is short.
#include "failover/explore/estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "failover/protocols/models.hpp"

namespace portcullis::failover {
namespace {

Scenario scenario_of(const ModelInfo& model, Environment environment, unsigned clients,
                     unsigned duplicates) {
  Parameters parameters;
  parameters.clients = clients;
  parameters.limits = {1, duplicates, 1};
  parameters.environment = environment;
  parameters.is_monitored = false;
  return make_model(model.name, parameters).value();
}

struct Held {
  std::vector<std::string> far;
  unsigned compared = 0, longer = 0, cut = 0;
};

void hold(const ModelInfo& model, Environment environment, unsigned clients, unsigned duplicates,
          Held& held) {
  constexpr double kLongest = 450'000, kFactor = 3;
  const Scenario scenario = scenario_of(model, environment, clients, duplicates);
  const Estimate said = estimate(scenario, {}).value();
  held.cut += said.basis == Estimate::Basis::AtLeast ? 1 : 0;
  held.longer += said.states > kLongest ? 1 : 0;
  if (said.basis == Estimate::Basis::AtLeast || said.states > kLongest) return;
  const Exploration run = explore(compile(scenario).value(), {}).value();
  const double counted = static_cast<double>(run.states);
  ++held.compared;
  if (said.states > kFactor * counted || counted > kFactor * said.states)
    held.far.push_back(std::string(model.name) + " " + name_of(environment) + " " +
                       std::to_string(clients) + ": said " + std::to_string(said.states) + ", " +
                       std::to_string(run.states));
}

Held held_of(unsigned clients, unsigned duplicates) {
  Held held;
  for (const ModelInfo& model : models())
    for (const Environment environment :
         {Environment::Quiet, Environment::Reuse, Environment::OtherWriters, Environment::Aba})
      hold(model, environment, clients, duplicates, held);
  return held;
}

TEST(EstimateOfEveryModel, OfTwoClients_IsWithinAFactorOfThree) {
  const Held held = held_of(2, 0);
  EXPECT_THAT(held.far, ::testing::IsEmpty());
  EXPECT_GE(held.compared, 60U);
}

TEST(EstimateOfEveryModel, OfTwoClientsAndADuplicate_IsWithinAFactorOfThree) {
  const Held held = held_of(2, 1);
  EXPECT_THAT(held.far, ::testing::IsEmpty());
  EXPECT_GE(held.compared, 40U);
}

TEST(EstimateOfEveryModel, OfThreeClients_IsWithinAFactorOfThree) {
  const Held held = held_of(3, 0);
  EXPECT_THAT(held.far, ::testing::IsEmpty());
  EXPECT_GE(held.compared, 35U);
  EXPECT_EQ(held.compared + held.longer + held.cut, models().size() * 4);
}

}  // namespace
}  // namespace portcullis::failover
