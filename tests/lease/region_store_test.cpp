// SPDX-License-Identifier: BSD-3-Clause
//
// What a region store keeps for the next grant, and what it must not keep: memory that the device
// may still reach.
#include "lease/region_store.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/dma_bytes.hpp"
#include "tests/base/fake_dma_space.hpp"

namespace portcullis::lease {
namespace {

constexpr TenantId kTenant = 7;

TEST(RegionStoreTest, UnmappedRegionGivenBack_IsKept) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {});
  auto region = store.take(kTenant, kPageBytes);
  ASSERT_TRUE(region) << region.error().text;
  ASSERT_TRUE(region->unmap());

  store.give_back(kTenant, *std::move(region));

  EXPECT_EQ(store.kept_bytes(), kPageBytes);
}

TEST(RegionStoreTest, MappedRegionGivenBack_IsNotKept) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {});
  auto region = store.take(kTenant, kPageBytes);
  ASSERT_TRUE(region) << region.error().text;

  store.give_back(kTenant, *std::move(region));

  EXPECT_EQ(store.kept_bytes(), 0U);
}

/// The next of that size gets it, but only where the device can reach it.
TEST(RegionStoreTest, KeptRegionThatCannotBeMapped_IsNotGivenAndIsKept) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {});
  auto region = store.take(kTenant, kPageBytes);
  ASSERT_TRUE(region->unmap());
  store.give_back(kTenant, *std::move(region));
  EXPECT_TRUE(store.scrub());
  EXPECT_FALSE(store.scrub());
  space.refuse_map = true;
  EXPECT_EQ(store.take(kTenant, kPageBytes).error().code, Errc::OutOfResources);
  EXPECT_EQ(store.kept_bytes(), kPageBytes);
  EXPECT_EQ(store.bytes_of(kTenant), 0U);
  space.refuse_map = false;
  const auto again = store.take(kTenant, kPageBytes);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_TRUE(again->is_mapped());
  EXPECT_EQ(store.kept_bytes(), 0U);
}

TEST(RegionStoreTest, RegionsGivenBackBeyondWhatIsKept_GoToTheSystem) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {.keep_bytes = kPageBytes});
  auto one = store.take(kTenant, kPageBytes);
  auto other = store.take(kTenant, kPageBytes);
  ASSERT_TRUE(one->unmap() && other->unmap());
  store.give_back(kTenant, *std::move(one));
  store.give_back(kTenant, *std::move(other));
  EXPECT_EQ(store.kept_bytes(), kPageBytes);
  EXPECT_EQ(store.bytes_of(kTenant), 0U);
}

TEST(RegionStoreTest, RegionThatIsGrantedAgain_IsZeroFromEndToEnd) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {});
  constexpr std::size_t kBytes = 2 * RegionStore::kScrubBytes;
  auto region = store.take(kTenant, kBytes);
  dma_fill(region->bytes(), std::byte{0xee});
  ASSERT_TRUE(region->unmap());
  store.give_back(kTenant, *std::move(region));
  EXPECT_TRUE(store.scrub());
  EXPECT_TRUE(store.scrub());
  EXPECT_FALSE(store.scrub());
  const auto again = store.take(kTenant, kBytes).value();
  EXPECT_EQ(dma_peek_u64(again.bytes().data()), 0U);
  EXPECT_EQ(dma_peek_u64(again.bytes().data() + kBytes - 8), 0U);
  EXPECT_EQ(store.kept_bytes(), 0U);
}

TEST(RegionStoreTest, TwoOfOneSizeKept_BothAreGivenAgainAndTheThirdIsNew) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {});
  std::set<const std::byte*> before;
  auto one = store.take(kTenant, kPageBytes);
  auto other = store.take(kTenant, kPageBytes);
  for (const auto* region : {&one, &other}) before.insert((*region)->bytes().data());
  ASSERT_TRUE(one->unmap() && other->unmap());
  store.give_back(kTenant, *std::move(one));
  store.give_back(kTenant, *std::move(other));
  EXPECT_TRUE(store.scrub() && store.scrub());
  const auto first = store.take(kTenant, kPageBytes);
  const auto second = store.take(kTenant, kPageBytes);
  const auto third = store.take(kTenant, kPageBytes);
  const std::set<const std::byte*> again{first->bytes().data(), second->bytes().data()};
  EXPECT_EQ(again, before);
  EXPECT_TRUE(third->is_mapped());
  EXPECT_EQ(store.kept_bytes(), 0U);
}

TEST(RegionStoreTest, OneOfTwoGivenBack_TheOtherIsStillCharged) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {.tenant_quota_bytes = 3 * kPageBytes});
  auto one = store.take(kTenant, kPageBytes);
  const auto other = store.take(kTenant, 2 * kPageBytes);
  ASSERT_TRUE(one->unmap());
  store.give_back(kTenant, *std::move(one));
  EXPECT_EQ(store.bytes_of(kTenant), 2 * kPageBytes);
  EXPECT_FALSE(store.take(kTenant, 2 * kPageBytes));
}

TEST(RegionStoreTest, MoreBytesThanThereAre_RefusedByTheirNumber) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {});
  const auto region = store.take(kTenant, ~std::uint64_t{0});
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().text,
            "a lease of 18446744073709551615 bytes; less than 2^64 - 4096 expected");
}

TEST(RegionStoreTest, QuotaThatIsNearlyUsed_AdmitsTheRestAndNotAPageMore) {
  portcullis::testing::FakeDmaSpace space;
  RegionStore store(space, {.tenant_quota_bytes = 3 * kPageBytes});
  const auto first = store.take(kTenant, kPageBytes + 1);
  EXPECT_EQ(store.bytes_of(kTenant), 2 * kPageBytes);
  EXPECT_EQ(store.take(kTenant, kPageBytes + 1).error().code, Errc::OutOfResources);
  EXPECT_TRUE(store.take(kTenant, kPageBytes));
  EXPECT_TRUE(store.take(kTenant + 1, 3 * kPageBytes));
  EXPECT_EQ(store.take(kTenant, 1).error().code, Errc::OutOfResources);
}

}  // namespace
}  // namespace portcullis::lease
