// SPDX-License-Identifier: BSD-3-Clause
//
// Indirect keys of the table: where they lead, what of both keys counts, and what becomes of one
// whose entries lead nowhere any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "base/cells.hpp"
#include "model/mkey.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using ::testing::ElementsAre;

constexpr std::uint32_t kPd = 7;
constexpr std::uint32_t kQpn = 5;
constexpr std::uint32_t kVariant = 0x42;
constexpr std::uint64_t kStart = 0x10'0000;
constexpr std::uint64_t kRegion = 0x2000;  // two pages under each direct key
constexpr Iova kFirst = 0x1'0000'0000;
constexpr Iova kSecond = 0x2'0000'0000;
constexpr Iova kStride = 0x10'0000;  // between the pages of a region

struct Entry {
  std::uint32_t bytes;
  std::uint32_t key;
  std::uint64_t va;
};

std::vector<std::byte> list_of(const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> bytes(words.size() * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t raw = cells::be64(words[i]);
    std::memcpy(bytes.data() + i * sizeof raw, &raw, sizeof raw);
  }
  return bytes;
}

/// struct mlx5_klm: bcount, key, va.
std::vector<std::byte> list_of(const std::vector<Entry>& entries) {
  std::vector<std::uint64_t> words;
  for (const Entry& entry : entries) {
    words.push_back(std::uint64_t{entry.bytes} << 32 | entry.key);
    words.push_back(entry.va);
  }
  return list_of(words);
}

class IndirectKey : public ::testing::Test {
 protected:
  IndirectKey()
      : first_(direct(kFirst)),
        second_(direct(kSecond)),
        both_{{kRegion, first_, 0}, {kRegion, second_, 0}} {}

  static prm::Buffer<prm::mkc> context(prm::MkcAccessMode mode, std::uint64_t octowords) {
    prm::Buffer<prm::mkc> made;
    made.put<"access_mode_1_0">(mode)
        .put<"qpn">(prm::kMkcQpnAny)
        .put<"mkey_7_0">(kVariant)
        .put<"pd">(kPd)
        .put<"translations_octword_size">(octowords);
    return made;
  }
  /// A key over two pages that lie apart, addressed from 0 on, for local use alone.
  std::uint32_t direct(Iova page, bool may_write = true, std::uint32_t pd = kPd) {
    auto made = context(prm::MkcAccessMode::MTT, 1);
    made.set<"lr", 1>().put<"lw">(may_write ? 1 : 0).put<"pd">(pd);
    made.put<"len">(kRegion).set<"log_page_size", 12>().set<"umr_en", 1>();
    return create(made, list_of(std::vector{page, page + kStride}));
  }
  std::uint32_t indirect(const std::vector<Entry>& entries, std::uint64_t bytes) {
    return create(parent(entries.size(), bytes), list_of(entries));
  }
  static prm::Buffer<prm::mkc> parent(std::size_t entries, std::uint64_t bytes) {
    auto made = context(prm::MkcAccessMode::KLMS, entries);
    made.set<"lr", 1>().set<"lw", 1>().set<"rr", 1>().set<"rw", 1>();
    made.put<"start_addr">(kStart).put<"len">(bytes).set<"umr_en", 1>();
    return made;
  }
  Verdict try_create(const prm::Buffer<prm::mkc>& made, const std::vector<std::byte>& list) {
    return table_.create({prm::ConstView<prm::mkc>{made.all()}, false,
                          static_cast<std::uint32_t>(list.size() / 16), list},
                         index_);
  }
  std::uint32_t create(const prm::Buffer<prm::mkc>& made, const std::vector<std::byte>& list) {
    EXPECT_TRUE(try_create(made, list).ok());
    return index_ << 8 | kVariant;
  }
  [[nodiscard]] KeyCheck check(std::uint32_t key, std::uint64_t at, std::uint64_t length,
                               std::uint8_t wanted = access::kRemoteWrite) const {
    return table_.check({key, kPd, kQpn, kStart + at, length, wanted, false});
  }
  /// The addresses that [at, at + bytes) leads to.
  [[nodiscard]] std::vector<Iova> where(std::uint32_t key, std::uint64_t at,
                                        std::uint32_t bytes) const {
    const Extents extents = table_.translate(key, kStart + at, bytes);
    std::vector<Iova> list;
    for (std::uint32_t i = 0; i < extents.count; ++i) list.push_back(extents.extent[i].iova);
    return list;
  }

