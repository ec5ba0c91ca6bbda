// SPDX-License-Identifier: BSD-3-Clause
//
// What a UMR may do to a key of the table, and what it may not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/cells.hpp"
#include "model/dma.hpp"
#include "model/iommu.hpp"
#include "model/mkey.hpp"
#include "prm/block_signature.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::MkeyMask;

constexpr std::uint32_t kPd = 7;
constexpr std::uint32_t kVariant = 0x42;
constexpr std::uint64_t kStart = 0x7000'0000'0000;
constexpr std::uint64_t kBytes = 0x4000;  // four pages
constexpr Iova kFirst = 0x1'0000'0000;
constexpr Iova kSecond = 0x2'0000'0000;
constexpr std::uint64_t kBoth = 3;  // EN_RD | EN_WR

std::vector<std::byte> entries(std::initializer_list<std::uint64_t> values) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t value : values) {
    const std::uint64_t raw = cells::be64(value);
    const auto* const at = static_cast<const std::byte*>(static_cast<const void*>(&raw));
    bytes.insert(bytes.end(), at, at + sizeof raw);
  }
  return bytes;
}

class MkeyUmr : public ::testing::Test {
 protected:
  MkeyUmr() {
    context_.put<"access_mode_1_0">(prm::MkcAccessMode::MTT)
        .set<"umr_en", 1>()
        .set<"lr", 1>()
        .set<"rw", 1>()
        .put<"qpn">(prm::kMkcQpnAny)
        .put<"mkey_7_0">(kVariant)
        .put<"pd">(kPd)
        .put<"start_addr">(kStart)
        .put<"len">(kBytes)
        .set<"log_page_size", 12>()
        .set<"translations_octword_size", 2>();
  }
  void create() {
    const auto list = entries({kFirst | kBoth, (kFirst + 0x1000) | kBoth, (kFirst + 0x2000) | kBoth,
                               (kFirst + 0x3000) | kBoth});
    ASSERT_TRUE(
        table_.create({prm::ConstView<prm::mkc>(context_.all()), true, 2, list}, index_).ok());
  }
  void create_free() {
    context_.set<"free", 1>();
    ASSERT_TRUE(
        table_.create({prm::ConstView<prm::mkc>(context_.all()), true, 0, {}}, index_).ok());
  }
  bool umr(std::uint64_t mask, std::uint8_t flags = 0) {
    request_.key = key();
    request_.mask = mask;
    request_.flags = flags;
    request_.context = prm::ConstView<prm::mkc>(wanted_.all());
    request_.translations = translations_;
    request_.octwords = static_cast<std::uint32_t>(translations_.size() / 16);
    return table_.reconfigure(request_);
  }
  [[nodiscard]] std::uint32_t key() const { return index_ << 8 | kVariant; }
  [[nodiscard]] KeyCheck check(std::uint8_t wanted = access::kRemoteWrite,
                               std::uint32_t pd = kPd) const {
    return table_.check({key(), pd, 5, kStart, kBytes, wanted, false});
  }
  [[nodiscard]] Iova where(std::uint64_t at) const {
    return table_.translate(key(), kStart + at, 8).extent[0].iova;
  }

  MkeyTable table_{10};
  prm::Buffer<prm::mkc> context_;
  prm::Buffer<prm::mkc> wanted_;
  std::vector<std::byte> translations_;
  UmrRequest request_{.context = prm::ConstView<prm::mkc>(wanted_.all())};
  std::uint32_t index_ = 0;
};

TEST_F(MkeyUmr, Free_IsNoKeyFromThenOn) {
  create();
  wanted_.set<"free", 1>();
  EXPECT_TRUE(umr(prm::number(MkeyMask::FREE)));
  EXPECT_EQ(check(), KeyCheck::BadKey);
  EXPECT_EQ(table_.translate(key(), kStart, 8).count, 0U);
}

TEST_F(MkeyUmr, FreedAndTakenBack_CoversWhatItDid) {
  create();
  wanted_.set<"free", 1>();
  ASSERT_TRUE(umr(prm::number(MkeyMask::FREE)));
  wanted_.set<"free", 0>();
  EXPECT_TRUE(umr(prm::number(MkeyMask::FREE), prm::kUmrFailIfNotFree));
  EXPECT_EQ(check(), KeyCheck::Ok);
}

