// SPDX-License-Identifier: BSD-3-Clause
//
// UMR WQEs byte by byte as Linux's mlx5_ib builds them: the memory region of an application
// (mlx5r_umr_update_mr_pas, mlx5r_umr_revoke_mr of umr.c) and the fast registration of a kernel
// consumer (set_reg_wr of wr.c). Offsets are those of struct mlx5_wqe_umr_ctrl_seg and
// mlx5_ifc_mkc.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::WqeOpcode;

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::uint32_t kUmrQp = 0x42;
constexpr std::uint32_t kUmrPd = 99;  // dev->umrc.pd, of the list's lkey and of free keys
constexpr std::uint32_t kVariant = 0xff;

constexpr std::size_t kFlexAlignment = 0x40;  // MLX5_UMR_FLEX_ALIGNMENT
constexpr std::size_t kOctoword = 16;         // MLX5_IB_UMR_OCTOWORD
constexpr std::uint64_t kMttPresent = 3;      // MLX5_IB_MTT_PRESENT
constexpr std::size_t kControlBytes = 48, kMkeyBytes = 64;

// enum of include/linux/mlx5/device.h
constexpr std::uint64_t kLen = 1ull << 0, kPageSize = 1ull << 1, kStartAddr = 1ull << 6,
                        kPdMask = 1ull << 7, kKey = 1ull << 13, kLr = 1ull << 17, kLw = 1ull << 18,
                        kRr = 1ull << 19, kRw = 1ull << 20, kA = 1ull << 21, kFree = 1ull << 29;
constexpr std::uint64_t kTranslation = kLen | kPageSize | kStartAddr;
constexpr std::uint64_t kAccess = kLr | kLw | kRr | kRw | kA;
constexpr std::uint8_t kInline = 1 << 7, kCheckNotFree = 1 << 5, kOffsetEn = 1 << 4;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kFlexAlignment - 1) / kFlexAlignment * kFlexAlignment;
}

/// struct mlx5r_umr_wqe without what stands behind the key.
struct LinuxWqe {
  std::uint8_t flags = 0;
  std::size_t list_bytes = 0;
  std::uint64_t mask = 0;
  std::uint64_t start = 0, length = 0;
  std::uint32_t pd = kPd;
  bool is_free = false;

  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(kControlBytes + kMkeyBytes);
    const std::span<std::byte> control(all), key = control.subspan(kControlBytes);
    control[0] = std::byte{flags};
    put_be(control.subspan(4, 2), aligned(list_bytes) / kOctoword);  // xlt_octowords
    put_be(control.subspan(8, 8), mask);
    put_be(key.first(4), (is_free ? 1U << 30 : 0) | 0x3c00);  // lr, lw, rr, rw
    put_be(key.subspan(4, 4), 0xffffff00 | kVariant);         // qpn, mkey_7_0
    put_be(key.subspan(12, 4), pd);
    put_be(key.subspan(16, 8), start);
    put_be(key.subspan(24, 8), length);
    key[59] = std::byte{12};  // log_page_size
    return all;
  }
};

class LinuxUmr : public ::testing::Test {
 protected:
  LinuxUmr() {
    fill_pattern(from.bytes, 5);
    host.connect(kClient, kServer);
    host.connect(kServer, kClient);
    host.connect(kUmrQp, 0, {.pd = 0, .service = prm::QpServiceType::REG_UMR});
  }
  void post(std::uint32_t qpn, std::span<const std::byte> wqe, std::uint32_t key) {
    host.post_raw(qpn, WqeOpcode::UMR, wqe, true, key);
    host.ring(qpn);
    host.run();
  }
  /// mlx5r_umr_update_mr_pas of a region with these pages: what MLX5_IB_UPD_XLT_ENABLE makes of it.
  void update_mr_pas(std::uint32_t key, std::vector<Iova> pages) {
    const std::size_t bytes = pages.size() * 8;
    for (std::size_t i = 0; i < pages.size(); ++i)
      put_be(list.bytes.subspan(i * 8, 8), pages[i] | kMttPresent);
    const LinuxWqe linux_wqe{.flags = kCheckNotFree | kOffsetEn,
                             .list_bytes = bytes,
                             .mask = kKey | kFree | kAccess | kPdMask | kTranslation,
                             .start = address_of(to),
                             .length = pages.size() * kPageBytes};
    std::vector<std::byte> wqe = linux_wqe.bytes();
    const std::array sge{
        Piece{address_of(list), static_cast<std::uint32_t>(aligned(bytes)), list_key}};
    const std::vector<std::byte> data = segments_of(sge);
    wqe.insert(wqe.end(), data.begin(), data.end());
    post(kUmrQp, wqe, key);
  }
  [[nodiscard]] Cqe write(std::uint32_t rkey, std::uint64_t at, std::uint32_t bytes) {
    host.post_and_ring(kClient, {address_of(to) + at, rkey, lkey, address_of(from), bytes, true});
    host.run();
    return only_completion();
  }
  [[nodiscard]] Cqe only_completion() {
    const auto all = host.drain_cq();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Cqe{} : all.front();
  }

