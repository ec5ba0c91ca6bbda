// SPDX-License-Identifier: BSD-3-Clause
//
// Two first lights side by side: another card, another firmware, or the same card once more. What
// was found is compared by its names; times are not, for no two runs have the same.
#pragma once

#include <string>
#include <vector>

#include "light/facts.hpp"

namespace portcullis::light {

struct Difference {
  std::string what = {};  // "A1", "entry dst-qp", "firmware"
  std::string a = {};
  std::string b = {};
};

[[nodiscard]] std::vector<Difference> compare(const Facts& a, const Facts& b);

/// Median round trips of commands that both sent.
struct CommandRatio {
  std::string command = {};
  std::uint64_t a_ns = 0;
  std::uint64_t b_ns = 0;
};
[[nodiscard]] std::vector<CommandRatio> command_ratios(const Facts& a, const Facts& b);

}  // namespace portcullis::light
