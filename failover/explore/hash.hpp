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

/// Two words a multiplication, and one more to mix the last.
template <unsigned kWords>
[[nodiscard]] std::uint64_t fingerprint(const State<kWords>& state, std::uint64_t seed) noexcept {
  // Odd constants with balanced bits, from the digits of sqrt(2), sqrt(3) and sqrt(5).
  constexpr std::uint64_t kA = 0x6a09e667f3bcc909U;
  constexpr std::uint64_t kB = 0xbb67ae8584caa73bU;
  constexpr std::uint64_t kC = 0x3c6ef372fe94f82bU;
  std::uint64_t hash = fold(seed ^ kA, kC);
  for (unsigned i = 0; i + 1 < kWords; i += 2)
    hash = fold(state.words[i] ^ kA ^ hash, state.words[i + 1] ^ kB);
  if (kWords % 2 == 1) hash = fold(state.words[kWords - 1] ^ kA ^ hash, kB);
  return fold(hash ^ kB, kC);
}

}  // namespace portcullis::failover
