// SPDX-License-Identifier: BSD-3-Clause
//
// Ten thousand runs of random operations of every kind at 10 % loss: nothing is ever wrong, and
// nothing hangs.
#include <gmock/gmock.h>

#include "tests/model/transport/rc_run.hpp"

namespace portcullis::model::testing {
namespace {

class RcRuns : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RcRuns, ThousandSeedsAtTenPercentLoss_NothingIsWrongAndNothingHangs) {
  const RcVerdict sum = run_rc_seeds(1000 * GetParam(), 1000, {"loss=0.1"});
  EXPECT_THAT(sum.faults, ::testing::IsEmpty());
  EXPECT_GE(sum.succeeded, 1000 * RcRun::kOperations * 8 / 10);
}

INSTANTIATE_TEST_SUITE_P(TenThousand, RcRuns, ::testing::Range<std::uint64_t>(0, 10));

}  // namespace
}  // namespace portcullis::model::testing
