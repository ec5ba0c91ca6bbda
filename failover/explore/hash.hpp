// SPDX-License-Identifier: BSD-3-Clause
//
// A 64-bit fingerprint of a packed state. For given upper words it is a permutation of the first
// word: fingerprint and upper words together say which state it is, and a set needs no first words.
// Multiplication to 128 bits and folding (as in wyhash) mixes the upper words, multiplication and
// shifting (as in MurmurHash3's finalizer, which can be undone) the first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "failover/semantics/packed.hpp"

namespace portcullis::failover {

__extension__ using Wide = unsigned __int128;

[[nodiscard]] inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// A permutation in which every bit depends on every bit.
[[nodiscard]] inline std::uint64_t permuted(std::uint64_t bits) noexcept {
  bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdU;
  bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53U;
  return bits ^ bits >> 33;
}

/// The seed selects another function of the family.
template <unsigned kWords>
[[nodiscard]] std::uint64_t fingerprint(const State<kWords>& state, std::uint64_t seed) noexcept {
  // Odd constants with balanced bits, from the digits of sqrt(2) and sqrt(3).
  constexpr std::uint64_t kA = 0x6a09e667f3bcc909U;
  constexpr std::uint64_t kB = 0xbb67ae8584caa73bU;
  std::uint64_t upper = seed * kB;
  for (unsigned i = 1; i < kWords; ++i) upper = fold(state.words[i] ^ kA ^ upper, kB);
  return permuted(state.words[0] ^ upper);
}

}  // namespace portcullis::failover
