// SPDX-License-Identifier: BSD-3-Clause
//
// A state of the system in one to eight machine words, and the fields inside. A field never
// straddles two words, so reading one is a shift and a mask.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace portcullis::failover {

inline constexpr unsigned kMaxStateWords = 8;

/// Where a field lies. Of width 0: a field that no state of this machine needs; it reads 0.
struct Field {
  std::uint8_t word = 0;
  std::uint8_t shift = 0;
  std::uint8_t width = 0;
  std::uint64_t mask = 0;  // of `width` ones, not shifted

  [[nodiscard]] bool exists() const noexcept { return width != 0; }
};

/// The bits that hold 0 .. greatest.
[[nodiscard]] constexpr unsigned bits_for(std::uint64_t greatest) noexcept {
  return static_cast<unsigned>(std::bit_width(greatest));
}

template <unsigned kWords>
struct State {
  std::array<std::uint64_t, kWords> words{};

  [[nodiscard]] std::uint64_t get(const Field& field) const noexcept {
    return (words[field.word] >> field.shift) & field.mask;
  }
  void set(const Field& field, std::uint64_t value) noexcept {
    std::uint64_t& word = words[field.word];
    word = (word & ~(field.mask << field.shift)) | ((value & field.mask) << field.shift);
  }
  /// Written out: the default one calls memcmp, which costs more than the comparison.
  friend bool operator==(const State& a, const State& b) noexcept {
    std::uint64_t differences = 0;
    for (unsigned i = 0; i < kWords; ++i) differences |= a.words[i] ^ b.words[i];
    return differences == 0;
  }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 reads the default's `< 0` as a pointer.
  friend auto operator<=>(const State&, const State&) = default;
};

/// A state of whatever size, for tests, traces and charts.
using AnyState = State<kMaxStateWords>;

template <unsigned kWords>
[[nodiscard]] AnyState widen(const State<kWords>& state) noexcept {
  AnyState wide;
  for (unsigned i = 0; i < kWords; ++i) wide.words[i] = state.words[i];
  return wide;
}

}  // namespace portcullis::failover