TEST_F(MkeyUmr, FieldsThatTheMaskDoesNotName_StayAsTheyWere) {
  create();
  wanted_.set<"free", 1>().set<"rr", 1>().set<"pd", 9>();
  EXPECT_TRUE(umr(prm::number(MkeyMask::RR)));
  EXPECT_EQ(check(access::kRemoteWrite | access::kRemoteRead), KeyCheck::Ok);
}

TEST_F(MkeyUmr, RightTakenAway_IsRefused) {
  create();
  EXPECT_TRUE(umr(prm::number(MkeyMask::RW)));
  EXPECT_EQ(check(), KeyCheck::BadAccess);
}

class DeviceMkeyUmr : public MkeyUmr {
 protected:
  DeviceMkeyUmr() {
    context_.set<"bsf_octword_size", 4>();
    context_.put<"access_mode_1_0">(prm::kMkcModeMemic & 3)
        .put<"access_mode_4_2">(prm::kMkcModeMemic >> 2);
    EXPECT_TRUE(
        table_.create({prm::ConstView<prm::mkc>(context_.all()), true, 0, {}}, index_).ok());
  }
  [[nodiscard]] KeyCheck check_at_zero() const {
    return table_.check({key(), kPd, 5, 0, kBytes, access::kRemoteWrite, false});
  }
};

TEST_F(DeviceMkeyUmr, RightTakenAway_IsRefusedAndItsPlaceIsKept) {
  wanted_.set<"rw", 1>();
  ASSERT_TRUE(umr(MkeyMask::RW | MkeyMask::LR));
  EXPECT_EQ(check_at_zero(), KeyCheck::Ok);
  EXPECT_EQ(table_.translate(key(), 8, 8).extent[0].iova, kStart + 8);
  wanted_.set<"rw", 0>();
  ASSERT_TRUE(umr(prm::number(MkeyMask::RW)));
  EXPECT_EQ(check_at_zero(), KeyCheck::BadAccess);
}

TEST_F(DeviceMkeyUmr, FreedAndTakenBack_CoversWhatItDid) {
  wanted_.set<"free", 1>();
  ASSERT_TRUE(umr(prm::number(MkeyMask::FREE)));
  EXPECT_EQ(check_at_zero(), KeyCheck::BadKey);
  wanted_.set<"free", 0>();
  ASSERT_TRUE(umr(prm::number(MkeyMask::FREE)));
  EXPECT_EQ(check_at_zero(), KeyCheck::Ok);
}

TEST_F(DeviceMkeyUmr, OtherPlace_IsNotGiven) {
  wanted_.put<"start_addr">(0).put<"len">(2 * kBytes);
  EXPECT_FALSE(umr(prm::number(MkeyMask::START_ADDR)));
  EXPECT_FALSE(umr(prm::number(MkeyMask::LEN)));
  translations_ = entries({kSecond | kBoth, (kSecond + 0x1000) | kBoth});
  EXPECT_FALSE(umr(0));
  EXPECT_EQ(check_at_zero(), KeyCheck::Ok);
  EXPECT_EQ(table_.translate(key(), 0, 8).extent[0].iova, kStart);
}

/// A CRC32 behind every 512 bytes of the wire: four more bytes for each.
TEST_F(DeviceMkeyUmr, FormatOfTheWire_LengthensTheKeyUntilItIsSwitchedOff) {
  constexpr std::uint64_t kOnTheWire = kBytes + kBytes / 512 * 4;
  prm::Buffer<prm::mlx5_bsf> bsf;
  bsf.set<"bsf_size_sbs", 0x80>().set<"wire_selector", 1>().put<"w_bfs_psv">(0x22000001);
  bsf.put<"raw_data_size">(0xffffffff);
  request_.format = bsf.all();
  wanted_.set<"bsf_en", 1>();
  ASSERT_TRUE(umr(prm::number(MkeyMask::BSF_EN)));
  const KeyUse last{key(), kPd, 5, kOnTheWire - 4, 4, access::kRemoteWrite, false};
  EXPECT_EQ(table_.check(last), KeyCheck::Ok);
  EXPECT_EQ(table_.translate(key(), 0, 8).count, 0U);
  const Extents where = table_.translate_memory(key(), 8, 8);
  ASSERT_EQ(where.count, 1U);
  EXPECT_TRUE(where.extent[0].on_device);
  EXPECT_EQ(where.extent[0].iova, kStart + 8);
  request_.format = {};
  wanted_.set<"bsf_en", 0>();
  ASSERT_TRUE(umr(prm::number(MkeyMask::BSF_EN)));
  EXPECT_EQ(table_.check(last), KeyCheck::BadRange);
  EXPECT_EQ(table_.translate(key(), 0, 8).extent[0].iova, kStart);
}

