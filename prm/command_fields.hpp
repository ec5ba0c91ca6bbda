// SPDX-License-Identifier: BSD-3-Clause
//
// A command's two messages as named numbers: every field that is not zero, by the kernel's name,
// with nested layouts flattened ("eq_context_entry.uar_page"). What no layout names is kept too, so
// that two messages with equal fields have equal bytes; only the notation differs:
//
//   pas.count, pas[3]         the array behind the layout: its length, and an entry
//   event_bitmask[0x1c]       four bytes of a long byte range, at this offset in the range
//   reserved[0x08]            the bits that no field covers in these four bytes of the message
//   dword[0x10], tail[0x20]   four bytes of a message without a layout, or behind one
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "prm/opcodes.hpp"

namespace portcullis::prm {

/// One number of a message. `value` is hexadecimal, but decimal for a count.
struct FieldValue {
  std::string name;
  std::string value;
  std::size_t offset = 0;  // of the first byte that it lies in
  std::size_t bytes = 0;   // that it touches
  unsigned width = 0;      // in bits
};

/// What a message says. Summary leaves the entries of an array to its count, and everything of a
/// message without a layout to its bytes.
enum class Detail : std::uint8_t { Summary, Full };

/// opcode and op_mod of an input, 0 where it is too short to have them.
[[nodiscard]] Opcode opcode_of(std::span<const std::byte> in);
[[nodiscard]] std::uint16_t op_mod_of(std::span<const std::byte> in);

/// The numbers of an input other than opcode and op_mod, by offset.
[[nodiscard]] std::vector<FieldValue> input_fields(std::span<const std::byte> in, Detail detail);
/// The numbers of the output that `in` asked for, other than status and syndrome.
[[nodiscard]] std::vector<FieldValue> output_fields(std::span<const std::byte> in,
                                                    std::span<const std::byte> out, Detail detail);

/// Bytes of the layout of a command's input or output, without an array behind it; 0 when prm/ has
/// none.
[[nodiscard]] std::size_t input_layout_bytes(Opcode opcode);
[[nodiscard]] std::size_t output_layout_bytes(Opcode opcode);

}  // namespace portcullis::prm
