// SPDX-License-Identifier: BSD-3-Clause
//
// Ten thousand transfers at 10 % loss: none is wrong, none hangs.
#include <gtest/gtest.h>

#include "tests/model/transport/lossy_transfer.hpp"

namespace portcullis::model::testing {
namespace {

class LossyRuns : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(LossyRuns, ThousandSeedsAtTenPercentLoss_NothingIsWrongAndNothingHangs) {
  const Outcome sum = run_seeds(1000 * GetParam(), 1000, {"loss=0.1"});
  EXPECT_EQ(sum.wrong, 0U);
  EXPECT_EQ(sum.hanging, 0U);
  EXPECT_GE(sum.succeeded, 1000 * Transfer::kMessages * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(TenThousand, LossyRuns, ::testing::Range<std::uint64_t>(0, 10));

}  // namespace
}  // namespace portcullis::model::testing