  MkeyTable table_{10};
  std::uint32_t index_ = 0;
  std::uint32_t first_;
  std::uint32_t second_;
  std::vector<Entry> both_;
};

TEST_F(IndirectKey, Entries_LieOneBehindTheOther) {
  const auto key = indirect(both_, 2 * kRegion);
  EXPECT_EQ(check(key, 0, 2 * kRegion), KeyCheck::Ok);
  EXPECT_THAT(where(key, 8, 8), ElementsAre(kFirst + 8));
  EXPECT_THAT(where(key, kRegion + 0x1008, 8), ElementsAre(kSecond + kStride + 8));
}

TEST_F(IndirectKey, AccessAcrossEntriesAndPages_IsSplitAtEach) {
  const std::vector<Entry> crooked{{0x1800, first_, 0x800}, {0x1800, second_, 0x100}};
  const auto key = indirect(crooked, 0x3000);
  EXPECT_EQ(check(key, 0x700, 4096), KeyCheck::Ok);
  EXPECT_THAT(where(key, 0x700, 0x1000), ElementsAre(kFirst + 0xf00, kFirst + kStride));
  EXPECT_THAT(where(key, 0x1700, 0x1000), ElementsAre(kFirst + kStride + 0xf00, kSecond + 0x100));
  EXPECT_EQ(table_.translate(key, kStart + 0x1700, 0x1000).extent[1].bytes, 0xf00U);
}

TEST_F(IndirectKey, EntryOfNoBytes_IsPassedOver) {
  const auto key = indirect(
      {{0, 0, 0}, {kRegion, first_, 0}, {0, 0, 0}, {kRegion, second_, 0}, {0, 0, 0}}, 2 * kRegion);
  EXPECT_EQ(check(key, 0, 2 * kRegion), KeyCheck::Ok);
  EXPECT_THAT(where(key, kRegion, 8), ElementsAre(kSecond));
  EXPECT_THAT(where(key, kRegion - 8, 16), ElementsAre(kFirst + kStride + 0xff8, kSecond));
}

TEST_F(IndirectKey, OutsideItsOwnRange_IsRefusedThoughAnEntryGoesOn) {
  const auto key = indirect(both_, kRegion + 0x10);
  EXPECT_EQ(check(key, kRegion, 0x10), KeyCheck::Ok);
  EXPECT_EQ(check(key, kRegion, 0x11), KeyCheck::BadRange);
  EXPECT_THAT(where(key, kRegion, 0x11), ElementsAre());
}

TEST_F(IndirectKey, EntryBeyondItsDirectKey_IsRefused) {
  const auto key = indirect({{kRegion, first_, 8}, {kRegion, second_, 0}}, 2 * kRegion);
  EXPECT_EQ(check(key, 0, kRegion - 8), KeyCheck::Ok);
  EXPECT_EQ(check(key, 0, kRegion - 7), KeyCheck::BadRange);
}

// ---- rights of both levels ----

TEST_F(IndirectKey, RemoteRights_AreItsOwn) {
  auto made = parent(2, 2 * kRegion);
  made.set<"rw", 0>();
  const auto key = create(made, list_of(both_));
  EXPECT_EQ(check(key, 0, 8, access::kRemoteRead), KeyCheck::Ok);
  EXPECT_EQ(check(key, 0, 8, access::kRemoteWrite), KeyCheck::BadAccess);
}

