// SPDX-License-Identifier: BSD-3-Clause
//
// How long messages took: percentiles, all together and by size, beside what the same messages need
// when nothing else is in the fabric.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/histogram.hpp"
#include "pfc/packet/options.hpp"

namespace portcullis::pfc::packet {

struct Completions {
  std::uint64_t up_to_bytes = 0;  // of messages counted here; 0: all sizes
  std::uint64_t messages = 0;     // that were to start before the end of the run
  Histogram took;                 // of those that have all arrived, ns
  Histogram slowdown;             // times 1000, likewise
};

/// All sizes, then those up to 10 KB, 100 KB, 1 MB and the rest, as far as there are any.
[[nodiscard]] std::vector<Completions> completions(const RunOptions& options,
                                                   const RunReport& report);

/// A percentile is told of 1 / (1 - q) messages at least, and the greatest of any.
[[nodiscard]] std::string completions_text(const RunOptions& options, const RunReport& report);
[[nodiscard]] nlohmann::ordered_json completions_json(const RunOptions& options,
                                                      const RunReport& report);

}  // namespace portcullis::pfc::packet
