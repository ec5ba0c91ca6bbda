// SPDX-License-Identifier: BSD-3-Clause
//
// Reading and writing memory through a layout: View and ConstView over somebody's bytes, Buffer for
// a message of one's own, Registers over a BAR. See prm/layout.hpp for what the compiler refuses.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include "base/cells.hpp"
#include "prm/layout.hpp"

namespace portcullis::prm {

namespace detail {

[[nodiscard]] inline std::uint32_t load_dword(const std::byte* at) noexcept {
  std::uint32_t raw;
  std::memcpy(&raw, at, sizeof raw);
  return cells::be32(raw);
}

inline void store_dword(std::byte* at, std::uint32_t value) noexcept {
  const std::uint32_t raw = cells::be32(value);
  std::memcpy(at, &raw, sizeof raw);
}

template <Place P>
inline constexpr std::size_t dword_byte = P.offset / 32 * 4;
template <Place P>
inline constexpr unsigned shift = P.width == 64 ? 0 : 32 - P.width - P.offset % 32;

template <Place P>
[[nodiscard]] inline auto get(const std::byte* base) noexcept {
  if constexpr (P.width == 64) {
    std::uint64_t raw;
    std::memcpy(&raw, base + dword_byte<P>, sizeof raw);
    return cells::be64(raw);
  } else {
    return (load_dword(base + dword_byte<P>) >>
            shift<P>)&static_cast<std::uint32_t>(widest(P.width));
  }
}

/// `value` must fit.
template <Place P>
inline void put(std::byte* base, std::uint64_t value) noexcept {
  if constexpr (P.width == 64) {
    const std::uint64_t raw = cells::be64(value);
    std::memcpy(base + dword_byte<P>, &raw, sizeof raw);
  } else if constexpr (P.width == 32) {
    store_dword(base + dword_byte<P>, static_cast<std::uint32_t>(value));
  } else {
    constexpr auto mask = static_cast<std::uint32_t>(widest(P.width) << shift<P>);
    std::byte* at = base + dword_byte<P>;
    store_dword(at, (load_dword(at) & ~mask) | static_cast<std::uint32_t>(value << shift<P>));
  }
}

template <class T>
struct Unsigned {
  using type = T;
};
template <class T>
requires std::is_enum_v<T>
struct Unsigned<T> {
  using type = std::underlying_type_t<T>;
};

}  // namespace detail

/// T is unsigned, or an enum over an unsigned type, and none of its values exceeds the field.
template <class L, Name Path, class T>
concept NeverTooWide =
    std::unsigned_integral<typename detail::Unsigned<T>::type> &&
    std::numeric_limits<typename detail::Unsigned<T>::type>::digits <= place<L, Path>.width;

/// Read access to L::bytes bytes that somebody else owns.
template <class L>
class ConstView {
 public:
  explicit constexpr ConstView(std::span<const std::byte, L::bytes> bytes) noexcept
      : base_(bytes.data()) {}
  /// `bytes` must hold at least L::bytes from `offset` on; the caller has checked.
  static ConstView at(std::span<const std::byte> bytes, std::size_t offset = 0) noexcept {
    return ConstView(bytes.subspan(offset).template first<L::bytes>());
  }

  /// The field's value in host order; 32 bits, or 64 for a 64-bit field.
  template <Name Path>
  requires ReadableField<L, Path>
  [[nodiscard]] auto get() const noexcept { return detail::get<place<L, Path>>(base_); }
  /// The bytes of an array, a union or a nested layout.
  template <Name Path>
  requires ByteRange<L, Path>
  [[nodiscard]] auto bytes() const noexcept {
    constexpr Place p = place<L, Path>;
    return std::span<const std::byte, p.width / 8>(base_ + p.offset / 8, p.width / 8);
  }
  [[nodiscard]] std::span<const std::byte, L::bytes> all() const noexcept {
    return std::span<const std::byte, L::bytes>(base_, L::bytes);
  }

 private:
  const std::byte* base_;
};

/// Read and write access to L::bytes bytes that somebody else owns.
template <class L>
class View {
 public:
  explicit constexpr View(std::span<std::byte, L::bytes> bytes) noexcept : base_(bytes.data()) {}
  static View at(std::span<std::byte> bytes, std::size_t offset = 0) noexcept {
    return View(bytes.subspan(offset).template first<L::bytes>());
  }
  operator ConstView<L>() const noexcept {  // NOLINT(*-explicit-*): a view reads as a const view
    return ConstView<L>(std::span<const std::byte, L::bytes>(base_, L::bytes));
  }