TEST_F(IndirectKey, LocalRights_AreTheDirectKeys) {
  const auto key = indirect({{kRegion, direct(kFirst, /*may_write=*/false), 0}}, kRegion);
  EXPECT_EQ(check(key, 0, 8, access::kRemoteRead), KeyCheck::Ok);
  EXPECT_EQ(check(key, 0, 8, access::kRemoteWrite), KeyCheck::BadAccess);
}

TEST_F(IndirectKey, DirectKeyUnderIt_IsNoKeyForAPeer) {
  (void)indirect(both_, 2 * kRegion);
  const KeyUse use{first_, kPd, kQpn, 0, 8, access::kRemoteRead, false};
  EXPECT_EQ(table_.check(use), KeyCheck::BadAccess);
}

TEST_F(IndirectKey, DirectKeyOfAnotherPd_IsRefused) {
  const auto key = indirect({{kRegion, direct(kFirst, true, kPd + 1), 0}}, kRegion);
  EXPECT_EQ(check(key, 0, 8), KeyCheck::BadPd);
}

TEST_F(IndirectKey, DomainBelowUnchecked_DirectKeyOfAnotherPdWillDo) {
  const auto foreign = direct(kFirst, true, kPd + 1);
  const auto key = indirect({{kRegion, foreign, 0}}, kRegion);
  table_.check_domain_below(false);
  EXPECT_EQ(check(key, 0, 8), KeyCheck::Ok);
  EXPECT_EQ(table_.check({key, kPd + 1, kQpn, kStart, 8, access::kRemoteWrite, false}),
            KeyCheck::BadPd);
}

/// As mlx5_ib's keys with signatures have them where memory has gaps.
TEST_F(IndirectKey, MayBeAnEntryItself) {
  const auto key = indirect(both_, 2 * kRegion);
  const auto above = indirect({{kRegion, first_, 0}, {2 * kRegion, key, kStart}}, 3 * kRegion);
  EXPECT_EQ(check(above, 0, 3 * kRegion), KeyCheck::Ok);
  // What lies behind another entry is followed on its own.
  EXPECT_THAT(where(above, kRegion - 8, 16), ElementsAre(kFirst + kStride + 0xff8));
  EXPECT_THAT(where(above, 2 * kRegion - 8, 16), ElementsAre(kFirst + kStride + 0xff8, kSecond));
}

TEST_F(IndirectKey, DmaThroughTwo_IsPendingUnderAll) {
  const auto key = indirect(both_, 2 * kRegion);
  const auto above = indirect({{2 * kRegion, key, kStart}}, 2 * kRegion);
  const auto holds = table_.begin_dma(above, table_.translate(above, kStart + kRegion - 8, 16));
  EXPECT_TRUE(table_.has_pending_dma(above >> 8));
  EXPECT_TRUE(table_.has_pending_dma(key >> 8));
  EXPECT_TRUE(table_.has_pending_dma(first_ >> 8));
  EXPECT_TRUE(table_.has_pending_dma(second_ >> 8));
  table_.end_dma(holds);
  EXPECT_FALSE(table_.has_pending_dma(second_ >> 8));
}

TEST_F(IndirectKey, BehindTwoOthers_IsRefused) {
  const auto key = indirect(both_, 2 * kRegion);
  const auto above = indirect({{kRegion, key, kStart}}, kRegion);
  const auto top = indirect({{kRegion, above, kStart}}, kRegion);
  EXPECT_EQ(check(top, 0, 8), KeyCheck::BadKey);
  EXPECT_THAT(where(top, 0, 8), ElementsAre());
}

TEST_F(IndirectKey, ThatLeadsToItself_IsRefused) {
  const auto key = indirect(both_, 2 * kRegion);
  const std::vector<std::byte> loop = list_of(std::vector<Entry>{{2 * kRegion, key, kStart}});
  ASSERT_TRUE(table_.reconfigure({.key = key,
                                  .octwords = 1,
                                  .context = prm::ConstView<prm::mkc>{parent(2, 0).all()},
                                  .translations = loop}));
  EXPECT_EQ(check(key, 0, 8), KeyCheck::BadKey);
  EXPECT_THAT(where(key, 0, 8), ElementsAre());
}