TEST_F(DeviceMkeyUmr, FormatThatContradictsItself_IsRefusedAndNothingChanges) {
  prm::Buffer<prm::mlx5_bsf> bsf;
  bsf.set<"bsf_size_sbs", 0x80>().put<"w_bfs_psv">(0x22000001);
  request_.format = bsf.all();
  wanted_.set<"bsf_en", 1>();
  EXPECT_FALSE(umr(prm::number(MkeyMask::BSF_EN)));
  EXPECT_EQ(table_.translate(key(), 0, 8).extent[0].iova, kStart);
}

/// Four pages apart, and a CRC32 behind every 512 bytes of memory.
class SignedMkeyUmr : public MkeyUmr {
 protected:
  SignedMkeyUmr() {
    context_.set<"bsf_octword_size", 4>();
    const auto list = entries(
        {kFirst | kBoth, kSecond | kBoth, (kFirst + 0x2000) | kBoth, (kSecond + 0x2000) | kBoth});
    EXPECT_TRUE(
        table_.create({prm::ConstView<prm::mkc>(context_.all()), true, 2, list}, index_).ok());
    format_.set<"bsf_size_sbs", 0x80>().put<"raw_data_size">(0xffffffff);
    format_.set<"mem_selector", 1>().put<"m_bfs_psv">(0x22000001);
    take_format();
  }
  void take_format() {
    request_.format = format_.all();
    wanted_.set<"bsf_en", 1>();
    ASSERT_TRUE(umr(prm::number(MkeyMask::BSF_EN)));
  }

  prm::Buffer<prm::mlx5_bsf> format_;
};

/// As a packet of 4096 bytes comes to, with its signatures, in the worst place of a page.
TEST_F(SignedMkeyUmr, MoreThanAPageOfMemory_GoesOverNoPagesEnd) {
  const Extents where = table_.translate_memory(key(), 0x1000 - 1, 4160);
  ASSERT_EQ(where.count, 2U);
  EXPECT_EQ(where.extent[0].iova, kFirst + 0xfff);
  EXPECT_EQ(where.extent[1].iova, kSecond);
  EXPECT_LE(where.extent[1].bytes, 0x1000U);
}

/// A UMR may have moved the key between the check of a packet and its data.
TEST_F(SignedMkeyUmr, RangeThatIsNotTheKeysAnyMore_HasNoData) {
  format_.set<"mem_selector", 0>().set<"m_bfs_psv", 0>();  // blocks on neither side
  take_format();
  std::uint64_t faults = 0;
  const Iommu iommu = Iommu::create().value();
  Dma dma(iommu, faults);
  SignedTransfer transfer(table_, dma, nullptr);
  std::array<std::byte, 16> bytes{};
  SignedWrites writes;
  for (const std::uint64_t va :
       {kStart - 8, kStart - 0x100000, kStart + kBytes - 8, ~std::uint64_t{0} - 7}) {
    EXPECT_FALSE(transfer.gather(key(), va, bytes)) << va;
    EXPECT_FALSE(transfer.scatter(key(), va, bytes, writes)) << va;
  }
}

TEST_F(MkeyUmr, OtherPd_LeavesTheOldOneOut) {
  create();
  wanted_.set<"pd", 9>();
  EXPECT_TRUE(umr(prm::number(MkeyMask::PD)));
  EXPECT_EQ(check(), KeyCheck::BadPd);
  EXPECT_EQ(check(access::kRemoteWrite, 9), KeyCheck::Ok);
  EXPECT_EQ(table_.pd_of(index_), kPd);
}

