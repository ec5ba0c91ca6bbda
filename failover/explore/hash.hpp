// SPDX-License-Identifier: BSD-3-Clause
//
// A 64-bit fingerprint of a packed state. For given upper words it is a permutation of the first
// word: fingerprint and upper words together say which state it is, and a set needs no first words.
// A state of fewer bits than a word has a fingerprint of as many, in the leading bits of a word.
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

/// Which bits a fingerprint is made of: the leading ones, of a word that holds a state's first
/// bits.
class Domain {
 public:
  /// `bits` from 1 to 64.
  explicit constexpr Domain(unsigned bits) noexcept
      : unused_(64 - bits), half_((bits + 1) / 2), mask_(~std::uint64_t{0} << unused_) {}

  [[nodiscard]] constexpr unsigned unused() const noexcept { return unused_; }
  /// A permutation of the words of so many bits, in which every bit depends on every bit:
  /// multiplication carries to the left, shifting by half of the bits brings it back.
  [[nodiscard]] constexpr std::uint64_t permuted(std::uint64_t word) const noexcept {
    std::uint64_t bits = word << unused_;
    bits = (bits ^ (bits >> half_ & mask_)) * 0xff51afd7ed558ccdU;
    bits = (bits ^ (bits >> half_ & mask_)) * 0xc4ceb9fe1a85ec53U;
    return bits ^ (bits >> half_ & mask_);
  }

 private:
  unsigned unused_, half_;
  std::uint64_t mask_;
};

/// The seed selects another function of the family. Of states of several words `domain` is all 64
/// bits.
template <unsigned kWords>
[[nodiscard]] std::uint64_t fingerprint(const State<kWords>& state, std::uint64_t seed,
                                        const Domain& domain = Domain(64)) noexcept {
  // Odd constants with balanced bits, from the digits of sqrt(2) and sqrt(3).
  constexpr std::uint64_t kA = 0x6a09e667f3bcc909U;
  constexpr std::uint64_t kB = 0xbb67ae8584caa73bU;
  std::uint64_t upper = seed * kB;
  for (unsigned i = 1; i < kWords; ++i) upper = fold(state.words[i] ^ kA ^ upper, kB);
  return domain.permuted(state.words[0] ^ upper);
}

}  // namespace portcullis::failover
