// SPDX-License-Identifier: BSD-3-Clause
//
// The check of a lease's bytes: passes on memory, and finds each way in which memory can be wrong.
#include "tools/lease_verify/data_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tools/lease_verify/memory_requester.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using portcullis::testing::MemoryRequester;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DataCheck, RightMemory_EveryByteComparedInEveryRound) {
  MemoryRequester requester;

  const auto report = check_data(requester, MemoryRequester::grant(), {.rounds = 3});

  EXPECT_EQ(report->bytes_written, 3 * MemoryRequester::kRegionBytes);
  EXPECT_EQ(report->bytes_compared, 3 * MemoryRequester::kRegionBytes);
  EXPECT_EQ(report->atomics, 20U);
}

TEST(DataCheck, EveryKindOfPacketIsSent) {
  MemoryRequester requester;

  ASSERT_TRUE(check_data(requester, MemoryRequester::grant(), {}));

  const auto has_length = [&](Op op, std::size_t bytes) {
    return std::ranges::any_of(requester.posted, [&](const Operation& operation) {
      return operation.op == op && operation.bytes == bytes;
    });
  };
  EXPECT_TRUE(has_length(Op::Write, 1) && has_length(Op::Read, 1));
  EXPECT_TRUE(has_length(Op::Write, 1024) && has_length(Op::Read, 1024));
  EXPECT_TRUE(has_length(Op::Write, 1025) && has_length(Op::Read, 1025));
  EXPECT_TRUE(has_length(Op::Write, 4 * 1024 + 3) && has_length(Op::Read, 4 * 1024 + 3));
}

TEST(DataCheck, OneWrongByte_IsNamed) {
  MemoryRequester requester;
  requester.verdict = [&](const Operation& operation) {
    if (operation.op == Op::Read) requester.region[0x1234] ^= std::byte{1};
    return WorkResult{};
  };

  const auto report = check_data(requester, MemoryRequester::grant(), {});

  EXPECT_EQ(report.error().code, Errc::Malformed);
  EXPECT_THAT(report.error().text, HasSubstr("byte 0x1234 of the region reads"));
}

TEST(DataCheck, FailedOperation_IsNamedWithItsStatus) {
  MemoryRequester requester;
  requester.verdict = [](const Operation& operation) {
    return operation.op == Op::Read ? WorkResult{prm::WcStatus::REM_ACCESS_ERR, 0x88}
                                    : WorkResult{};
  };

  const auto report = check_data(requester, MemoryRequester::grant(), {});

  EXPECT_EQ(report.error().text,
            "RDMA READ of 1 bytes at 0x4000: IBV_WC_REM_ACCESS_ERR (10), vendor syndrome 0x88");
}

TEST(DataCheck, OperationWithoutCompletion_EndsAtItsDeadline) {
  MemoryRequester requester;
  requester.silent_from = 5;

  const auto report = check_data(requester, MemoryRequester::grant(), {.deadline_ms = 50});

  EXPECT_EQ(report.error().code, Errc::Timeout);
}

TEST(DataCheck, AtomicThatDoesNotAdd_IsFound) {
  MemoryRequester requester;
  requester.verdict = [&](const Operation& operation) {
    if (operation.op == Op::FetchAdd) requester.region[0] = std::byte{0};
    return WorkResult{};
  };

  const auto report = check_data(requester, MemoryRequester::grant(), {.seed = 3});

  EXPECT_THAT(report.error().text, HasSubstr("FETCH_ADD at 0x4000 answered"));
}

TEST(DataCheck, SwapThatShouldHaveMissed_IsFound) {
  MemoryRequester requester;
  requester.verdict = [&](const Operation& operation) {
    if (operation.op == Op::CompareSwap) requester.region[1] ^= std::byte{0xff};
    return WorkResult{};
  };

  const auto report = check_data(requester, MemoryRequester::grant(), {});

  EXPECT_THAT(report.error().text, HasSubstr("CMP_SWAP"));
}

TEST(DataCheck, OnlyWhatIsGrantedIsAskedFor) {
  MemoryRequester requester;
  auto grant = MemoryRequester::grant();
  grant.access = {.remote_write = true};

  const auto report = check_data(requester, grant, {});

  EXPECT_TRUE(std::ranges::all_of(
      requester.posted, [](const Operation& operation) { return operation.op == Op::Write; }));
  EXPECT_THAT(report->lines(grant.access),
              ElementsAre(HasSubstr("ok    RDMA WRITE"), HasSubstr("not granted"),
                          HasSubstr("not granted")));
}

}  // namespace
}  // namespace portcullis::tools::lease_verify
