// SPDX-License-Identifier: BSD-3-Clause
//
// A second encoder for command messages, written without prm/: bit offsets come from the installed
// mlx5_ifc.h, and a message is compared as a whole, so a field too many fails as one too few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/pmd/ifc_fields.h"

namespace portcullis::testing {

class IfcMessage {
 public:
  IfcMessage(std::string layout, std::size_t bytes) : layout_(std::move(layout)), bytes_(bytes) {}

  IfcMessage& put(std::string_view field, std::uint64_t value) {
    const ifc_field& place = find(field);
    for (unsigned i = 0; i < place.width; ++i)
      put_bit(place.offset + i, value >> (place.width - 1 - i) & 1);
    return *this;
  }
  /// An array of bytes.
  IfcMessage& put(std::string_view field, std::span<const std::byte> value) {
    const ifc_field& place = find(field);
    for (unsigned i = 0; i < place.width; ++i)
      put_bit(place.offset + i, static_cast<unsigned>(value[i / 8]) >> (7 - i % 8) & 1);
    return *this;
  }
  IfcMessage& set_byte(std::size_t at, std::uint8_t value) {
    bytes_.at(at) = static_cast<std::byte>(value);
    return *this;
  }
  /// The list behind the fixed part.
  IfcMessage& append(std::uint64_t word) {
    for (int shift = 56; shift >= 0; shift -= 8)
      bytes_.push_back(static_cast<std::byte>(word >> shift));
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  /// The same, as the kernel's structures have it.
  [[nodiscard]] std::vector<std::uint8_t> octets() const {
    std::vector<std::uint8_t> all;
    for (const std::byte b : bytes_) all.push_back(std::to_integer<std::uint8_t>(b));
    return all;
  }

  /// Reads "layout.field" out of somebody's message.
  [[nodiscard]] static std::uint64_t read(std::string_view name, std::span<const std::byte> bytes) {
    const ifc_field& place = find_row(name);
    std::uint64_t value = 0;
    for (unsigned bit = place.offset; bit < place.offset + place.width; ++bit)
      value = value << 1 | (static_cast<unsigned>(bytes[bit / 8]) >> (7 - bit % 8) & 1);
    return value;
  }

 private:
  [[nodiscard]] static const ifc_field& find_row(std::string_view name) {
    for (const ifc_field* const* table = ifc_tables; *table != nullptr; ++table)
      for (const ifc_field* row = *table; row->name != nullptr; ++row)
        if (name == row->name) return *row;
    throw std::out_of_range(std::string(name));
  }
  [[nodiscard]] const ifc_field& find(std::string_view field) const {
    return find_row(layout_ + "." + std::string(field));
  }
  void put_bit(unsigned bit, std::uint64_t value) {
    const auto mask = static_cast<std::byte>(0x80u >> bit % 8);
    std::byte& at = bytes_.at(bit / 8);
    at = value != 0 ? at | mask : at & ~mask;
  }

  std::string layout_;
  std::vector<std::byte> bytes_;
};

}  // namespace portcullis::testing
