// SPDX-License-Identifier: BSD-3-Clause
//
// Seeded numbers: SplitMix64 (Steele, Lea, Flood 2014). Small, takes any seed, the same everywhere.
#pragma once

#include <cstdint>

namespace portcullis::model {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// A number below `bound` (> 0).
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>((next() >> 32) * bound >> 32);
  }
  /// True once in 1 / `probability` times; always for 1, never for 0.
  [[nodiscard]] bool chance(double probability) noexcept {
    constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53: a double in [0, 1)
    return static_cast<double>(next() >> 11) * kUnit < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace portcullis::model
