// SPDX-License-Identifier: BSD-3-Clause
//
// The key table by itself: who may touch what, and where it lies.
#include "model/mkey.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/cells.hpp"
#include "model/verdict.hpp"
#include "prm/device_memory_commands.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

constexpr std::uint32_t kPd = 7;
constexpr std::uint64_t kStart = 0x7000'0000'1800;  // in the middle of a page
constexpr std::uint64_t kBytes = 0x3000;            // so four pages of 4 KiB are touched
constexpr Iova kFirstPage = 0x1'0000'0000;
constexpr Iova kStride = 0x10'0000;  // pages lie apart

class MkeyTableTest : public ::testing::Test {
 protected:
  MkeyTableTest() {
    context_.put<"access_mode_1_0">(prm::MkcAccessMode::MTT)
        .set<"lr", 1>()
        .set<"lw", 1>()
        .set<"rw", 1>()
        .put<"qpn">(prm::kMkcQpnAny)
        .set<"mkey_7_0", 0x42>()
        .put<"pd">(kPd)
        .put<"start_addr">(kStart)
        .put<"len">(kBytes)
        .set<"log_page_size", 12>()
        .set<"translations_octword_size", 2>();
    for (std::uint64_t i = 0; i < 4; ++i) set_page(i, kFirstPage + i * kStride);
  }

  void set_page(std::size_t i, std::uint64_t entry) {
    const std::uint64_t raw = cells::be64(entry);
    std::memcpy(list_.data() + i * 8, &raw, sizeof raw);
  }
  Verdict create() {
    return table_.create({prm::ConstView<prm::mkc>{context_.all()}, page_access_, octwords_,
                          std::span(list_).first(list_bytes_)},
                         index_);
  }
  [[nodiscard]] std::uint32_t key() const { return index_ << 8 | 0x42; }
  [[nodiscard]] KeyUse use(std::uint64_t va, std::uint64_t length,
                           std::uint8_t wanted = access::kRemoteWrite) const {
    return {key(), kPd, 5, va, length, wanted, false};
  }

  MkeyTable table_{10};
  prm::Buffer<prm::mkc> context_;
  std::array<std::byte, 64> list_{};
  std::size_t list_bytes_ = 32;
  std::uint32_t octwords_ = 2;
  bool page_access_ = false;
  std::uint32_t index_ = 0;
};

TEST_F(MkeyTableTest, RangeOfTheKey_IsAllowed) {
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(kStart, kBytes)), KeyCheck::Ok);
  EXPECT_EQ(table_.check(use(kStart + kBytes - 1, 1)), KeyCheck::Ok);
}

TEST_F(MkeyTableTest, OtherVariantOrIndex_IsNoKey) {
  ASSERT_TRUE(create().ok());
  KeyUse wrong = use(kStart, 1);
  wrong.key ^= 1;
  EXPECT_EQ(table_.check(wrong), KeyCheck::BadKey);
  wrong.key = 0xffffff42;
  EXPECT_EQ(table_.check(wrong), KeyCheck::BadKey);
}

TEST_F(MkeyTableTest, OtherPd_IsRefused) {
  ASSERT_TRUE(create().ok());
  KeyUse wrong = use(kStart, 1);
  wrong.pd = kPd + 1;
  EXPECT_EQ(table_.check(wrong), KeyCheck::BadPd);
}

TEST_F(MkeyTableTest, KeyBoundToAQp_IsForThatQpAlone) {
  context_.set<"qpn", 5>();
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(kStart, 1)), KeyCheck::Ok);
  KeyUse wrong = use(kStart, 1);
  wrong.qpn = 6;
  EXPECT_EQ(table_.check(wrong), KeyCheck::BadQpn);
}

TEST_F(MkeyTableTest, RightThatTheKeyHasNot_IsRefused) {
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(kStart, 1, access::kRemoteRead)), KeyCheck::BadAccess);
  EXPECT_EQ(table_.check(use(kStart, 1, access::kRemoteWrite | access::kAtomic)),
            KeyCheck::BadAccess);
}

TEST_F(MkeyTableTest, OutsideTheRange_IsRefused) {
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(kStart - 1, 1)), KeyCheck::BadRange);
  EXPECT_EQ(table_.check(use(kStart + kBytes, 1)), KeyCheck::BadRange);
  EXPECT_EQ(table_.check(use(kStart + 1, kBytes)), KeyCheck::BadRange);
}

TEST_F(MkeyTableTest, LengthThatWraps_IsRefused) {
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(kStart + 1, ~std::uint64_t{0})), KeyCheck::BadRange);
  EXPECT_EQ(table_.check(use(~std::uint64_t{0}, 2)), KeyCheck::BadRange);
}

TEST_F(MkeyTableTest, LengthZero_AsksForTheKeyAlone) {
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(0, 0)), KeyCheck::Ok);
}

