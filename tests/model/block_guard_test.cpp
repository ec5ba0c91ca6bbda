// SPDX-License-Identifier: BSD-3-Clause
//
// Check values against numbers that others published: the catalogue of parametrised CRC algorithms
// (reveng.sourceforge.io) for "123456789", RFC 3720 and RFC 1071, the NVM command set, and what
// cards printed in the examples of Mellanox/hw_offload_api_examples.
#include "model/block_guard.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace portcullis::model {
namespace {

constexpr std::uint64_t kOnes32 = 0xffffffff;
constexpr std::uint64_t kOnes64 = ~std::uint64_t{0};

std::vector<std::byte> text(std::string_view digits) {
  std::vector<std::byte> bytes;
  for (const char digit : digits) bytes.push_back(static_cast<std::byte>(digit));
  return bytes;
}

std::vector<std::byte> filled(std::size_t count, unsigned value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

std::uint64_t guard(GuardKind kind, std::uint64_t seed, std::span<const std::byte> data) {
  BlockGuard guard(kind, seed);
  guard.add(data);
  return guard.value();
}

TEST(BlockGuard, T10DifOfTheCatalogue) {
  EXPECT_EQ(guard(GuardKind::T10DifCrc, 0, text("123456789")), 0xd0dbU);
}

TEST(BlockGuard, T10DifFromAllOnes_IsWhatTheCardsExampleHas) {
  EXPECT_EQ(guard(GuardKind::T10DifCrc, 0xffff, filled(512, 0xa5)), 0xec7dU);
}

TEST(BlockGuard, IpChecksumOfRfc1071) {
  const std::vector<std::byte> data{std::byte{0x00}, std::byte{0x01}, std::byte{0xf2},
                                    std::byte{0x03}, std::byte{0xf4}, std::byte{0xf5},
                                    std::byte{0xf6}, std::byte{0xf7}};
  EXPECT_EQ(guard(GuardKind::IpChecksum, 0, data), 0xffffU - 0xddf2U);
}

TEST(BlockGuard, IpChecksumInOddParts_IsThatOfTheWhole) {
  const std::vector<std::byte> data = text("123456789a");
  BlockGuard parts(GuardKind::IpChecksum, 0);
  parts.add(std::span(data).first(3));
  parts.add(std::span(data).subspan(3, 4));
  parts.add(std::span(data).subspan(7));
  EXPECT_EQ(parts.value(), guard(GuardKind::IpChecksum, 0, data));
}

TEST(BlockGuard, Crc32FromZero_IsBzip2sOfTheCatalogue) {
  EXPECT_EQ(guard(GuardKind::Crc32, 0, text("123456789")), 0xfc891918U);
}

TEST(BlockGuard, Crc32FromAllOnes_IsWhatACardPrinted) {
  EXPECT_EQ(guard(GuardKind::Crc32, kOnes32, filled(512, 1)), 0x15d286f7U);
  EXPECT_EQ(guard(GuardKind::Crc32, kOnes32, text("123456789")), 0x765e7680U);  // CRC-32/CKSUM
}

TEST(BlockGuard, Crc32cOfTheCatalogueAndOfRfc3720) {
  EXPECT_EQ(guard(GuardKind::Crc32c, kOnes32, text("123456789")), 0xe3069283U);
  EXPECT_EQ(guard(GuardKind::Crc32c, kOnes32, filled(32, 0)), 0x8a9136aaU);
  EXPECT_EQ(guard(GuardKind::Crc32c, kOnes32, filled(32, 0xff)), 0x62a8ab43U);
}

TEST(BlockGuard, Crc64OfTheCatalogueAndOfNvme) {
  EXPECT_EQ(guard(GuardKind::Crc64Xp10, kOnes64, text("123456789")), 0xae8b14860a799888U);
  EXPECT_EQ(guard(GuardKind::Crc64Xp10, kOnes64, filled(4096, 0)), 0x6482d367eb22b64eU);
  EXPECT_EQ(guard(GuardKind::Crc64Xp10, kOnes64, filled(4096, 0xff)), 0xc0ddba7302eca3acU);
}

}  // namespace
}  // namespace portcullis::model