  template <Name Path>
  requires ReadableField<L, Path>
  [[nodiscard]] auto get() const noexcept { return detail::get<place<L, Path>>(base_); }
  /// A constant, checked by the compiler.
  template <Name Path, auto V>
  requires WritableField<L, Path> && Fits<L, Path, V>
  void set() const noexcept { detail::put<place<L, Path>>(base_, static_cast<std::uint64_t>(V)); }
  /// A run-time value of a type that the field is wide enough for.
  template <Name Path, class T>
  requires WritableField<L, Path> && NeverTooWide<L, Path, T>
  void put(T value) const noexcept {
    detail::put<place<L, Path>>(base_, static_cast<std::uint64_t>(value));
  }
  /// A run-time value; false, and nothing written, when it is too wide.
  template <Name Path>
  requires WritableField<L, Path>
  [[nodiscard]] bool try_set(std::uint64_t value) const noexcept {
    if (value > widest(place<L, Path>.width)) return false;
    detail::put<place<L, Path>>(base_, value);
    return true;
  }
  template <Name Path>
  requires ByteRange<L, Path>
  [[nodiscard]] auto bytes() const noexcept {
    constexpr Place p = place<L, Path>;
    return std::span<std::byte, p.width / 8>(base_ + p.offset / 8, p.width / 8);
  }
  [[nodiscard]] std::span<std::byte, L::bytes> all() const noexcept {
    return std::span<std::byte, L::bytes>(base_, L::bytes);
  }

 private:
  std::byte* base_;
};

/// A zeroed message of one's own. put() of a value too wide is remembered, and whoever sends the
/// message asks overflow() first (pmd::CommandChannel does).
template <class L>
class Buffer {
 public:
  using layout = L;

  template <Name Path>
  requires ReadableField<L, Path>
  [[nodiscard]] auto get() const noexcept { return detail::get<place<L, Path>>(bytes_.data()); }
  template <Name Path, auto V>
  requires WritableField<L, Path> && Fits<L, Path, V> Buffer& set() noexcept {
    detail::put<place<L, Path>>(bytes_.data(), static_cast<std::uint64_t>(V));
    return *this;
  }
  template <Name Path>
  requires WritableField<L, Path> Buffer& put(std::uint64_t value) noexcept {
    if (value > widest(place<L, Path>.width)) {
      overflow_ = kPathText<Path>.text;
    } else {
      detail::put<place<L, Path>>(bytes_.data(), value);
    }
    return *this;
  }
  /// An enumerator, as the number it stands for.
  template <Name Path, class E>
  requires WritableField<L, Path> && std::is_enum_v<E> Buffer& put(E value) noexcept {
    return put<Path>(static_cast<std::uint64_t>(value));
  }
  template <Name Path>
  requires ByteRange<L, Path>
  [[nodiscard]] auto bytes() noexcept {
    constexpr Place p = place<L, Path>;
    return std::span<std::byte, p.width / 8>(bytes_.data() + p.offset / 8, p.width / 8);
  }
  template <Name Path>
  requires ByteRange<L, Path>
  [[nodiscard]] auto bytes() const noexcept {
    constexpr Place p = place<L, Path>;
    return std::span<const std::byte, p.width / 8>(bytes_.data() + p.offset / 8, p.width / 8);
  }
  [[nodiscard]] std::span<std::byte, L::bytes> all() noexcept { return bytes_; }
  [[nodiscard]] std::span<const std::byte, L::bytes> all() const noexcept { return bytes_; }
  [[nodiscard]] View<L> view() noexcept { return View<L>(all()); }
  /// The path of the last value that did not fit, or null.
  [[nodiscard]] const char* overflow() const noexcept { return overflow_; }

 private:
  template <Name Path>
  static constexpr auto kPathText = Path;

  alignas(8) std::array<std::byte, L::bytes> bytes_{};
  const char* overflow_ = nullptr;
};

/// Registers in a BAR: every access is one atomic dword, big-endian. A field narrower than its
/// dword is read-only here; a write sets a whole dword.
template <class L>
class Registers {
 public:
  /// `bar` must hold at least L::bytes.
  explicit Registers(std::span<std::byte> bar) noexcept : base_(bar.first(L::bytes).data()) {}

  template <Name Path>
  requires ReadableField<L, Path> &&(place<L, Path>.width <= 32) [[nodiscard]] std::uint32_t
      get() const noexcept {
    constexpr Place p = place<L, Path>;
    const auto raw = cells::load_acquire<std::uint32_t>(base_ + detail::dword_byte<p>);
    return (cells::be32(raw) >> detail::shift<p>)&static_cast<std::uint32_t>(widest(p.width));
  }
  template <Name Path>
  requires WritableField<L, Path> &&
      (place<L, Path>.width == 32) void write(std::uint32_t value) const noexcept {
    cells::ring<std::uint32_t>(base_ + place<L, Path>.offset / 8, cells::be32(value));
  }
  /// The cell itself, for the side that stands behind the registers.
  template <Name Path>
  requires ReadableField<L, Path>
  [[nodiscard]] std::byte* cell() const noexcept {
    return base_ + detail::dword_byte<place<L, Path>>;
  }

 private:
  std::byte* base_;
};

}  // namespace portcullis::prm