TEST_F(MkeyTableTest, Translation_FollowsThePages) {
  ASSERT_TRUE(create().ok());
  const Extents within = table_.translate(key(), kStart + 0x10, 64);
  ASSERT_EQ(within.count, 1U);
  EXPECT_EQ(within.extent[0].iova, kFirstPage + 0x810);
  const Extents across = table_.translate(key(), kStart + 0x7f0, 64);
  ASSERT_EQ(across.count, 2U);
  EXPECT_EQ(across.extent[0].iova, kFirstPage + 0xff0);
  EXPECT_EQ(across.extent[0].bytes, 16U);
  EXPECT_EQ(across.extent[1].iova, kFirstPage + kStride);
  EXPECT_EQ(across.extent[1].bytes, 48U);
}

TEST_F(MkeyTableTest, TranslationOutsideTheKey_GoesNowhere) {
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.translate(key(), kStart + kBytes - 8, 16).count, 0U);
  EXPECT_EQ(table_.translate(key(), kStart, MkeyTable::kMaxTranslation + 1).count, 0U);
  EXPECT_EQ(table_.translate(0xffffff00, kStart, 8).count, 0U);
}

TEST_F(MkeyTableTest, DestroyedKey_ChecksAndTranslatesNoMore) {
  ASSERT_TRUE(create().ok());
  ASSERT_TRUE(table_.destroy(index_).ok());
  EXPECT_EQ(table_.check(use(kStart, 1)), KeyCheck::BadKey);
  EXPECT_EQ(table_.translate(key(), kStart, 8).count, 0U);
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(MkeyTableTest, DestroyOfNoKey_IsABadParameter) {
  EXPECT_EQ(table_.destroy(0x00ffffff).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(table_.destroy(0).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(table_.destroy(table_.reserved_lkey() >> 8).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(MkeyTableTest, FreeKey_ExistsAndMayNotBeUsed) {
  context_.set<"free", 1>();
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(kStart, 1)), KeyCheck::BadKey);
  EXPECT_EQ(table_.size(), 1U);
}

TEST_F(MkeyTableTest, PageRights_NarrowTheKey) {
  page_access_ = true;
  for (std::uint64_t i = 0; i < 4; ++i) set_page(i, (kFirstPage + i * kStride) | 3);
  set_page(1, (kFirstPage + kStride) | 1);
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(kStart, 8)), KeyCheck::Ok);
  EXPECT_EQ(table_.check(use(kStart + 0x800, 8)), KeyCheck::BadAccess);
  EXPECT_EQ(table_.check(use(kStart + 0x7fc, 8)), KeyCheck::BadAccess);
  EXPECT_EQ(table_.check(use(kStart + 0x800, 8, access::kLocalRead)), KeyCheck::Ok);
}

TEST_F(MkeyTableTest, LargePages_TakeFewEntries) {
  context_.set<"log_page_size", 21>();
  octwords_ = 1;
  set_page(0, Iova{1} << 32);
  ASSERT_TRUE(create().ok());
  const Extents where = table_.translate(key(), kStart + 0x1000, 4096);
  ASSERT_EQ(where.count, 1U);
  EXPECT_EQ(where.extent[0].iova, (Iova{1} << 32) + (kStart + 0x1000) % (1 << 21));
}

TEST_F(MkeyTableTest, PhysicalMode_NeedsNoPages) {
  context_.put<"access_mode_1_0">(prm::MkcAccessMode::PA).set<"length64", 1>();
  octwords_ = 0;
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(0x1234'5678, 64)), KeyCheck::Ok);
  const Extents where = table_.translate(key(), 0x1234'5fff, 64);
  ASSERT_EQ(where.count, 1U);
  EXPECT_EQ(where.extent[0].iova, 0x1234'5fffU);
}

TEST_F(MkeyTableTest, MemicMode_CountsFromItsStartAndNeedsNoPages) {
  context_.put<"access_mode_1_0">(prm::kMkcModeMemic & 3)
      .put<"access_mode_4_2">(prm::kMkcModeMemic >> 2);
  octwords_ = 0;
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(table_.check(use(0, kBytes)), KeyCheck::Ok);
  EXPECT_EQ(table_.check(use(1, kBytes)), KeyCheck::BadRange);
  EXPECT_EQ(table_.check(use(kStart, 1)), KeyCheck::BadRange);
  const Extents where = table_.translate(key(), 0x7ff, 4096);
  ASSERT_EQ(where.count, 1U);
  EXPECT_EQ(where.extent[0].iova, kStart + 0x7ff);
  EXPECT_EQ(where.extent[0].bytes, 4096U);
  EXPECT_TRUE(where.extent[0].on_device);
}

TEST_F(MkeyTableTest, ReservedLkey_IsForQpsWithRlkyAndForLocalAccess) {
  KeyUse local{table_.reserved_lkey(), 99, 1, 0x5000, 64, access::kLocalWrite, true};
  EXPECT_EQ(table_.check(local), KeyCheck::Ok);
  local.rlky = false;
  EXPECT_EQ(table_.check(local), KeyCheck::BadPd);
  local.rlky = true;
  local.access = access::kRemoteWrite;
  EXPECT_EQ(table_.check(local), KeyCheck::BadAccess);
}

TEST_F(MkeyTableTest, ModesThatAreNotOffered_AreBadParameters) {
  context_.put<"access_mode_1_0">(prm::MkcAccessMode::KSM);
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
  context_.set<"access_mode_1_0", 2>().set<"access_mode_4_2", 1>();  // of no mode
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
  context_.put<"access_mode_1_0">(prm::MkcAccessMode::MTT);
  context_.set<"access_mode_4_2", 0>().set<"sync_umr", 1>();
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(MkeyTableTest, BadRanges_AreBadParameters) {
  context_.put<"len">(0);
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
  context_.put<"len">(~std::uint64_t{0});
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
  context_.put<"len">(kBytes).set<"length64", 1>();
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
  context_.set<"length64", 0>().set<"log_page_size", 11>();
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(MkeyTableTest, FewerPagesThanTheRange_AreRefused) {
  octwords_ = 1;
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
  octwords_ = 2;
  list_bytes_ = 24;
  EXPECT_EQ(create().status, CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(MkeyTableTest, MoreOctwordsThanTheTableHas_AreRefused) {
  context_.set<"translations_octword_size", 1>();
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(MkeyTableTest, PageThatIsNotAligned_IsRefused) {
  context_.set<"log_page_size", 16>();
  set_page(0, 0x1000);
  EXPECT_EQ(create().status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(MkeyTableTest, FullTable_HasNoResources) {
  MkeyTable small(4);
  const MkeyTable::Create request{prm::ConstView<prm::mkc>{context_.all()}, false, 2, list_};
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(small.create(request, index_).ok());
  EXPECT_EQ(small.create(request, index_).status, CommandStatus::NO_RES_ERR);
}

TEST_F(MkeyTableTest, IndexGivenBack_IsTheLastToBeGivenAgain) {
  MkeyTable small(4);
  const MkeyTable::Create request{prm::ConstView<prm::mkc>{context_.all()}, false, 2, list_};
  std::uint32_t first = 0;
  ASSERT_TRUE(small.create(request, first).ok());
  ASSERT_TRUE(small.destroy(first).ok());
  ASSERT_TRUE(small.create(request, index_).ok());
  EXPECT_NE(index_, first);
}

TEST_F(MkeyTableTest, Query_GivesTheContextBack) {
  ASSERT_TRUE(create().ok());
  prm::Buffer<prm::mkc> seen;
  std::array<std::byte, 32> pages{};
  ASSERT_TRUE(table_.query(index_, seen.view(), pages).ok());
  EXPECT_EQ(seen.get<"start_addr">(), kStart);
  EXPECT_EQ(seen.get<"rw">(), 1U);
  EXPECT_TRUE(std::equal(pages.begin(), pages.end(), list_.begin()));
}

// ---- DMA that is still to come ----

TEST_F(MkeyTableTest, PendingDma_IsCountedUntilTheLastIsDone) {
  ASSERT_TRUE(create().ok());
  std::vector<std::uint32_t> idle;
  table_.set_idle_hook({[](void* context, std::uint32_t index) {
                          static_cast<std::vector<std::uint32_t>*>(context)->push_back(index);
                        },
                        &idle});
  const MkeyTable::Holds holds = table_.begin_dma(key(), {});
  EXPECT_EQ(table_.begin_dma(key(), {}), holds);
  table_.end_dma(holds);
  EXPECT_TRUE(table_.has_pending_dma(index_));
  EXPECT_TRUE(idle.empty());
  table_.end_dma(holds);
  EXPECT_FALSE(table_.has_pending_dma(index_));
  EXPECT_EQ(idle, std::vector{index_});
}

TEST_F(MkeyTableTest, DisabledKey_AllowsNothingAndStays) {
  ASSERT_TRUE(create().ok());
  EXPECT_TRUE(table_.disable(index_));
  EXPECT_EQ(table_.check(use(kStart, 8)), KeyCheck::BadKey);
  EXPECT_EQ(table_.pd_of(index_), kPd);
}

TEST_F(MkeyTableTest, KeyOfTheSameIndex_KnowsNothingOfAnEarlierOnesDma) {
  table_.reuse_indices(true);
  ASSERT_TRUE(create().ok());
  const MkeyTable::Holds earlier = table_.begin_dma(key(), {});
  const std::uint32_t index = index_;
  ASSERT_TRUE(table_.destroy(index_).ok());
  ASSERT_TRUE(create().ok());
  ASSERT_EQ(index_, index);
  const MkeyTable::Holds now = table_.begin_dma(key(), {});
  table_.end_dma(earlier);
  EXPECT_TRUE(table_.has_pending_dma(index_));
  table_.end_dma(now);
  EXPECT_FALSE(table_.has_pending_dma(index_));
}

TEST(Verdict, NotYet_IsNoSuccess) {
  EXPECT_FALSE(not_yet().ok());
  EXPECT_TRUE(Verdict{}.ok());
}

}  // namespace
}  // namespace portcullis::model
