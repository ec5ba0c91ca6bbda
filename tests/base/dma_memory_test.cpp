// SPDX-License-Identifier: BSD-3-Clause
#include "base/dma_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/base/fake_dma_space.hpp"

namespace portcullis {
namespace {

using testing::FakeDmaSpace;
using ::testing::HasSubstr;
using ::testing::SizeIs;

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(DmaMemory, OneByte_TakesOneZeroedMappedPage) {
  FakeDmaSpace space;
  const auto memory = DmaMemory::create(space, 1);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->bytes().size(), kPageBytes);
  EXPECT_TRUE(all_zero(memory->bytes()));
  EXPECT_THAT(space.mapped, SizeIs(1));
}

TEST(DmaMemory, ZeroBytes_Refused) {
  FakeDmaSpace space;
  const auto memory = DmaMemory::create(space, 0);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Errc::InvalidArgument);
}

TEST(DmaMemory, MapRefused_ErrorPassedOn) {
  FakeDmaSpace space;
  space.refuse_map = true;
  const auto memory = DmaMemory::create(space, kPageBytes);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Errc::OutOfResources);
}

TEST(DmaMemory, Destroyed_Unmapped) {
  FakeDmaSpace space;
  { const auto memory = DmaMemory::create(space, 3 * kPageBytes); }
  EXPECT_THAT(space.mapped, SizeIs(0));
}

TEST(DmaMemory, MovedFrom_MappingLivesOnInTheOther) {
  FakeDmaSpace space;
  auto first = DmaMemory::create(space, kPageBytes);
  ASSERT_TRUE(first);
  const DmaMemory second = *std::move(first);
  EXPECT_TRUE(second.is_mapped());
  EXPECT_THAT(space.mapped, SizeIs(1));
}

TEST(DmaMemory, MoveAssigned_OldMappingGone) {
  FakeDmaSpace space;
  auto first = DmaMemory::create(space, kPageBytes);
  auto second = DmaMemory::create(space, kPageBytes);
  ASSERT_TRUE(first && second);
  *first = *std::move(second);
  EXPECT_THAT(space.mapped, SizeIs(1));
}

TEST(DmaMemory, RetiredAndDestroyed_AddressesNeverComeBack) {
  FakeDmaSpace space;
  auto memory = DmaMemory::create(space, kPageBytes);
  ASSERT_TRUE(memory);
  std::byte* const at = memory->bytes().data();
  ASSERT_TRUE(memory->retire());
  { const DmaMemory gone = *std::move(memory); }
  EXPECT_THAT(space.mapped, SizeIs(0));
  // Whoever maps at a hint that is taken gets another place.
  void* const again = mmap(at, kPageBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(again, at);
  munmap(again, kPageBytes);
}

TEST(DmaMemory, UnmappedTwice_SecondIsDone) {
  FakeDmaSpace space;
  auto memory = DmaMemory::create(space, kPageBytes);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->unmap());
  EXPECT_TRUE(memory->unmap());
  EXPECT_FALSE(memory->is_mapped());
}

TEST(DmaMemory, UnmapRefused_StaysMappedAndSaysSo) {
  FakeDmaSpace space;
  auto memory = DmaMemory::create(space, kPageBytes);
  ASSERT_TRUE(memory);
  space.refuse_unmap = true;
  const auto result = memory->unmap();
  EXPECT_FALSE(result);
  EXPECT_TRUE(memory->is_mapped());
  space.refuse_unmap = false;
}

TEST(DmaArena, Allocation_AlignedToItsSizeOnBothSides) {
  FakeDmaSpace space;
  DmaArena arena(space);
  const auto buffer = arena.allocate(1000);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->bytes().size(), 1024U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 1024, 0U);
  EXPECT_EQ(buffer->iova() % 1024, 0U);
}

TEST(DmaArena, SmallAllocations_ShareOneMapping) {
  FakeDmaSpace space;
  DmaArena arena(space);
  std::vector<DmaBuffer> buffers;
  std::generate_n(std::back_inserter(buffers), 512, [&] { return *arena.allocate(kPageBytes); });
  EXPECT_THAT(space.mapped, SizeIs(1));
  EXPECT_EQ(arena.bytes_in_use(), DmaArena::kBlockBytes);
}

TEST(DmaArena, BlockExhausted_TakesAnother) {
  FakeDmaSpace space;
  DmaArena arena(space);
  const auto first = arena.allocate(DmaArena::kBlockBytes);
  const auto second = arena.allocate(64);
  EXPECT_TRUE(first && second);
  EXPECT_THAT(space.mapped, SizeIs(2));
}

TEST(DmaArena, EverythingGivenBack_BuddiesMergeIntoAWholeBlock) {
  FakeDmaSpace space;
  DmaArena arena(space);
  {
    std::vector<DmaBuffer> buffers;
    std::generate_n(std::back_inserter(buffers), 100, [&] { return *arena.allocate(192); });
  }
  EXPECT_EQ(arena.bytes_in_use(), 0U);
  const auto whole = arena.allocate(DmaArena::kBlockBytes);
  EXPECT_TRUE(whole);
  EXPECT_THAT(space.mapped, SizeIs(1));
}

TEST(DmaArena, Reused_ZeroedAgain) {
  FakeDmaSpace space;
  DmaArena arena(space);
  {
    const auto dirty = arena.allocate(kPageBytes);
    ASSERT_TRUE(dirty);
    std::ranges::fill(dirty->bytes(), std::byte{0xa5});
  }
  const auto clean = arena.allocate(kPageBytes);
  ASSERT_TRUE(clean);
  EXPECT_TRUE(all_zero(clean->bytes()));
}

TEST(DmaArena, LiveBuffers_NeverOverlap) {
  FakeDmaSpace space;
  DmaArena arena(space);
  std::vector<DmaBuffer> buffers;
  for (const std::size_t bytes : {64U, 4096U, 100U, 65536U, 64U, 2048U})
    buffers.push_back(*arena.allocate(bytes));
  std::ranges::sort(buffers, {}, &DmaBuffer::data);
  const auto overlap = std::ranges::adjacent_find(
      buffers, [](const auto& a, const auto& b) { return a.data() + a.bytes().size() > b.data(); });
  EXPECT_EQ(overlap, buffers.end());
}

TEST(DmaArena, Quarantined_NeverHandedOutAgain) {
  FakeDmaSpace space;
  DmaArena arena(space);
  auto lost = arena.allocate(DmaArena::kBlockBytes);
  ASSERT_TRUE(lost);
  const std::byte* const at = lost->data();
  lost->quarantine();
  const auto next = arena.allocate(DmaArena::kBlockBytes);
  ASSERT_TRUE(next);
  EXPECT_NE(next->data(), at);
  EXPECT_EQ(arena.bytes_in_use(), 2 * DmaArena::kBlockBytes);
}

TEST(DmaArena, TooLarge_RefusedWithTheLimit) {
  FakeDmaSpace space;
  DmaArena arena(space);
  const auto buffer = arena.allocate(DmaArena::kBlockBytes + 1);
  ASSERT_FALSE(buffer);
  EXPECT_THAT(buffer.error().text, HasSubstr("2097152"));
}

TEST(DmaArena, Destroyed_NothingMapped) {
  FakeDmaSpace space;
  {
    DmaArena arena(space);
    const auto buffer = arena.allocate(64);
    ASSERT_TRUE(buffer);
  }
  EXPECT_THAT(space.mapped, SizeIs(0));
}

}  // namespace
}  // namespace portcullis
