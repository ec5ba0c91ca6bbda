// SPDX-License-Identifier: BSD-3-Clause
//
// One history of a fleet: nodes, an etcd, operators who fence tenants, and faults, all by one seed.
// At the end everything is mended, and everybody has to get on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fleet/simulation/judge.hpp"

namespace portcullis::fleet::simulation {

struct History {
  std::vector<std::string> violations = {};
  std::vector<std::string> said = {};
  std::uint64_t digest = 0;
  Judge::Counts counts = {};
};

struct HistoryOptions {
  std::uint64_t seed = 1;
  std::filesystem::path folder = {};  // for what nodes remember; it must be there
  /// Clocks by which sessions and promises are counted are set now and then, as nobody can set a
  /// monotonic one: what is promised does not hold then, and that has to be seen.
  bool sets_clocks = false;
};
[[nodiscard]] History run_history(const HistoryOptions& options);

}  // namespace portcullis::fleet::simulation
