// SPDX-License-Identifier: BSD-3-Clause
//
// The one idiom for everything the device sees. A layout lists its members in the interface's own
// order and spelling, each with its bit offset (from the most significant bit of byte 0, as
// include/linux/mlx5/mlx5_ifc.h counts) and width. The compiler refuses a list that leaves a gap or
// overlaps, a name the layout does not have, a constant too wide, a reserved range and a write to a
// read-only member; a run-time value too wide is an error, never cut.
//
//   struct destroy_mkey_in : Layout<"destroy_mkey_in", 0x80,
//       Field<"opcode", 0x00, 0x10>, Field<"uid", 0x10, 0x10>, Reserved<0x20, 0x10>,
//       Field<"op_mod", 0x30, 0x10>, Reserved<0x40, 0x08>, Field<"mkey_index", 0x48, 0x18>,
//       Reserved<0x60, 0x20>> {};
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace portcullis::prm {

/// A string as a template argument.
template <std::size_t N>
struct Name {
  consteval Name(const char (&s)[N]) { std::copy_n(s, N, text); }  // NOLINT(*-explicit-*)
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
  char text[N]{};
};

enum class MemberKind : std::uint8_t { Field, Bytes, Nested, Reserved };
enum class Access : std::uint8_t { ReadWrite, ReadOnly };

/// What the compiler and prm-dump know of one member. Offsets and widths in bits.
struct Member {
  std::string_view name;
  unsigned offset = 0;
  unsigned width = 0;
  MemberKind kind = MemberKind::Reserved;
  Access access = Access::ReadWrite;
  const Member* nested = nullptr;  // the nested layout's members
  std::size_t nested_count = 0;
};

/// A number of at most 32 bits inside one dword, or of 64 bits over two.
template <Name N, unsigned Offset, unsigned Width, Access A = Access::ReadWrite>
struct Field {
  static_assert((Width >= 1 && Offset / 32 == (Offset + Width - 1) / 32) ||
                    (Width == 64 && Offset % 32 == 0),
                "a field lies in one dword, or is 64 bits wide and dword aligned");
  static constexpr auto name = N;
  static constexpr Member member{name.view(), Offset, Width, MemberKind::Field, A};
};

template <Name N, unsigned Offset, unsigned Width>
using RoField = Field<N, Offset, Width, Access::ReadOnly>;

/// Whole bytes read and written as such: arrays, unions, inline data.
template <Name N, unsigned Offset, unsigned Width>
struct Bytes {
  static_assert(Offset % 8 == 0 && Width % 8 == 0 && Width > 0, "bytes are whole bytes");
  static constexpr auto name = N;
  static constexpr Member member{name.view(), Offset, Width, MemberKind::Bytes};
};

/// Another layout inside this one; its members are reached as "name.member".
template <Name N, unsigned Offset, class L>
struct Nested {
  static_assert(Offset % 32 == 0, "a nested layout starts at a dword");
  static constexpr auto name = N;
  static constexpr Member member{
      name.view(),       Offset,           L::bits, MemberKind::Nested, Access::ReadWrite,
      L::members.data(), L::members.size()};
};

template <unsigned Offset, unsigned Width>
struct Reserved {
  static constexpr Member member{{}, Offset, Width, MemberKind::Reserved};
};

/// True when the members stand in order, without gap or overlap, and fill `bits` exactly.
template <std::size_t N>
[[nodiscard]] consteval bool tiles(unsigned bits, const std::array<Member, N>& members) {
  unsigned at = 0;
  for (const Member& m : members) {
    if (m.offset != at) return false;
    at += m.width;
  }
  return at == bits;
}

/// Where a path leads; `found` false when nowhere.
struct Place {
  bool found = false;
  unsigned offset = 0;
  unsigned width = 0;
  MemberKind kind = MemberKind::Reserved;
  Access access = Access::ReadWrite;
};

[[nodiscard]] consteval Place place_of(const Member* members, std::size_t count,
                                       std::string_view path) {
  // Not path.find: under -fsanitize=undefined gcc 12 takes it for no constant expression.
  std::size_t dot = 0;
  while (dot < path.size() && path[dot] != '.') ++dot;
  const std::string_view head = path.substr(0, dot);
  for (std::size_t i = 0; i < count; ++i) {
    const Member& m = members[i];
    if (m.kind == MemberKind::Reserved || m.name != head) continue;
    if (dot == path.size()) return {true, m.offset, m.width, m.kind, m.access};
    if (m.kind != MemberKind::Nested) return {};
    Place inner = place_of(m.nested, m.nested_count, path.substr(dot + 1));
    inner.offset += m.offset;
    return inner;
  }
  return {};
}

template <Name N, unsigned Bits, class... Members>
struct Layout {
  static constexpr auto name = N;
  static constexpr unsigned bits = Bits;
  static constexpr std::size_t bytes = Bits / 8;
  static constexpr std::array<Member, sizeof...(Members)> members{Members::member...};
  static_assert(Bits % 32 == 0, "a layout is whole dwords");
  static_assert(tiles(Bits, members),
                "the members leave a gap, overlap, or do not fill the layout");
};

/// The place of `Path` in layout L, resolved by the compiler.
template <class L, Name Path>
inline constexpr Place place = place_of(L::members.data(), L::members.size(), Path.view());

template <class L, Name Path>
concept HasMember = (place<L, Path>.found);
template <class L, Name Path>
concept ReadableField = HasMember<L, Path> &&(place<L, Path>.kind == MemberKind::Field);
template <class L, Name Path>
concept WritableField = ReadableField<L, Path> &&(place<L, Path>.access == Access::ReadWrite);
template <class L, Name Path>
concept ByteRange = HasMember<L, Path> &&(place<L, Path>.kind != MemberKind::Field);

[[nodiscard]] constexpr std::uint64_t widest(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}
/// V is a number or an enumerator; a negative number never fits.
template <class L, Name Path, auto V>
concept Fits = (static_cast<std::uint64_t>(V) <= widest(place<L, Path>.width));

}  // namespace portcullis::prm