// ---- what lives longer than what ----

TEST_F(IndirectKey, DestroyedDirectKey_RefusesUnderALiveOne) {
  const auto key = indirect(both_, 2 * kRegion);
  ASSERT_TRUE(table_.destroy(first_ >> 8).ok());
  EXPECT_EQ(check(key, 0, 8), KeyCheck::BadKey);
  EXPECT_EQ(check(key, kRegion - 8, 16), KeyCheck::BadKey);
  EXPECT_THAT(where(key, 0, 8), ElementsAre());
  EXPECT_EQ(check(key, kRegion, 8), KeyCheck::Ok);
}

TEST_F(IndirectKey, IndexOfADestroyedKeyGivenAgain_IsAnotherKey) {
  table_.reuse_indices(true);
  const auto key = indirect(both_, 2 * kRegion);
  ASSERT_TRUE(table_.destroy(first_ >> 8).ok());
  auto made = context(prm::MkcAccessMode::MTT, 1);
  made.set<"lr", 1>().set<"lw", 1>().set<"mkey_7_0", kVariant + 1>();
  made.put<"len">(kRegion).set<"log_page_size", 12>();
  (void)create(made, list_of(std::vector<std::uint64_t>{kFirst, kFirst + kStride}));
  ASSERT_EQ(index_, first_ >> 8);
  EXPECT_EQ(check(key, 0, 8), KeyCheck::BadKey);
  EXPECT_THAT(where(key, 0, 8), ElementsAre());
}

TEST_F(IndirectKey, Destroyed_LeavesItsDirectKeys) {
  const auto key = indirect(both_, 2 * kRegion);
  ASSERT_TRUE(table_.destroy(key >> 8).ok());
  EXPECT_EQ(check(key, 0, 8), KeyCheck::BadKey);
  EXPECT_EQ(table_.check({first_, kPd, kQpn, 0, 8, access::kLocalWrite, false}), KeyCheck::Ok);
}

TEST_F(IndirectKey, DmaThroughIt_IsPendingUnderBothKeys) {
  const auto key = indirect(both_, 2 * kRegion);
  const auto holds = table_.begin_dma(key, table_.translate(key, kStart + kRegion - 8, 16));
  EXPECT_TRUE(table_.has_pending_dma(key >> 8));
  EXPECT_TRUE(table_.has_pending_dma(first_ >> 8));
  EXPECT_TRUE(table_.has_pending_dma(second_ >> 8));
  table_.end_dma(holds);
  EXPECT_FALSE(table_.has_pending_dma(key >> 8));
  EXPECT_FALSE(table_.has_pending_dma(first_ >> 8));
  EXPECT_FALSE(table_.has_pending_dma(second_ >> 8));
}

// ---- making and changing one ----

