// SPDX-License-Identifier: BSD-3-Clause
//
// A 64-bit fingerprint of a packed state. Multiplication to 128 bits and folding (as in wyhash)
// mixes every input bit into every output bit; the seed selects another function of the family.
#pragma once

#include <cstddef>
#include <cstdint>

#include "failover/semantics/packed.hpp"

namespace portcullis::failover {

[[nodiscard]] inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <unsigned kWords>
[[nodiscard]] std::uint64_t fingerprint(const State<kWords>& state, std::uint64_t seed) noexcept {
  // Odd constants with balanced bits, from the digits of sqrt(2), sqrt(3) and sqrt(5).
  constexpr std::uint64_t kA = 0x6a09e667f3bcc909U;
  constexpr std::uint64_t kB = 0xbb67ae8584caa73bU;
  constexpr std::uint64_t kC = 0x3c6ef372fe94f82bU;
  std::uint64_t hash = fold(seed ^ kA, kB);
  for (unsigned i = 0; i < kWords; ++i)
    hash = fold(state.words[i] ^ hash, kC + 2 * i) ^ (state.words[i] * kB);
  return fold(hash ^ kB, kA);
}

}  // namespace portcullis::failover
