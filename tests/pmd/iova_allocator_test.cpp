// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/iova_allocator.hpp"

#include <gtest/gtest.h>

namespace portcullis::pmd {
namespace {

constexpr Iova kMiB = Iova{1} << 20;
constexpr Iova kFirst = 64 * kMiB;

/// Four windows of 2 MiB.
IovaAllocator four_windows() {
  IovaAllocator iovas;
  iovas.add(kFirst, kFirst + 8 * kMiB);
  return iovas;
}

TEST(IovaAllocatorTest, Addresses_AgreeWithTheOffsetModulo2MiB) {
  IovaAllocator iovas = four_windows();
  EXPECT_EQ(*iovas.allocate(0x7f12'3456'7000, 4096) % (2 * kMiB), 0x7f12'3456'7000 % (2 * kMiB));
}

TEST(IovaAllocatorTest, Windows_AreHandedOutFromTheBottom) {
  IovaAllocator iovas = four_windows();
  EXPECT_EQ(*iovas.allocate(0, 4096), kFirst);
  EXPECT_EQ(*iovas.allocate(0, 4096), kFirst + 2 * kMiB);
}

TEST(IovaAllocatorTest, MemoryAcrossAWindowsEnd_TakesTwo) {
  IovaAllocator iovas = four_windows();
  EXPECT_EQ(*iovas.allocate(2 * kMiB - 4096, 8192), kFirst + 2 * kMiB - 4096);
  EXPECT_EQ(*iovas.allocate(0, 4 * kMiB), kFirst + 4 * kMiB);
}

TEST(IovaAllocatorTest, ApertureOf64Bits_AddressesBelow47BitsFromTheBottom) {
  IovaAllocator iovas;
  iovas.add(0, ~Iova{0});
  EXPECT_EQ(*iovas.allocate(0, 4096), 2 * kMiB);
  EXPECT_FALSE(iovas.allocate(0, IovaAllocator::kEnd).has_value());
  const Iova rest = *iovas.allocate(0, IovaAllocator::kEnd - 4 * kMiB);
  EXPECT_EQ(rest, 4 * kMiB);
  EXPECT_FALSE(iovas.allocate(0, 4096).has_value());
}

TEST(IovaAllocatorTest, RangeAbove47Bits_GivesNothing) {
  IovaAllocator iovas;
  iovas.add(~Iova{0} - 8 * kMiB, ~Iova{0});
  iovas.add(IovaAllocator::kEnd, IovaAllocator::kEnd + 8 * kMiB);
  EXPECT_FALSE(iovas.allocate(0, 4096).has_value());
}

TEST(IovaAllocatorTest, WhenAllIsTaken_ThereIsNone) {
  IovaAllocator iovas = four_windows();
  ASSERT_TRUE(iovas.allocate(0, 8 * kMiB).has_value());
  EXPECT_FALSE(iovas.allocate(0, 1).has_value());
}

TEST(IovaAllocatorTest, ReleasedWindows_JoinAgainInAnyOrder) {
  IovaAllocator iovas = four_windows();
  const Iova a = *iovas.allocate(0, 2 * kMiB);
  const Iova b = *iovas.allocate(0, 2 * kMiB);
  const Iova c = *iovas.allocate(0, 2 * kMiB);
  const Iova d = *iovas.allocate(0, 2 * kMiB);
  iovas.release(b, 2 * kMiB);
  iovas.release(d, 2 * kMiB);
  iovas.release(c, 2 * kMiB);
  iovas.release(a, 2 * kMiB);
  EXPECT_EQ(*iovas.allocate(0, 8 * kMiB), kFirst);
}

TEST(IovaAllocatorTest, WhatIsNotReleased_IsNotHandedOutAgain) {
  IovaAllocator iovas = four_windows();
  const Iova kept = *iovas.allocate(0, 2 * kMiB);
  const Iova other = *iovas.allocate(0, 6 * kMiB);
  iovas.release(other, 6 * kMiB);
  EXPECT_FALSE(iovas.allocate(0, 8 * kMiB).has_value());
  EXPECT_GT(*iovas.allocate(0, 2 * kMiB), kept);
}

TEST(IovaAllocatorTest, IovaZero_IsNeverHandedOut) {
  IovaAllocator iovas;
  iovas.add(0, 4 * kMiB);
  EXPECT_EQ(*iovas.allocate(0, 4096), 2 * kMiB);
  EXPECT_FALSE(iovas.allocate(0, 4096).has_value());
}

TEST(IovaAllocatorTest, RangeSmallerThanAWindow_GivesNothing) {
  IovaAllocator iovas;
  iovas.add(kFirst + 1, kFirst + 2 * kMiB + 1);
  EXPECT_FALSE(iovas.allocate(0, 4096).has_value());
}

TEST(IovaAllocatorTest, ImpossibleSizes_AreRefused) {
  IovaAllocator iovas = four_windows();
  EXPECT_FALSE(iovas.allocate(0, 0).has_value());
  EXPECT_FALSE(iovas.allocate(0, ~std::uint64_t{0}).has_value());
}

}  // namespace
}  // namespace portcullis::pmd
