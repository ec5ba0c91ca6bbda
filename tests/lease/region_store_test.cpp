// SPDX-License-Identifier: BSD-3-Clause
//
// What a region store keeps for the next grant, and what it must not keep: memory that the device
// may still reach.
#include "lease/region_store.hpp"

#include <gtest/gtest.h>

#include <utility>

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

}  // namespace
}  // namespace portcullis::lease
