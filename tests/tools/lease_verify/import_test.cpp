// SPDX-License-Identifier: BSD-3-Clause
//
// What lease-verify writes of a revoke is what `failover-check import` takes for a dump, and the
// dump has exactly the operations that had no success.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/lease_verify/memory_requester.hpp"
#include "tools/failover_check/verify_log.hpp"
#include "tools/lease_verify/revoke_test.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using failover_check::Capture;
using portcullis::testing::MemoryRequester;

/// The log of a client with `depth` operations outstanding, of which the eleventh is refused.
Capture logged(Op op, std::uint32_t depth, MemoryRequester& requester) {
  unsigned answered = 0;
  requester.verdict = [&answered](const Operation&) {
    return WorkResult{++answered == 11 ? prm::WcStatus::REM_ACCESS_ERR : prm::WcStatus::SUCCESS, 0};
  };
  auto grant = MemoryRequester::grant();
  grant.rkey = 0x1234;
  grant.server.qpn = 0x55;
  grant.address = MemoryRequester::kAddress + 3;
  const auto seen = watch_revoke(requester, grant, {.op = op, .depth = depth}).value();
  return failover_check::read_verify_log(seen.json({14, 6}, op), "seen.json").value();
}

TEST(RevokeLog, HasWhatWasPostedAndHadNoSuccess) {
  MemoryRequester requester;

  const Capture found = logged(Op::Write, 4, requester);

  ASSERT_EQ(found.requests.size(), 4U);
  EXPECT_EQ(found.answered_before, 10U);
  EXPECT_EQ(found.answered_before + found.requests.size(), requester.posted.size());
  EXPECT_EQ(found.requests[0].status, "IBV_WC_REM_ACCESS_ERR");
  EXPECT_EQ(found.requests[1].status, "");
  EXPECT_EQ(found.requests[3].remote_addr, requester.posted.back().remote_address);
  EXPECT_EQ(found.requests[3].length, requester.posted.back().bytes);
  EXPECT_EQ(found.requests[0].psn, requester.request().client.psn + 10);
  EXPECT_EQ(found.requests[0].qp_num, 0x55U);
  EXPECT_EQ(found.requests[0].rkey, 0x1234U);
}

TEST(RevokeLog, OfEachOperation_IsTaken) {
  MemoryRequester reads, adds;
  EXPECT_EQ(logged(Op::Read, 1, reads).requests[0].opcode, "IBV_WR_RDMA_READ");
  const Capture found = logged(Op::FetchAdd, 2, adds);
  EXPECT_EQ(found.requests[1].opcode, "IBV_WR_ATOMIC_FETCH_AND_ADD");
  EXPECT_EQ(found.requests[1].compare_add, adds.posted.back().compare_add);
}

TEST(RevokeLog, WithoutARevoke_HasNoKey) {
  MemoryRequester requester;
  const auto seen = watch_revoke(requester, MemoryRequester::grant(), {.limit_ms = 1}).value();
  const std::string log = seen.json({14, 6}, Op::Write);
  EXPECT_THAT(log, ::testing::Not(::testing::HasSubstr("rkey")));  // it still opens the lease
  EXPECT_TRUE(failover_check::read_verify_log(log, "seen.json")->requests.empty());
}

}  // namespace
}  // namespace portcullis::tools::lease_verify
