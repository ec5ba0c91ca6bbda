// SPDX-License-Identifier: BSD-3-Clause
//
// Memory windows: keys as mlx5_ib_alloc_mw makes them, bound by WQEs as libmlx5 builds them
// (set_bind_wr of providers/mlx5/qp.c), and taken back by their owner or by a SEND with invalidate
// of the peer. Offsets are those of struct mlx5_wqe_umr_ctrl_seg and mlx5_wqe_mkey_context_seg.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::WqeOpcode;

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::uint32_t kOther = 0x43;
constexpr std::uint32_t kOtherPd = 77;
constexpr std::uint32_t kWindowOctowords = 4;  // ndescs of mlx5_ib_alloc_mw
constexpr std::uint8_t kNewVariant = 0x21;

// MLX5_WQE_UMR_CTRL_* of mlx5dv.h
constexpr std::uint8_t kInline = 1 << 7, kCheckFree = 1 << 5, kOffset = 1 << 4, kCheckQpn = 1 << 3;
constexpr std::uint64_t kLen = 1 << 0, kStart = 1 << 6, kMkey = 1 << 13, kQpn = 1 << 14,
                        kAccess = 0xf << 18, kFree = 1 << 29;

/// ibv_mw_bind_info, and of which type the window is.
struct Bind {
  bool is_type_2 = true;
  std::uint32_t qpn = kServer;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;

  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(48 + 64 + (length != 0 ? 64 : 0));
    const std::span<std::byte> control(all), mkey = control.subspan(48);
    std::uint8_t flags = kOffset | kInline;
    std::uint64_t mask = kFree | kMkey | (is_type_2 ? kQpn : 0);
    if (length != 0) {
      flags = static_cast<std::uint8_t>(flags | (is_type_2 ? kCheckFree : 0));
      mask |= kLen | kStart | kAccess;
      put_be(control.subspan(4, 2), kWindowOctowords);
      constexpr std::uint8_t kRemoteWrite = 1 << 5;
      mkey[2] = std::byte{kRemoteWrite};
      put_be(mkey.subspan(16, 8), address);
      put_be(mkey.subspan(24, 8), length);
      const std::span<std::byte> klm = mkey.subspan(64);
      put_be(klm.first(4), length);
      put_be(klm.subspan(4, 4), lkey);
      put_be(klm.subspan(8, 8), address);
    } else {
      flags = static_cast<std::uint8_t>(flags | (is_type_2 ? kCheckQpn : 0));
      constexpr std::uint8_t kContextFree = 1 << 6;
      mkey[0] = std::byte{kContextFree};
    }
    control[0] = std::byte{flags};
    put_be(control.subspan(8, 8), mask);
    const bool any_qp = !is_type_2 || length == 0;
    put_be(mkey.subspan(4, 4), (any_qp ? 0xffffff00U : qpn << 8) | kNewVariant);
    return all;
  }
};

class MemoryWindow : public ::testing::Test {
 protected:
  MemoryWindow() {
    fill_pattern(from.bytes, 5);
    QpOptions options;
    options.log_rq_size = 2;
    host.connect(kClient, kServer, options);
    host.connect(kServer, kClient, options);
    options.pd = kOtherPd;
    host.connect(kOther, kOther, options);
  }
  [[nodiscard]] Bind whole(bool is_type_2 = true) const {
    return {is_type_2, kServer, address_of(to), 256, region_key};
  }
  /// Of the server, whose window it is.
  void bind(const Bind& bind, std::uint32_t window) {
    host.post_raw(kServer, WqeOpcode::UMR, bind.bytes(), true, window);
    host.ring(kServer);
    host.run();
  }
  [[nodiscard]] std::uint32_t window(bool is_type_2 = true, std::uint32_t pd = kPd) {
    return host.make_free_key(prm::MkcAccessMode::KLMS, kWindowOctowords, pd, is_type_2);
  }
  /// A bound window's rkey.
  std::uint32_t bound(bool is_type_2 = true) {
    const std::uint32_t key = window(is_type_2);
    bind(whole(is_type_2), key);
    EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
    return (key & ~0xffU) | kNewVariant;
  }
  void write(std::uint32_t rkey, std::uint32_t offset = 0) {
    host.post_and_ring(kClient, {address_of(to) + offset, rkey, lkey, address_of(from), 64, true});
    host.run();
  }
  /// The client's SEND, into a receive of the server.
  std::vector<Cqe> send_with_invalidate(std::uint32_t rkey) {
    const std::array receive{Piece{address_of(inbox), 4096, inbox_key}};
    host.post_receive(kServer, receive);
    const std::array pieces{Piece{address_of(from), 64, lkey}};
    host.post_raw(kClient, WqeOpcode::SEND_INVAL, segments_of(pieces), true, rkey);
    host.ring(kClient);
    host.run();
    return host.drain_cq();
  }
  [[nodiscard]] Cqe only_completion() {
    const auto all = host.drain_cq();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Cqe{} : all.front();
  }
  static Cqe of(const std::vector<Cqe>& all, std::uint32_t qpn) {
    const auto found = std::ranges::find(all, qpn, &Cqe::qpn);
    return found == all.end() ? Cqe{} : *found;
  }