  Host host;
  Region from = host.map(3 * 4096);
  Region to = host.map(3 * 4096);
  Region list = host.map(4096);
  std::uint32_t lkey = host.make_key(from, access::kLocalRead);
  std::uint32_t list_key = host.make_key(list, access::kLocalRead, kUmrPd);
};

TEST_F(LinuxUmr, RegionOfOnePage_IsRegisteredThoughItsListIsPaddedToEight) {
  const std::uint32_t key = host.make_free_key(prm::MkcAccessMode::MTT, 1, kUmrPd);
  update_mr_pas(key, {to.iova});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  const std::uint32_t rkey = (key & ~0xffU) | kVariant;
  EXPECT_EQ(write(rkey, 0, 64).opcode, CqeOpcode::REQ);
  EXPECT_TRUE(std::ranges::equal(to.bytes.first(64), from.bytes.first(64)));
}

TEST_F(LinuxUmr, RegionOfThreePagesThatLieApart_LeadsToEachOfThem) {
  const std::uint32_t key = host.make_free_key(prm::MkcAccessMode::MTT, 2, kUmrPd);
  update_mr_pas(key, {to.iova + 2 * kPageBytes, to.iova, to.iova + kPageBytes});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  const std::uint32_t rkey = (key & ~0xffU) | kVariant;
  EXPECT_EQ(write(rkey, 0, 2 * kPageBytes).opcode, CqeOpcode::REQ);
  EXPECT_TRUE(std::ranges::equal(to.bytes.subspan(2 * kPageBytes), from.bytes.first(kPageBytes)));
  EXPECT_TRUE(
      std::ranges::equal(to.bytes.first(kPageBytes), from.bytes.subspan(kPageBytes, kPageBytes)));
}

TEST_F(LinuxUmr, PaddingOfAList_GivesNobodyMoreThanTheRegion) {
  const std::uint32_t key = host.make_free_key(prm::MkcAccessMode::MTT, 1, kUmrPd);
  put_be(list.bytes.subspan(8, 8), (to.iova + kPageBytes) | kMttPresent);
  update_mr_pas(key, {to.iova});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_EQ(write((key & ~0xffU) | kVariant, kPageBytes, 64).syndrome,
            CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(LinuxUmr, ListBeyondThePadding_EndsInABindError) {
  const std::uint32_t key = host.make_free_key(prm::MkcAccessMode::MTT, 1, kUmrPd);
  update_mr_pas(key, std::vector<Iova>(9, to.iova));  // sixteen entries, eight have a unit
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(LinuxUmr, RegionRevoked_RefusesItsPeers) {
  const std::uint32_t key = host.make_free_key(prm::MkcAccessMode::MTT, 1, kUmrPd);
  update_mr_pas(key, {to.iova});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  const std::uint32_t rkey = (key & ~0xffU) | kVariant;
  const LinuxWqe revoke{.flags = kInline, .mask = kPdMask | kFree, .pd = kUmrPd, .is_free = true};
  post(kUmrQp, revoke.bytes(), rkey);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_EQ(write(rkey, 0, 64).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

// ---- IB_WR_REG_MR on an RC QP: the list stands in the WQE, which is filled up to its block ----

struct Klm {
  std::uint32_t bytes = 0, key = 0;
  std::uint64_t va = 0;
};

std::vector<std::byte> fast_registration(const LinuxWqe& linux_wqe, std::span<const Klm> klms,
                                         std::byte left_over) {
  std::vector<std::byte> wqe = linux_wqe.bytes();
  const std::size_t list_at = wqe.size();
  wqe.resize(list_at + kFlexAlignment, left_over);
  for (std::size_t i = 0; i < klms.size(); ++i) {
    const auto entry = std::span(wqe).subspan(list_at + i * kOctoword, kOctoword);
    put_be(entry.first(4), klms[i].bytes);
    put_be(entry.subspan(4, 4), klms[i].key);
    put_be(entry.subspan(8, 8), klms[i].va);
  }
  return wqe;
}

TEST_F(LinuxUmr, FastRegistrationOfOneKlm_PassesOverWhatTheBlockHeldBefore) {
  const std::uint32_t key = host.make_free_key(prm::MkcAccessMode::KLMS, 4, kPd);
  const std::uint32_t direct = host.make_key(to, access::kLocalRead | access::kLocalWrite);
  const std::array klms{Klm{512, direct, address_of(to)}};
  const LinuxWqe reg{.flags = kInline | kCheckNotFree,
                     .list_bytes = sizeof(Klm),
                     .mask = kLen | kPageSize | kStartAddr | kKey | kAccess | kFree,
                     .start = address_of(to),
                     .length = 512};
  post(kServer, fast_registration(reg, klms, std::byte{0x5a}), key);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  const std::uint32_t rkey = (key & ~0xffU) | kVariant;
  EXPECT_EQ(write(rkey, 0, 512).opcode, CqeOpcode::REQ);
  EXPECT_EQ(write(rkey, 512, 8).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
