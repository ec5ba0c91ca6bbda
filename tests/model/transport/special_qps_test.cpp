// SPDX-License-Identifier: BSD-3-Clause
//
// QP 0 and QP 1 of an InfiniBand port: by which number peers know them, and what management asks of
// a datagram, as qib_ud_rcv of Linux (hw/qib/qib_ud.c) asks it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "prm/special_qps.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::QpServiceType;
using prm::WqeOpcode;

constexpr std::uint32_t kSubnet = 0x41;   // QP 0, as commands call it
constexpr std::uint32_t kGeneral = 0x42;  // QP 1
constexpr std::uint32_t kPlain = 0x43;
constexpr std::uint32_t kQKey = 0x80010000;  // IB_QP1_QKEY
constexpr std::uint32_t kNetwork = 40;

/// A function with both special queue pairs and one of UD, each with two receives.
struct Node {
  explicit Node(const std::shared_ptr<Wire>& wire) : host(wire, "", PortType::InfiniBand) {
    fill_pattern(source.bytes, 3);
    connect(kSubnet, QpServiceType{prm::kServiceQp0}, 0);
    connect(kGeneral, QpServiceType{prm::kServiceQp1}, kQKey);
    connect(kPlain, QpServiceType::UD, kQKey);
  }
  void connect(std::uint32_t qpn, QpServiceType service, std::uint32_t q_key) {
    host.connect(qpn, 0, {.log_rq_size = 3, .service = service, .q_key = q_key});
    post_receive(qpn);
    post_receive(qpn);
  }
  void post_receive(std::uint32_t qpn) {
    const std::array<Piece, 1> pieces{
        Piece{std::bit_cast<std::uint64_t>(target.bytes.data()), 2048, key}};
    host.post_receive(qpn, pieces);
  }
  /// The Q_Key is that of the queue pair that sends.
  void send(std::uint32_t qpn, std::uint16_t lid, std::uint32_t to, std::uint32_t bytes = 256,
            WqeOpcode opcode = WqeOpcode::SEND) {
    prm::Buffer<prm::mlx5_wqe_av> address;
    address.put<"key">(std::uint64_t{0x80000000} << 32)
        .put<"dqp_dct">(prm::kExtendedUdAv | to)
        .put<"rlid">(lid);
    std::vector<std::byte> segments(address.all().begin(), address.all().end());
    const std::array<Piece, 1> pieces{
        Piece{std::bit_cast<std::uint64_t>(source.bytes.data()), bytes, key_source}};
    const std::vector<std::byte> data = segments_of(pieces);
    segments.insert(segments.end(), data.begin(), data.end());
    host.post_raw(qpn, opcode, segments, false);
    host.ring(qpn);
    host.run();
  }

  Host host;
  Region source = host.map(8192);
  Region target = host.map(8192);
  std::uint32_t key_source = host.make_key(source, access::kLocalRead);
  std::uint32_t key = host.make_key(target, access::kLocalWrite);
};

class SpecialQps : public ::testing::Test {
 protected:
  std::shared_ptr<Wire> wire_ = std::make_shared<Wire>(0, PortType::InfiniBand);
  Node near_{wire_};
  Node far_{wire_};  // of the same LID, so that only the permissive one leads there
};

TEST_F(SpecialQps, DatagramToNumberOne_IsForTheOneOfThatService) {
  near_.send(kPlain, kHostLid, prm::kQp1);
  const std::vector<Cqe> cqes = near_.host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].opcode, CqeOpcode::RESP_SEND);
  EXPECT_EQ(cqes[0].qpn, kGeneral);
  EXPECT_EQ(cqes[0].byte_cnt, kNetwork + 256);
  EXPECT_EQ(cqes[0].flags_rqpn & 0xffffff, kPlain);
  EXPECT_EQ(cqes[0].immediate, 0xffffU);  // the P_Key
  EXPECT_TRUE(
      std::ranges::equal(near_.target.bytes.subspan(kNetwork, 256), near_.source.bytes.first(256)));
}

TEST_F(SpecialQps, KeyThatMatchesAnyOfThePort_ComesToQpOne) {
  constexpr std::uint32_t kOfPartition = 0x44, kIndex = 3;
  near_.host.port().pkeys[kIndex] = 0x8001;
  near_.host.connect(kOfPartition, 0,
                     {.service = QpServiceType::UD, .pkey_index = kIndex, .q_key = kQKey});
  near_.send(kOfPartition, kHostLid, prm::kQp1);
  const std::vector<Cqe> cqes = near_.host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].immediate, 0x8001U);
  near_.host.port().pkeys[kIndex] = 0x0001;  // two limited members
  near_.send(kOfPartition, kHostLid, prm::kQp1);
  EXPECT_TRUE(near_.host.drain_cq().empty());
}

TEST_F(SpecialQps, WhatQpOneSends_ComesFromNumberOne) {
  near_.send(kGeneral, kHostLid, kPlain);
  EXPECT_EQ(near_.host.drain_cq().at(0).flags_rqpn & 0xffffff, prm::kQp1);
}

