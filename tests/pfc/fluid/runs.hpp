// SPDX-License-Identifier: BSD-3-Clause
//
// Short ways to run a scenario in a test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pfc/fluid/fluid.hpp"
#include "pfc/scenarios.hpp"

namespace portcullis::pfc::testing {

inline Topology with(std::string_view name, const std::vector<std::string>& settings = {}) {
  auto topology = scenario(name);
  EXPECT_TRUE(topology.has_value());
  const auto applied = apply_settings(*topology, settings);
  EXPECT_TRUE(applied.has_value()) << applied.error().text;
  return *std::move(topology);
}

/// Samples at 0, step, 2 step .. `until`.
inline FluidOptions sampled(double until, double step, Discipline discipline) {
  FluidOptions options;
  options.discipline = discipline;
  options.until = until;
  for (int i = 0; i * step <= until; ++i) options.sample_times.push_back(i * step);
  return options;
}

inline FluidRun run(const Topology& topology, const FluidOptions& options) {
  auto result = solve(topology, options);
  EXPECT_TRUE(result.has_value()) << result.error().text;
  return result ? *std::move(result) : FluidRun{};
}

}  // namespace portcullis::pfc::testing
