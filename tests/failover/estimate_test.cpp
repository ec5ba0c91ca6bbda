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

struct Size {
  unsigned clients = 2, operations = 1, duplicates = 0, timeouts = 1;
};

Scenario scenario_of(const ModelInfo& model, Environment environment, const Size& size) {
  Parameters parameters;
  parameters.clients = size.clients;
  parameters.operations = size.operations;
  parameters.limits = {1, size.duplicates, size.timeouts};
  parameters.environment = environment;
  parameters.is_monitored = false;
  return make_model(model.name, parameters).value();
}

struct Held {
  std::vector<std::string> far;
  unsigned compared = 0, longer = 0, cut = 0;
};

void hold(const ModelInfo& model, Environment environment, const Size& size, Held& held) {
  constexpr double kLongest = 450'000, kFactor = 3;
  const Scenario scenario = scenario_of(model, environment, size);
  const Estimate said = estimate(scenario, {}).value();
  held.cut += said.basis == Estimate::Basis::AtLeast ? 1 : 0;
  held.longer += said.states > kLongest ? 1 : 0;
  if (said.basis == Estimate::Basis::AtLeast || said.states > kLongest) return;
  const Exploration run = explore(compile(scenario).value(), {}).value();
  const double counted = static_cast<double>(run.states);
  ++held.compared;
  if (said.states > kFactor * counted || counted > kFactor * said.states)
    held.far.push_back(std::string(model.name) + " " + name_of(environment) + " " +
                       std::to_string(size.clients) + ": said " + std::to_string(said.states) +
                       ", " + std::to_string(run.states));
}

Held held_of(const Size& size) {
  Held held;
  for (const ModelInfo& model : models())
    for (const Environment environment :
         {Environment::Quiet, Environment::Reuse, Environment::OtherWriters, Environment::Aba})
      hold(model, environment, size, held);
  return held;
}

TEST(EstimateOfEveryModel, OfTwoClients_IsWithinAFactorOfThree) {
  const Held held = held_of({});
  EXPECT_THAT(held.far, ::testing::IsEmpty());
  EXPECT_GE(held.compared, 60U);
}

TEST(EstimateOfEveryModel, OfTwoClientsAndADuplicate_IsWithinAFactorOfThree) {
  const Held held = held_of({.duplicates = 1});
  EXPECT_THAT(held.far, ::testing::IsEmpty());
  EXPECT_GE(held.compared, 40U);
}

TEST(EstimateOfEveryModel, OfTwoClientsWithTwoOperations_IsWithinAFactorOfThree) {
  const Held held = held_of({.operations = 2});
  EXPECT_THAT(held.far, ::testing::IsEmpty());
  EXPECT_GE(held.compared, 30U);
}

TEST(EstimateOfEveryModel, OfTwoClientsWithFourTimeouts_IsWithinAFactorOfThree) {
  const Held held = held_of({.timeouts = 4});
  EXPECT_THAT(held.far, ::testing::IsEmpty());
  EXPECT_GE(held.compared, 40U);
}

// 1e+05 was said of these 745,971.
TEST(EstimateOfEveryModel, OfTagsAndHelp_IsWithinAFactorOfThree) {
  Parameters parameters;
  parameters.clients = 2;
  parameters.operations = 2;
  const double said =
      estimate(make_model("tagged-help-cas", parameters).value(), {}).value().states;
  EXPECT_GT(said, 745'971 / 3.0);
  EXPECT_LT(said, 745'971 * 3.0);
}

TEST(EstimateOfEveryModel, OfThreeClients_IsWithinAFactorOfThree) {
  const Held held = held_of({.clients = 3});
  EXPECT_THAT(held.far, ::testing::IsEmpty());
  EXPECT_GE(held.compared, 35U);
  EXPECT_EQ(held.compared + held.longer + held.cut, models().size() * 4);
}

}  // namespace
}  // namespace portcullis::failover