TEST_F(IndirectKey, LongerThanItsEntries_Refused) {
  EXPECT_EQ(try_create(parent(2, 2 * kRegion + 1), list_of(both_)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(IndirectKey, MoreEntriesThanItsTable_Refused) {
  EXPECT_EQ(try_create(parent(1, kRegion), list_of(both_)).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(IndirectKey, TableForMoreEntriesThanOffered_IsRefusedThoughItIsFree) {
  auto made = parent((std::size_t{1} << MkeyTable::kLogMaxKlms) + 1, kRegion);
  made.set<"free", 1>();
  EXPECT_EQ(try_create(made, {}).status, CommandStatus::BAD_PARAM_ERR);
  made.put<"translations_octword_size">(std::uint64_t{1} << MkeyTable::kLogMaxKlms);
  EXPECT_TRUE(try_create(made, {}).ok());
}

TEST_F(IndirectKey, ShortEntries_AreFollowedTwoAtATime) {
  const auto key =
      indirect({{8, first_, 0}, {4, second_, 16}, {8, first_, 64}, {100, second_, 0}}, 120);
  EXPECT_EQ(check(key, 0, 120), KeyCheck::Ok);
  EXPECT_EQ(check(key, 0, 121), KeyCheck::BadRange);
  EXPECT_THAT(where(key, 0, 120), ElementsAre(kFirst, kSecond + 16));
  EXPECT_THAT(where(key, 12, 20), ElementsAre(kFirst + 64, kSecond));
  std::vector<Iova> all;
  std::uint32_t bytes = 0;
  EXPECT_TRUE(table_.translate_all(key, kStart, 120, [&](const Extents& part) {
    for (std::uint32_t i = 0; i < part.count; ++i) all.push_back(part.extent[i].iova);
    bytes += part.bytes();
    return true;
  }));
  EXPECT_THAT(all, ElementsAre(kFirst, kSecond + 16, kFirst + 64, kSecond));
  EXPECT_EQ(bytes, 120U);
}

TEST_F(IndirectKey, PartThatIsNotThere_EndsTheTranslation) {
  const auto key = indirect({{8, first_, 0}, {8, first_, 8}, {8, second_, 0}}, 24);
  ASSERT_TRUE(table_.destroy(second_ >> 8).ok());
  std::uint32_t parts = 0;
  EXPECT_FALSE(table_.translate_all(key, kStart, 24, [&](const Extents&) {
    ++parts;
    return true;
  }));
  EXPECT_EQ(parts, 1U);
}

TEST_F(IndirectKey, MostThatEntriesCanHold_DoesNotWrap) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto key = indirect({{kMost, first_, ~std::uint64_t{0}}, {kMost, second_, 0}}, kMost);
  EXPECT_EQ(check(key, 0, kMost), KeyCheck::BadRange);
}

TEST_F(IndirectKey, MadeFree_TakesItsEntriesByUmr) {
  auto made = parent(2, 2 * kRegion);
  made.set<"free", 1>();
  const auto key = create(made, {});
  EXPECT_EQ(check(key, 0, 8), KeyCheck::BadKey);
  const auto list = list_of(both_);
  UmrRequest umr{.key = key,
                 .mask = prm::number(prm::MkeyMask::FREE),
                 .octwords = 2,
                 .context = prm::ConstView<prm::mkc>(made.all()),
                 .translations = list};
  made.set<"free", 0>();
  EXPECT_TRUE(table_.reconfigure(umr));
  EXPECT_EQ(check(key, 0, 2 * kRegion), KeyCheck::Ok);
}

TEST_F(IndirectKey, EntryReplacedByUmr_LeadsElsewhere) {
  const auto key = indirect(both_, 2 * kRegion);
  const auto list = list_of(std::vector<Entry>{{kRegion, first_, 0}});
  const prm::Buffer<prm::mkc> same;
  ASSERT_TRUE(table_.reconfigure({.key = key,
                                  .offset_octwords = 1,
                                  .octwords = 1,
                                  .context = prm::ConstView<prm::mkc>(same.all()),
                                  .translations = list}));
  EXPECT_THAT(where(key, kRegion, 8), ElementsAre(kFirst));
}

TEST_F(IndirectKey, UmrThatWouldLeaveAHole_Refused) {
  const auto key = indirect(both_, 2 * kRegion);
  const auto list = list_of(std::vector<Entry>{{0, 0, 0}});
  const prm::Buffer<prm::mkc> same;
  EXPECT_FALSE(table_.reconfigure({.key = key,
                                   .octwords = 1,
                                   .context = prm::ConstView<prm::mkc>(same.all()),
                                   .translations = list}));
  EXPECT_EQ(check(key, 0, 2 * kRegion), KeyCheck::Ok);
}

}  // namespace
}  // namespace portcullis::model
