// SPDX-License-Identifier: BSD-3-Clause
//
// UMR WQEs: what a client meets when its key is freed or changed by one, when they complete, and
// how those end that cannot be carried out. The table's own rules are in
// tests/model/mkey_umr_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/cells.hpp"
#include "model/transport/pace.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::MkeyMask;
using prm::WqeOpcode;

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::uint32_t kUmrQp = 0x42;
constexpr std::uint32_t kUmrPd = 99;  // mlx5_ib's UMR QP has a PD of its own

/// A UMR WQE behind its control segment.
struct UmrWqe {
  std::uint8_t flags = prm::kUmrInline;
  std::uint16_t octowords = 0;
  std::uint64_t mask = prm::number(MkeyMask::FREE);
  prm::Buffer<prm::mkc> context{};
  std::vector<std::byte> behind{};  // translations, or a data segment

  [[nodiscard]] std::vector<std::byte> bytes() const {
    constexpr std::size_t kContextAt = prm::mlx5_wqe_umr_ctrl_seg::bytes;
    constexpr std::size_t kBehindAt = kContextAt + prm::mkc::bytes;
    std::vector<std::byte> all(kBehindAt + behind.size());
    const auto control = prm::View<prm::mlx5_wqe_umr_ctrl_seg>::at(all);
    control.put<"flags">(flags);
    control.put<"klm_octowords">(octowords);
    control.put<"mkey_mask">(mask);
    std::ranges::copy(context.all(), all.begin() + kContextAt);
    std::ranges::copy(behind, all.begin() + kBehindAt);
    return all;
  }
};

/// What LOCAL_INV is made of: set_linv_wr of mlx5_ib/wr.c.
UmrWqe local_invalidate() {
  UmrWqe wqe;
  wqe.context.set<"free", 1>();
  return wqe;
}

std::vector<std::byte> translation_to(Iova page) {
  std::vector<std::byte> octoword(16);
  const std::uint64_t raw = cells::be64(page | 3);
  std::memcpy(octoword.data(), &raw, sizeof raw);
  return octoword;
}

class Umr : public ::testing::Test {
 protected:
  explicit Umr(std::shared_ptr<Pace> pace = nullptr)
      : host(nullptr, "", PortType::Ethernet, std::move(pace)) {
    fill_pattern(from.bytes, 5);
    host.connect(kClient, kServer);
    host.connect(kServer, kClient);
    host.connect(kUmrQp, 0, {.pd = kUmrPd, .service = prm::QpServiceType::REG_UMR});
  }
  void post(const UmrWqe& wqe, std::uint32_t qpn = kUmrQp) {
    host.post_raw(qpn, WqeOpcode::UMR, wqe.bytes(), true, rkey);
    host.ring(qpn);
    host.run();
  }
  void write() {
    host.post_and_ring(kClient, {remote, rkey, lkey, local, 64, true});
    host.run();
  }
  [[nodiscard]] Cqe only_completion() {
    const auto all = host.drain_cq();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Cqe{} : all.front();
  }
  void expect_fails(const UmrWqe& wqe, CqeSyndrome syndrome, std::uint32_t qpn = kUmrQp) {
    post(wqe, qpn);
    EXPECT_EQ(only_completion().syndrome, syndrome);
    EXPECT_EQ(host.state(qpn), prm::QpState::ERR);
    write();
    EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  }

  Host host;
  Region from = host.map(4096);
  Region to = host.map(4096);
  Region other = host.map(4096);
  std::uint64_t local = std::bit_cast<std::uint64_t>(from.bytes.data());
  std::uint64_t remote = std::bit_cast<std::uint64_t>(to.bytes.data());
  std::uint32_t lkey = host.make_key(from, access::kLocalRead);
  std::uint32_t rkey = host.make_key(to, access::kRemoteWrite);
};