TEST_F(SpecialQps, NumberThatCommandsHaveForQpOne_IsNobodyOnTheWire) {
  near_.send(kPlain, kHostLid, prm::kQp1);
  ASSERT_EQ(near_.host.drain_cq().size(), 1U);
  const std::uint64_t dropped = near_.host.counters().frames_dropped;
  near_.send(kPlain, kHostLid, kGeneral);
  EXPECT_TRUE(near_.host.drain_cq().empty());
  EXPECT_EQ(near_.host.counters().frames_dropped, dropped + 1);
}

TEST_F(SpecialQps, PermissiveLid_LeadsToQpZeroAtTheOtherEnd) {
  near_.send(kSubnet, prm::kPermissiveLid, prm::kQp0);
  EXPECT_TRUE(near_.host.drain_cq().empty());
  const std::vector<Cqe> cqes = far_.host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].qpn, kSubnet);
  EXPECT_EQ(cqes[0].flags_rqpn & 0xffffff, prm::kQp0);
}

TEST_F(SpecialQps, SubnetManagementByLid_IsTakenWhateverItsQKey) {
  ASSERT_TRUE(near_.host
                  .modify(kSubnet, QpTransition::Rts2Rts, 0, {.q_key = 7},
                          prm::number(prm::QpOptPar::Q_KEY))
                  .ok());
  near_.send(kSubnet, kHostLid, prm::kQp0);
  EXPECT_EQ(near_.host.drain_cq().size(), 1U);
}

TEST_F(SpecialQps, PermissiveLidToAnotherQueuePair_IsDropped) {
  near_.send(kGeneral, prm::kPermissiveLid, prm::kQp1);
  near_.send(kGeneral, prm::kPermissiveLid, kPlain);
  EXPECT_TRUE(far_.host.drain_cq().empty());
  EXPECT_EQ(far_.host.counters().frames_dropped, 2U);
}

TEST_F(SpecialQps, DatagramToQpZeroOnAnotherLane_IsDropped) {
  near_.send(kPlain, kHostLid, prm::kQp0);
  EXPECT_TRUE(near_.host.drain_cq().empty());
}

TEST_F(SpecialQps, SubnetManagementsLaneToAnotherQueuePair_IsDropped) {
  near_.send(kSubnet, kHostLid, prm::kQp1);
  near_.send(kSubnet, kHostLid, kPlain);
  EXPECT_TRUE(near_.host.drain_cq().empty());
}

TEST_F(SpecialQps, DatagramThatIsNoMadBySize_IsDropped) {
  near_.send(kGeneral, kHostLid, prm::kQp1, 252);
  near_.send(kGeneral, kHostLid, prm::kQp1, 260);
  EXPECT_TRUE(near_.host.drain_cq().empty());
}

TEST_F(SpecialQps, DatagramWithImmediate_IsDropped) {
  near_.send(kGeneral, kHostLid, prm::kQp1, 256, WqeOpcode::SEND_IMM);
  EXPECT_TRUE(near_.host.drain_cq().empty());
}

TEST_F(SpecialQps, WrongQKey_IsDroppedByQpOne) {
  ASSERT_TRUE(
      near_.host
          .modify(kPlain, QpTransition::Rts2Rts, 0, {.q_key = 7}, prm::number(prm::QpOptPar::Q_KEY))
          .ok());
  near_.send(kPlain, kHostLid, prm::kQp1);
  EXPECT_TRUE(near_.host.drain_cq().empty());
}

TEST_F(SpecialQps, BeforeThePortIsActive_SubnetManagementPassesAlone) {
  near_.host.set_port_state(PortState::Init);
  far_.host.set_port_state(PortState::Init);
  near_.send(kGeneral, kHostLid, prm::kQp1);
  near_.send(kSubnet, prm::kPermissiveLid, prm::kQp0);
  EXPECT_TRUE(near_.host.drain_cq().empty());
  EXPECT_EQ(far_.host.drain_cq().size(), 1U);
}

TEST_F(SpecialQps, LinkIsDown_NothingPasses) {
  far_.host.set_port_state(PortState::Down);
  near_.send(kSubnet, prm::kPermissiveLid, prm::kQp0);
  EXPECT_TRUE(far_.host.drain_cq().empty());
  near_.host.set_port_state(PortState::Down);
  far_.host.set_port_state(PortState::Init);
  near_.send(kSubnet, prm::kPermissiveLid, prm::kQp0);
  EXPECT_TRUE(far_.host.drain_cq().empty());
}

TEST_F(SpecialQps, DestroyedQpOne_HearsNothingMore) {
  ASSERT_TRUE(near_.host.destroy(kGeneral).ok());
  near_.send(kPlain, kHostLid, prm::kQp1);
  EXPECT_TRUE(near_.host.drain_cq().empty());
}

TEST_F(SpecialQps, LaterQpOne_HasTheNumber) {
  near_.connect(0x50, QpServiceType{prm::kServiceQp1}, kQKey);
  near_.send(kPlain, kHostLid, prm::kQp1);
  EXPECT_EQ(near_.host.drain_cq().at(0).qpn, 0x50U);
}

}  // namespace
}  // namespace portcullis::model::testing
