// SPDX-License-Identifier: BSD-3-Clause
//
// The search for the most leases that are taken back in time: for every plan, on a port that it
// works on.
#include "bench/common/capacity.hpp"

#include <gtest/gtest.h>

namespace portcullis::bench {
namespace {

constexpr std::uint32_t kLimit = 3;

class CapacityOfPlan : public ::testing::TestWithParam<const char*> {};

TEST_P(CapacityOfPlan, FewLeases_AreTakenBackWithinTheContract) {
  const auto plan = lease::parse_plan(GetParam()).value();
  const Capacity capacity = find_capacity(plan, proof::RevokeMode::Batched, kLimit).value();
  EXPECT_EQ(capacity.leases, kLimit);
  EXPECT_TRUE(capacity.is_at_limit);
  EXPECT_GT(capacity.time_ns, 0U);
  EXPECT_LE(capacity.time_ns, kContractNs);
}
INSTANTIATE_TEST_SUITE_P(Plans, CapacityOfPlan,
                         ::testing::Values("seed", "nak-first", "indirect", "allow-modify",
                                           "underlay"));

}  // namespace
}  // namespace portcullis::bench