TEST_F(MkeyUmr, NewVariant_ReplacesTheOldKey) {
  create();
  wanted_.set<"mkey_7_0", 0x43>();
  EXPECT_TRUE(umr(prm::number(MkeyMask::KEY)));
  EXPECT_EQ(check(), KeyCheck::BadKey);
  EXPECT_EQ(table_.check({index_ << 8 | 0x43, kPd, 5, kStart, 8, access::kRemoteWrite, false}),
            KeyCheck::Ok);
}

TEST_F(MkeyUmr, Translations_ReplaceThoseAtTheirOffset) {
  create();
  translations_ = entries({kSecond | kBoth, (kSecond + 0x1000) | kBoth});
  request_.offset_octwords = 1;
  EXPECT_TRUE(umr(0));
  EXPECT_EQ(where(0x1008), kFirst + 0x1008);
  EXPECT_EQ(where(0x2008), kSecond + 8);
  EXPECT_EQ(where(0x3008), kSecond + 0x1008);
}

TEST_F(MkeyUmr, EntryWithoutTheWriteBit_RefusesWritesToItsPage) {
  create();
  translations_ = entries({kFirst | 1, (kFirst + 0x1000) | kBoth});
  EXPECT_TRUE(umr(0));
  EXPECT_EQ(check(), KeyCheck::BadAccess);
  EXPECT_EQ(table_.check({key(), kPd, 5, kStart + 0x1000, 8, access::kRemoteWrite, false}),
            KeyCheck::Ok);
}

TEST_F(MkeyUmr, FreeKeyFilledAndTaken_IsUsable) {
  create_free();
  wanted_.set<"free", 0>();
  translations_ = entries({kSecond | kBoth, (kSecond + 0x1000) | kBoth, (kSecond + 0x2000) | kBoth,
                           (kSecond + 0x3000) | kBoth});
  EXPECT_TRUE(umr(prm::number(MkeyMask::FREE), prm::kUmrFailIfNotFree));
  EXPECT_EQ(check(), KeyCheck::Ok);
  EXPECT_EQ(where(0), kSecond);
}

TEST_F(MkeyUmr, RangeShortened_EndsWhereItSays) {
  create();
  wanted_.set<"len", 0x1000>();
  EXPECT_TRUE(umr(prm::number(MkeyMask::LEN)));
  EXPECT_EQ(check(), KeyCheck::BadRange);
  EXPECT_EQ(table_.check({key(), kPd, 5, kStart, 0x1000, access::kRemoteWrite, false}),
            KeyCheck::Ok);
}

TEST_F(MkeyUmr, Query_ShowsTheKeyAsItIsNow) {
  create();
  wanted_.set<"free", 1>().set<"rr", 1>();
  ASSERT_TRUE(umr(MkeyMask::FREE | MkeyMask::RR));
  prm::Buffer<prm::mkc> context;
  ASSERT_TRUE(table_.query(index_, context.view(), {}).ok());
  EXPECT_EQ(context.get<"free">(), 1U);
  EXPECT_EQ(context.get<"rr">(), 1U);
  EXPECT_EQ(context.get<"rw">(), 1U);
}

// ---- refusals: the key stays as it was ----

TEST_F(MkeyUmr, RangeBeyondTheTranslations_Refused) {
  create();
  wanted_.set<"len", 0x4001>();
  EXPECT_FALSE(umr(prm::number(MkeyMask::LEN)));
  EXPECT_EQ(check(), KeyCheck::Ok);
}

TEST_F(MkeyUmr, FreeKeyTakenWithoutTranslations_Refused) {
  create_free();
  EXPECT_FALSE(umr(prm::number(MkeyMask::FREE)));
  EXPECT_EQ(check(), KeyCheck::BadKey);
}

TEST_F(MkeyUmr, MoreTranslationsThanReserved_Refused) {
  create();
  translations_ = entries({kSecond | kBoth, (kSecond + 0x1000) | kBoth});
  request_.offset_octwords = 4;
  EXPECT_FALSE(umr(0));
}

