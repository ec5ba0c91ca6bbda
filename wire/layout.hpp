// SPDX-License-Identifier: BSD-3-Clause
//
// The one idiom for what crosses the lease protocol's wire. A layout lists a body's members in the
// order of their bytes, each with its offset; the compiler refuses a list that leaves a gap,
// overlaps or does not fill the body. Numbers are little-endian, at the widths of their members. A
// reserved byte is sent as 0, and a received one that is not 0 is told, never passed over.
//
//   struct RenewRequest { std::uint64_t id, epoch, ttl_ms; };
//   template <> inline constexpr auto kLayout<RenewRequest> = layout<24>(
//       field("id", 0, &RenewRequest::id), field("epoch", 8, &RenewRequest::epoch), ..);
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace portcullis::wire {

/// Bytes as such: addresses, text filled up with zeros.
template <std::size_t N>
using ByteArray = std::array<std::uint8_t, N>;

template <class T>
concept WireNumber = std::unsigned_integral<T> || std::is_enum_v<T>;

template <class T>
struct is_byte_array : std::false_type {};
template <std::size_t N>
struct is_byte_array<ByteArray<N>> : std::true_type {};
template <class T>
concept WireBytes = is_byte_array<T>::value;

template <class Body, class T>
struct Field {
  std::string_view name;
  std::size_t offset;
  T Body::*member;
  static constexpr std::size_t bytes = sizeof(T);
};

/// Sent as zeros.
struct Reserved {
  std::size_t offset;
  std::size_t bytes;
};

template <class Body, class T>
requires(WireNumber<T> || WireBytes<T>)
    [[nodiscard]] consteval Field<Body, T> field(std::string_view name, std::size_t offset,
                                                 T Body::*member) {
  return {name, offset, member};
}
[[nodiscard]] consteval Reserved reserved(std::size_t offset, std::size_t bytes) {
  return {offset, bytes};
}

template <std::size_t Bytes, class... Members>
struct Layout {
  static constexpr std::size_t bytes = Bytes;
  std::tuple<Members...> members;
};

namespace detail {
/// A layout that does not tile its body reaches this in a constant expression, and does not
/// compile.
void members_leave_a_gap_overlap_or_do_not_fill_the_body();
}  // namespace detail

template <std::size_t Bytes, class... Members>
[[nodiscard]] consteval Layout<Bytes, Members...> layout(Members... members) {
  std::size_t at = 0;
  const auto place = [&at](const auto& member) {
    if (member.offset != at) detail::members_leave_a_gap_overlap_or_do_not_fill_the_body();
    at += member.bytes;
  };
  (place(members), ...);
  if (at != Bytes) detail::members_leave_a_gap_overlap_or_do_not_fill_the_body();
  return {std::tuple<Members...>(members...)};
}

/// Specialised for every body.
template <class Body>
inline constexpr std::nullptr_t kLayout = nullptr;

template <class Body>
inline constexpr std::size_t kBytes = std::remove_cvref_t<decltype(kLayout<Body>)>::bytes;

namespace detail {

template <WireNumber T>
void put(std::byte* at, T value) noexcept {
  auto left = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i, left >>= 8)
    at[i] = static_cast<std::byte>(left & 0xff);
}
template <WireBytes T>
void put(std::byte* at, const T& value) noexcept {
  std::memcpy(at, value.data(), value.size());
}

template <WireNumber T>
void take(const std::byte* at, T& value) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) number = number << 8 | static_cast<std::uint8_t>(at[i]);
  value = static_cast<T>(number);
}
template <WireBytes T>
void take(const std::byte* at, T& value) noexcept {
  std::memcpy(value.data(), at, value.size());
}

}  // namespace detail

/// `to` has kBytes<Body> bytes.
template <class Body>
void encode(const Body& body, std::span<std::byte> to) noexcept {
  const auto put_one = [&](const auto& member) {
    if constexpr (requires { member.member; })
      detail::put(to.data() + member.offset, body.*(member.member));
    else
      std::memset(to.data() + member.offset, 0, member.bytes);
  };
  std::apply([&](const auto&... members) { (put_one(members), ...); }, kLayout<Body>.members);
}

/// `from` has kBytes<Body> bytes. None where a reserved byte is not 0.
template <class Body>
[[nodiscard]] std::optional<Body> decode(std::span<const std::byte> from) noexcept {
  Body body{};
  bool is_clean = true;
  const auto take_one = [&](const auto& member) {
    if constexpr (requires { member.member; }) {
      detail::take(from.data() + member.offset, body.*(member.member));
    } else {
      for (const std::byte each : from.subspan(member.offset, member.bytes))
        is_clean = is_clean && each == std::byte{0};
    }
  };
  std::apply([&](const auto&... members) { (take_one(members), ...); }, kLayout<Body>.members);
  if (!is_clean) return std::nullopt;
  return body;
}

}  // namespace portcullis::wire
