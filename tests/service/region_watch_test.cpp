// SPDX-License-Identifier: BSD-3-Clause
//
// What the CPU sees of a region, before an outcome and after it.
#include "service/region_watch.hpp"

#include <gtest/gtest.h>

#include <array>

namespace portcullis::service {
namespace {

TEST(RegionWatch, AByteChangedAfterTheOutcome_IsFound) {
  std::vector<std::byte> region(4096);
  RegionWatch watch(region, Clock::wall());
  watch.freeze();
  EXPECT_FALSE(watch.first_difference());

  region[4095] = std::byte{7};

  const auto difference = watch.first_difference();
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->offset, 4095U);
  EXPECT_EQ(difference->is, std::byte{7});
}

TEST(RegionWatch, ChangesBeforeTheOutcome_AreCountedNotBlamed) {
  std::vector<std::byte> region(4096);
  RegionWatch watch(region, Clock::wall());

  region[0] = std::byte{1};
  watch.look();
  watch.look();
  region[0] = std::byte{2};
  watch.freeze();

  EXPECT_EQ(watch.changes(), 2U);
  EXPECT_EQ(watch.last_word(), 2U);
  EXPECT_FALSE(watch.first_difference());
}

}  // namespace
}  // namespace portcullis::service