TEST_F(MkeyUmr, TranslationsInThePaddingOfTheLastUnit_PassedOver) {
  create();
  translations_ = entries({kSecond | kBoth, (kSecond + 0x1000) | kBoth});
  request_.offset_octwords = 2;
  EXPECT_TRUE(umr(0));
  wanted_.set<"len", 0x4001>();
  EXPECT_FALSE(umr(prm::number(MkeyMask::LEN)));
}

TEST_F(MkeyUmr, EntryThatIsNotOnAPageOfItsSize_Refused) {
  create();
  wanted_.set<"log_page_size", 13>();
  EXPECT_FALSE(umr(prm::number(MkeyMask::PAGE_SIZE)));
  EXPECT_EQ(where(0), kFirst);
}

TEST_F(MkeyUmr, CheckFreeOfAFreeKey_Refused) {
  create();
  wanted_.set<"free", 1>();
  ASSERT_TRUE(umr(prm::number(MkeyMask::FREE), prm::kUmrFailIfFree));
  EXPECT_FALSE(umr(prm::number(MkeyMask::FREE), prm::kUmrFailIfFree));
}

TEST_F(MkeyUmr, CheckNotFreeOfAKeyInUse_Refused) {
  create();
  EXPECT_FALSE(umr(prm::number(MkeyMask::RW), prm::kUmrFailIfNotFree));
  EXPECT_EQ(check(), KeyCheck::Ok);
}

TEST_F(MkeyUmr, CheckQpnOfAnotherQp_Refused) {
  context_.set<"qpn", 5>();
  create();
  wanted_.set<"free", 1>();
  request_.qpn = 6;
  EXPECT_FALSE(umr(prm::number(MkeyMask::FREE), prm::kUmrCheckQpn));
  request_.qpn = 5;
  EXPECT_TRUE(umr(prm::number(MkeyMask::FREE), prm::kUmrCheckQpn));
}

TEST_F(MkeyUmr, CheckQpnOfAKeyThatIsBoundToNone_Passes) {
  create();
  wanted_.set<"free", 1>();
  request_.qpn = 6;
  EXPECT_TRUE(umr(prm::number(MkeyMask::FREE), prm::kUmrCheckQpn));
}

TEST_F(MkeyUmr, KeyOfAnotherPdThanTheQps_Refused) {
  create();
  request_.pd = 9;
  EXPECT_FALSE(umr(prm::number(MkeyMask::RW)));
  request_.pd = kPd;
  EXPECT_TRUE(umr(prm::number(MkeyMask::RW)));
}

TEST_F(MkeyUmr, KeyMadeWithoutUmr_Refused) {
  context_.set<"umr_en", 0>();
  create();
  EXPECT_FALSE(umr(prm::number(MkeyMask::RW)));
}

TEST_F(MkeyUmr, KeyThatIsBeingDestroyed_Refused) {
  create();
  ASSERT_TRUE(table_.disable(index_));
  EXPECT_FALSE(umr(prm::number(MkeyMask::FREE)));
  EXPECT_EQ(check(), KeyCheck::BadKey);
}

TEST_F(MkeyUmr, AnotherVariant_Refused) {
  create();
  ++index_;
  EXPECT_FALSE(umr(prm::number(MkeyMask::RW)));
  --index_;
  request_.context = prm::ConstView<prm::mkc>(wanted_.all());
  request_.key = key() ^ 1;
  request_.mask = prm::number(MkeyMask::RW);
  EXPECT_FALSE(table_.reconfigure(request_));
}

class MkeyUmrMask : public MkeyUmr, public ::testing::WithParamInterface<MkeyMask> {};

TEST_P(MkeyUmrMask, FieldThatThisCardDoesNotChange_Refused) {
  create();
  EXPECT_FALSE(umr(prm::number(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Fields, MkeyUmrMask,
                         ::testing::Values(MkeyMask::RELAXED_ORDERING_WRITE,
                                           MkeyMask::RELAXED_ORDERING_READ));

}  // namespace
}  // namespace portcullis::model
