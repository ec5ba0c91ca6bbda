// SPDX-License-Identifier: BSD-3-Clause
//
// What nobody may foretell: names of leases and first PSNs. From the system's generator, so that a
// thousand of them say nothing of the next; from a seed where a run must be repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "base/result.hpp"

namespace portcullis::lease {

class RandomSource {
 public:
  /// 0: from the system.
  explicit RandomSource(std::uint64_t seed) {
    if (seed != 0) seeded_.emplace(seed);
  }
  /// 64 bits. System when the system's generator cannot be had.
  [[nodiscard]] Result<std::uint64_t> draw();

 private:
  std::optional<std::mt19937_64> seeded_;
};

}  // namespace portcullis::lease
