// SPDX-License-Identifier: BSD-3-Clause
//
// The umem table: what CREATE_UMEM accepts, and where in a umem a queue or a record may lie.
#include "model/umem.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/cells.hpp"
#include "prm/enums.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;

constexpr std::uint64_t kReadWrite = 3;  // EN_RD | EN_WR
constexpr Iova kFirst = 0x7000;
constexpr Iova kSecond = 0x3000;

class Umem : public ::testing::Test {
 protected:
  Umem() { context_.put<"num_of_mtt">(2); }

  CommandStatus create(std::vector<std::uint64_t> mtt = {kFirst | kReadWrite,
                                                         kSecond | kReadWrite}) {
    for (std::uint64_t& entry : mtt) entry = cells::be64(entry);
    return table_
        .create(prm::ConstView<prm::umem>{context_.all()}, std::as_bytes(std::span(mtt)), id_)
        .status;
  }
  CommandStatus queue(std::uint64_t offset, std::uint64_t bytes, bool written = true) {
    return table_.queue(id_, offset, bytes, written, queue_).status;
  }
  CommandStatus record(std::uint64_t offset) { return table_.record(id_, offset, record_).status; }

  static constexpr auto kOk = CommandStatus::OK;
  static constexpr auto kBadParam = CommandStatus::BAD_PARAM_ERR;

  UmemTable table_{4};
  prm::Buffer<prm::umem> context_;
  std::uint32_t id_ = 0;
  QueuePages queue_;
  Iova record_ = 0;
};

TEST_F(Umem, Queue_GoesOnInTheNextPage) {
  context_.put<"page_offset">(64);
  ASSERT_EQ(create(), kOk);
  ASSERT_EQ(queue(128, 6144), kOk);
  EXPECT_EQ(queue_.at(0), kFirst + 192);
  EXPECT_EQ(queue_.at(4096 - 192), kSecond);
}

TEST_F(Umem, PageOfAnotherSize_IsOnePage) {
  context_.put<"num_of_mtt">(1).put<"log_page_size">(4);  // 64 KiB
  ASSERT_EQ(create({0x50000 | kReadWrite}), kOk);
  ASSERT_EQ(queue(0x4000, 0xc000), kOk);
  EXPECT_EQ(queue_.at(0xbfff), Iova{0x5ffff});
}

TEST_F(Umem, QueuePastTheEnd_IsBadParam) {
  context_.put<"page_offset">(64);
  ASSERT_EQ(create(), kOk);
  EXPECT_EQ(queue(0, 8192 - 64), kOk);
  EXPECT_EQ(queue(0, 8192 - 63), kBadParam);
  EXPECT_EQ(queue(~std::uint64_t{0}, 64), kBadParam);
}

TEST_F(Umem, QueueThatDoesNotStartAtABlock_IsBadParam) {
  ASSERT_EQ(create(), kOk);
  EXPECT_EQ(queue(32, 64), kBadParam);
}

TEST_F(Umem, QueueThatTheDeviceWritesInReadOnlyMemory_IsBadParam) {
  ASSERT_EQ(create({kFirst | kReadWrite, kSecond | 1}), kOk);
  EXPECT_EQ(queue(0, 64, true), kBadParam);
  EXPECT_EQ(queue(0, 64, false), kOk);
}

TEST_F(Umem, MemoryWithoutTheReadRight_HoldsNoQueue) {
  ASSERT_EQ(create({kFirst | 2, kSecond | kReadWrite}), kOk);
  EXPECT_EQ(queue(0, 64), kBadParam);
  EXPECT_EQ(record(0), kBadParam);
}

TEST_F(Umem, Record_LiesAtItsOffset) {
  context_.put<"page_offset">(8);
  ASSERT_EQ(create(), kOk);
  EXPECT_EQ(record(4096), kOk);
  EXPECT_EQ(record_, kSecond + 8);
}

TEST_F(Umem, MisalignedRecordOrOnePastTheEnd_IsBadParam) {
  ASSERT_EQ(create(), kOk);
  EXPECT_EQ(record(4), kBadParam);
  EXPECT_EQ(record(8192 - 8), kOk);
  EXPECT_EQ(record(8192), kBadParam);
}

TEST_F(Umem, FewerPagesThanNamed_IsAnInputLengthError) {
  EXPECT_EQ(create({kFirst | kReadWrite}), CommandStatus::BAD_INP_LEN_ERR);
  context_.put<"num_of_mtt">(~std::uint64_t{0});
  EXPECT_EQ(create(), CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(Umem, NoPageOrAnOffsetOutsideThePage_IsBadParam) {
  context_.put<"page_offset">(4096);
  EXPECT_EQ(create(), kBadParam);
  context_.put<"page_offset">(0).put<"num_of_mtt">(0);
  EXPECT_EQ(create(), kBadParam);
}

TEST_F(Umem, PageThatIsNotAlignedToItsSize_IsBadParam) {
  context_.put<"log_page_size">(1);
  EXPECT_EQ(create({0x6000 | kReadWrite, 0x7000 | kReadWrite}), kBadParam);
}

TEST_F(Umem, AddressTranslationService_IsNotOffered) {
  context_.set<"ats", 1>();
  EXPECT_EQ(create(), kBadParam);
}

TEST_F(Umem, UmemOfAQueue_StaysUntilTheQueueIsGone) {
  ASSERT_EQ(create(), kOk);
  const UmemUse use{id_, id_};
  table_.hold(use);
  EXPECT_EQ(table_.destroy(id_).status, CommandStatus::BAD_RES_STATE_ERR);
  table_.release(use);
  EXPECT_EQ(table_.destroy(id_).status, kOk);
  EXPECT_EQ(table_.destroy(id_).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(Umem, MoreThanThereAreNumbers_IsRefused) {
  for (int i = 1; i < 16; ++i) ASSERT_EQ(create(), kOk);
  EXPECT_EQ(create(), CommandStatus::NO_RES_ERR);
  EXPECT_EQ(table_.size(), 15U);
}

}  // namespace
}  // namespace portcullis::model::testing
