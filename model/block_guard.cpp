// SPDX-License-Identifier: BSD-3-Clause
#include "model/block_guard.hpp"

#include <array>
#include <utility>

namespace portcullis::model {
namespace {

constexpr std::uint64_t kT10DifPolynomial = 0x8bb7;
constexpr std::uint64_t kCrc32Polynomial = 0x04c11db7;
// Bits reversed, as their registers are.
constexpr std::uint64_t kCrc32cPolynomial = 0x82f63b78;
constexpr std::uint64_t kCrc64Xp10Polynomial = 0x9a6c9329ac4bc9b5;
constexpr std::uint64_t kLow32 = 0xffffffff;

using Table = std::array<std::uint64_t, 256>;

consteval Table forward(unsigned width, std::uint64_t polynomial) {
  Table table{};
  const std::uint64_t top = std::uint64_t{1} << (width - 1);
  for (std::uint64_t byte = 0; byte < table.size(); ++byte) {
    std::uint64_t value = byte << (width - 8);
    for (int bit = 0; bit < 8; ++bit)
      value = (value & top) != 0 ? value << 1 ^ polynomial : value << 1;
    table[byte] = value & (top | (top - 1));
  }
  return table;
}

consteval Table reversed(std::uint64_t polynomial) {
  Table table{};
  for (std::uint64_t byte = 0; byte < table.size(); ++byte) {
    std::uint64_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1) != 0 ? value >> 1 ^ polynomial : value >> 1;
    table[byte] = value;
  }
  return table;
}

constexpr Table kT10Dif = forward(16, kT10DifPolynomial);
constexpr Table kCrc32 = forward(32, kCrc32Polynomial);
constexpr Table kCrc32c = reversed(kCrc32cPolynomial);
constexpr Table kCrc64Xp10 = reversed(kCrc64Xp10Polynomial);

template <unsigned Width>
std::uint64_t forward_over(const Table& table, std::uint64_t value,
                           std::span<const std::byte> data) noexcept {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << Width) - 1;
  for (const std::byte each : data)
    value = (value << 8 & kMask) ^
            table[(value >> (Width - 8) ^ std::to_integer<std::uint64_t>(each)) & 0xff];
  return value;
}

std::uint64_t reversed_over(const Table& table, std::uint64_t value,
                            std::span<const std::byte> data) noexcept {
  for (const std::byte each : data)
    value = value >> 8 ^ table[(value ^ std::to_integer<std::uint64_t>(each)) & 0xff];
  return value;
}

}  // namespace

BlockGuard::BlockGuard(GuardKind kind, std::uint64_t seed) noexcept : kind_(kind), register_(seed) {
  if (kind == GuardKind::Crc32) register_ = ~seed & kLow32;
}

void BlockGuard::add(std::span<const std::byte> data) noexcept {
  switch (kind_) {
    case GuardKind::T10DifCrc:
      register_ = forward_over<16>(kT10Dif, register_, data);
      return;
    case GuardKind::IpChecksum:
      return add_to_sum(data);
    case GuardKind::Crc32:
      register_ = forward_over<32>(kCrc32, register_, data);
      return;
    case GuardKind::Crc32c:
      register_ = reversed_over(kCrc32c, register_, data);
      return;
    case GuardKind::Crc64Xp10:
      register_ = reversed_over(kCrc64Xp10, register_, data);
      return;
  }
}

void BlockGuard::add_to_sum(std::span<const std::byte> data) noexcept {
  for (const std::byte each : data) {
    const auto byte = std::to_integer<std::uint64_t>(each);
    register_ += std::exchange(is_odd_, !is_odd_) ? byte : byte << 8;
  }
}

std::uint64_t BlockGuard::value() const noexcept {
  switch (kind_) {
    case GuardKind::T10DifCrc:
      return register_;
    case GuardKind::IpChecksum: {
      std::uint64_t sum = register_;
      while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
      return ~sum & 0xffff;
    }
    case GuardKind::Crc32:
    case GuardKind::Crc32c:
      return ~register_ & kLow32;
    case GuardKind::Crc64Xp10:
      return ~register_;
  }
  return 0;
}

}  // namespace portcullis::model
