// SPDX-License-Identifier: BSD-3-Clause
//
// The four environments, for a shared word and for a buffer.
#include "failover/protocols/families.hpp"

namespace portcullis::failover {
namespace {

void add(Scenario& scenario, const Address& address, Environment environment,
         std::optional<Word> effect) {
  scenario.environment_budget = 1;
  if (environment == Environment::Quiet) scenario.environment_budget = 0;
  if (environment == Environment::Reuse)
    scenario.environment.push_back({"the owner reuses the word", address, effect, kReused + 10});
  if (environment == Environment::OtherWriters)
    scenario.environment.push_back({"another writer", address, std::nullopt, kForeign});
  if (environment == Environment::Aba)
    scenario.environment.push_back({"the old value comes back", address, effect, 0});
}

}  // namespace

void surround_word(Scenario& scenario, Environment environment, std::optional<Word> effect) {
  add(scenario, {Address::Space::Shared, 0}, environment, effect);
}

void surround_buffer(Scenario& scenario, Environment environment, unsigned cell) {
  if (environment == Environment::Reuse) return;  // the receiver's own step
  add(scenario, {Address::Space::Own, cell}, environment, kData);
}

}  // namespace portcullis::failover