TEST_F(Umr, LocalInvalidate_CompletesAndThePeerIsRefusedAtOnce) {
  post(local_invalidate());
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write();
  EXPECT_EQ(host.drain_cq().at(0).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
  EXPECT_EQ(to.bytes[0], std::byte{0});
}

TEST_F(Umr, RightTakenAway_PeerIsRefused) {
  UmrWqe wqe;
  wqe.mask = prm::number(MkeyMask::RW);
  post(wqe);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write();
  EXPECT_EQ(host.drain_cq().at(0).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(Umr, InlineTranslation_MovesTheKeyToAnotherPage) {
  UmrWqe wqe;
  wqe.mask = 0;
  wqe.octowords = 1;
  wqe.behind = translation_to(other.iova);
  post(wqe);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write();
  EXPECT_EQ(to.bytes[0], std::byte{0});
  EXPECT_TRUE(std::ranges::equal(other.bytes.first(64), from.bytes.first(64)));
}

TEST_F(Umr, TranslationFromMemory_MovesTheKeyToAnotherPage) {
  const Region list = host.map(4096);
  std::ranges::copy(translation_to(other.iova), list.bytes.begin());
  const std::array pieces{Piece{std::bit_cast<std::uint64_t>(list.bytes.data()), 64,
                                host.make_key(list, access::kLocalRead, kUmrPd)}};
  UmrWqe wqe;
  wqe.mask = 0;
  wqe.flags = 0;
  wqe.octowords = 1;
  wqe.behind = segments_of(pieces);
  post(wqe);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write();
  EXPECT_TRUE(std::ranges::equal(other.bytes.first(64), from.bytes.first(64)));
}

TEST_F(Umr, RcQpOfTheKeysPd_MayFreeIt) {
  post(local_invalidate(), kServer);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write();
  EXPECT_EQ(host.drain_cq().at(0).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(Umr, RcQpOfAnotherPd_EndsInABindError) {
  host.connect(0x50, 0x50, {.pd = kUmrPd});
  expect_fails(local_invalidate(), CqeSyndrome::MW_BIND_ERR, 0x50);
}

TEST_F(Umr, CheckThatFails_EndsInABindErrorAndChangesNothing) {
  UmrWqe wqe = local_invalidate();
  wqe.flags |= prm::kUmrFailIfNotFree;
  expect_fails(wqe, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(Umr, LessInlineThanItSays_EndsInAnOperationError) {
  UmrWqe wqe;
  wqe.octowords = 2;
  wqe.behind = translation_to(other.iova);
  expect_fails(wqe, CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(Umr, TranslationsUnderAKeyThatIsNone_EndInAProtectionError) {
  const std::array pieces{Piece{local, 64, 0xdead00}};
  UmrWqe wqe;
  wqe.flags = 0;
  wqe.octowords = 1;
  wqe.behind = segments_of(pieces);
  expect_fails(wqe, CqeSyndrome::LOCAL_PROT_ERR);
}

TEST_F(Umr, ReservedBitSet_EndsInAnOperationError) {
  const auto bytes = [] {
    auto all = local_invalidate().bytes();
    all[1] = std::byte{1};
    return all;
  }();
  host.post_raw(kUmrQp, WqeOpcode::UMR, bytes, true, rkey);
  host.ring(kUmrQp);
  host.run();
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(Umr, WqeWithoutItsContext_EndsInAnOperationError) {
  const auto bytes = local_invalidate().bytes();
  host.post_raw(kUmrQp, WqeOpcode::UMR, std::span(bytes).first(48), true, rkey);
  host.ring(kUmrQp);
  host.run();
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(Umr, WriteOnAUmrQp_EndsInAnOperationError) {
  host.post_and_ring(kUmrQp, {remote, rkey, lkey, local, 64, true});
  host.run();
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(Umr, UmrsInARow_AreCarriedOutInOrder) {
  UmrWqe back;
  back.flags |= prm::kUmrFailIfNotFree;
  host.post_raw(kUmrQp, WqeOpcode::UMR, local_invalidate().bytes(), true, rkey);
  host.post_raw(kUmrQp, WqeOpcode::UMR, back.bytes(), true, rkey);
  host.ring(kUmrQp);
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 2U);
  write();
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
}

TEST_F(Umr, BehindAWrite_WaitsForItsAcknowledgement) {
  Peer peer(host);
  host.connect(0x50, 0x777, {.dest_mac = kPeerMac, .dest_gid = kPeerGid});
  host.post(0x50, {0x1000, 1, lkey, local, 64, true});
  host.post_raw(0x50, WqeOpcode::UMR, local_invalidate().bytes(), true, rkey);
  host.ring(0x50);
  write();
  EXPECT_EQ(only_completion().qpn, kClient);
  peer.acknowledge(0x50, 0x123);
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 2U);
  write();
  EXPECT_EQ(host.drain_cq().at(0).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(Umr, QpInError_FlushesIt) {
  ASSERT_TRUE(host.modify(kUmrQp, QpTransition::ToErr).ok());
  post(local_invalidate());
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::WR_FLUSH_ERR);
  write();
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
}

// ---- assumption A2 ----

/// Every payload waits a microsecond between its check and memory.
class HeldWrites final : public Pace {
 public:
  std::uint64_t delay_ns(const PaceStep& step, Ticket /*ticket*/) override {
    return step.at == PacePoint::WritePending ? 1000 : 0;
  }
};

class UmrWhileDmaIsPending : public Umr {
 protected:
  UmrWhileDmaIsPending() : Umr(std::make_shared<HeldWrites>()) {
    write();  // checked, and not written
    post(local_invalidate());
  }
};

TEST_F(UmrWhileDmaIsPending, CompletesAfterTheLastByte) {
  EXPECT_TRUE(host.drain_cq().empty());
  EXPECT_EQ(to.bytes[0], std::byte{0});
  host.run_until(2000);
  EXPECT_EQ(to.bytes[0], from.bytes[0]);
  const auto all = host.drain_cq();
  EXPECT_TRUE(std::ranges::any_of(
      all, [](const Cqe& c) { return c.qpn == kUmrQp && c.opcode == CqeOpcode::REQ; }));
}

TEST_F(UmrWhileDmaIsPending, NewPacketsAreRefusedThoughItHasNotCompleted) {
  write();
  EXPECT_TRUE(host.drain_cq().empty());
  host.run_until(2000);
  const auto all = host.drain_cq();
  EXPECT_TRUE(std::ranges::any_of(
      all, [](const Cqe& c) { return c.syndrome == CqeSyndrome::REMOTE_ACCESS_ERR; }));
}

TEST_F(UmrWhileDmaIsPending, WithoutA2_NextOneCompletesBeforeTheBytesLand) {
  host.behaviours().a2_off = true;
  host.connect(0x50, 0x50);
  post(local_invalidate(), 0x50);
  const auto all = host.drain_cq();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].opcode, CqeOpcode::REQ);
  EXPECT_EQ(to.bytes[0], std::byte{0});
}

// Its path is nowhere, and so is the sender of this frame.
TEST(UmrQp, PacketFromNowhere_IsDroppedAndNotAnswered) {
  Host host;
  Peer peer(host);
  host.connect(kUmrQp, 0, {.pd = kUmrPd, .service = prm::QpServiceType::REG_UMR});
  Path path = Peer::path_to(kUmrQp);
  path.source_ip = path.dest_ip = Gid{};
  PacketHeader header;
  header.opcode = BthOpcode::SendOnly;
  header.ack_request = true;
  header.psn = 0x123;
  peer.send(path, header);
  host.run();
  EXPECT_EQ(host.counters().frames_dropped, 1U);
  EXPECT_EQ(host.counters().frames_sent, 0U);
  EXPECT_EQ(host.state(kUmrQp), prm::QpState::RTS);
}

}  // namespace
}  // namespace portcullis::model::testing