  Host host;
  Region from = host.map(4096);
  Region to = host.map(4096);
  Region inbox = host.map(4096);
  std::uint32_t lkey = host.make_key(from, access::kLocalRead);
  std::uint32_t inbox_key = host.make_key(inbox, access::kLocalWrite);
  /// Of the memory region below the window: no peer may use it by itself.
  std::uint32_t region_key = host.make_key(to, access::kLocalRead | access::kLocalWrite);
};

TEST_F(MemoryWindow, BoundToAPart_LetsThePeerWriteThatPartAlone) {
  const std::uint32_t rkey = bound();
  write(rkey, 192);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(std::ranges::equal(to.bytes.subspan(192, 64), from.bytes.first(64)));
  write(rkey, 256);
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(MemoryWindow, OfTypeOne_IsBoundAgainWithoutBeingFreeAndUnboundByALengthOfZero) {
  const std::uint32_t rkey = bound(false);
  bind(whole(false), rkey);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write(rkey);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  bind({.is_type_2 = false}, rkey);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write(rkey);
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(MemoryWindow, OfTypeTwoThatIsBound_IsNotBoundAgain) {
  const std::uint32_t rkey = bound();
  bind(whole(), rkey);
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(MemoryWindow, LocalInvalidate_TakesItBack) {
  const std::uint32_t rkey = bound();
  bind({}, rkey);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write(rkey);
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(MemoryWindow, SendWithInvalidate_TakesItBackAndTheReceiverIsToldWhich) {
  const std::uint32_t rkey = bound();
  const auto all = send_with_invalidate(rkey);
  EXPECT_EQ(of(all, kClient).opcode, CqeOpcode::REQ);
  EXPECT_EQ(of(all, kServer).opcode, CqeOpcode::RESP_SEND_INV);
  EXPECT_EQ(of(all, kServer).immediate, rkey);
  EXPECT_EQ(of(all, kServer).byte_cnt, 64U);
  EXPECT_TRUE(std::ranges::equal(inbox.bytes.first(64), from.bytes.first(64)));
  write(rkey);
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(MemoryWindow, InvalidatedByAPeer_CanBeBoundAgain) {
  const std::uint32_t rkey = bound();
  send_with_invalidate(rkey);
  bind(whole(), rkey);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  write(rkey);
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
}

TEST_F(MemoryWindow, SendWithInvalidateOfAKeyThatDoesNotAdmitIt_IsARemoteAccessError) {
  const auto all = send_with_invalidate(region_key);
  EXPECT_EQ(of(all, kClient).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
  EXPECT_EQ(host.state(kServer), prm::QpState::ERR);
  EXPECT_EQ(inbox.bytes[1], std::byte{0});
}

TEST_F(MemoryWindow, SendWithInvalidateOfTypeOne_IsARemoteAccessError) {
  const std::uint32_t rkey = bound(false);
  EXPECT_EQ(of(send_with_invalidate(rkey), kClient).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(MemoryWindow, SendWithInvalidateTwice_IsRefusedTheSecondTime) {
  const std::uint32_t rkey = bound();
  EXPECT_EQ(of(send_with_invalidate(rkey), kClient).opcode, CqeOpcode::REQ);
  EXPECT_EQ(of(send_with_invalidate(rkey), kClient).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(MemoryWindow, SendWithInvalidateOfAnotherVariant_IsRefusedAndTakesNothing) {
  const std::uint32_t rkey = bound();
  EXPECT_EQ(of(send_with_invalidate(rkey ^ 1), kClient).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(MemoryWindow, OfAnotherPd_IsNeitherBoundNorInvalidated) {
  const std::uint32_t key = window(true, kOtherPd);
  bind(whole(), key);
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(MemoryWindow, BoundToAnotherQueuePair_IsNotInvalidatedByThePeerOfThisOne) {
  Bind other = whole();
  other.qpn = kOther;
  const std::uint32_t key = window();
  bind(other, key);
  ASSERT_EQ(only_completion().opcode, CqeOpcode::REQ);
  const std::uint32_t rkey = (key & ~0xffU) | kNewVariant;
  EXPECT_EQ(of(send_with_invalidate(rkey), kClient).syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(MemoryWindow, SendWithInvalidateOfSeveralPackets_TakesTheKeyWithTheLast) {
  const std::uint32_t rkey = bound();
  const std::array receive{Piece{address_of(inbox), 4096, inbox_key}};
  host.post_receive(kServer, receive);
  const std::array pieces{Piece{address_of(from), 3000, lkey}};
  host.post_raw(kClient, WqeOpcode::SEND_INVAL, segments_of(pieces), true, rkey);
  host.ring(kClient);
  host.run();
  const auto all = host.drain_cq();
  EXPECT_EQ(of(all, kServer).opcode, CqeOpcode::RESP_SEND_INV);
  EXPECT_EQ(of(all, kServer).byte_cnt, 3000U);
  EXPECT_TRUE(std::ranges::equal(inbox.bytes.first(3000), from.bytes.first(3000)));
}

TEST_F(MemoryWindow, SendWithInvalidateOnAnUnreliableConnection_IsNoOperationOfIt) {
  QpOptions options;
  options.service = prm::QpServiceType::UC;
  host.connect(0x50, 0x50, options);
  const std::array pieces{Piece{address_of(from), 64, lkey}};
  host.post_raw(0x50, WqeOpcode::SEND_INVAL, segments_of(pieces), true, region_key);
  host.ring(0x50);
  host.run();
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
