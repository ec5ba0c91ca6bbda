// SPDX-License-Identifier: BSD-3-Clause
//
// What failover-check holds in memory where its states take little: mostly itself.
#include <gtest/gtest.h>

#include <sys/prctl.h>

#include "tools/failover_check/spin_run.hpp"

namespace portcullis::tools::failover_check {
namespace {

/// SPIN takes 9.7 MB with two cores and 14.1 with one (docs/failover.md). Ubuntu 24.04 needs 3.7.
/// Without text_order.ld it is 4.5, and more with an estimate that takes more than the search.
constexpr double kMostMegabytes = 4;

/// Where the kernel gives huge pages to everybody (transparent_hugepage=always), one byte written
/// may take 2 MB. So the program runs without them; execve(2) keeps that setting (prctl(2)).
Finished exploring(const char* threads) {
  EXPECT_EQ(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  const auto folder = ScratchFolder::create().value();
  return run_program({PORTCULLIS_FAILOVER_CHECK, "explore", "tagged-cas", "--counts-only",
                      "--clients", "2", "--ops", "2", "--threads", threads},
                     folder.path())
      .value();
}

TEST(ResidentProgram, OfSmallModelAndOneThread_IsLessThanHalfOfSpins) {
  const Finished run = exploring("1");
  EXPECT_EQ(run.status, 0);
  EXPECT_LT(run.megabytes, kMostMegabytes);
}

TEST(ResidentProgram, OfSmallModelAndTwoThreads_IsLessThanHalfOfSpins) {
  const Finished run = exploring("2");
  EXPECT_EQ(run.status, 0);
  EXPECT_LT(run.megabytes, kMostMegabytes);
}

}  // namespace
}  // namespace portcullis::tools::failover_check
