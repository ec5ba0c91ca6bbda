// SPDX-License-Identifier: BSD-3-Clause
//
// CREATE_QP and the transitions: which are legal from where, what each takes, and what is refused
// with which status. Every refused command leaves the queue pair as it was.
#include "model/transport/qp_transitions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::QpOptPar;
using prm::QpState;

constexpr std::uint32_t kQpn = 0x40;

/// Brings a new QP to `state` by legal commands.
void bring_to(Host& host, QpState state) {
  ASSERT_TRUE(host.create(kQpn).ok());
  const auto go = [&](QpTransition t) { ASSERT_TRUE(host.modify(kQpn, t, kQpn).ok()); };
  if (state == QpState::ERR) return go(QpTransition::ToErr);
  if (state == QpState::RST) return;
  go(QpTransition::Rst2Init);
  if (state == QpState::INIT) return;
  go(QpTransition::Init2Rtr);
  if (state == QpState::RTR) return;
  go(QpTransition::Rtr2Rts);
  if (state == QpState::SQD) go(QpTransition::Rts2Sqd);
}

// optab of __mlx5_ib_modify_qp (mlx5_ib/qp.c) for RC, and RTS2SQD, whose queue is empty here
struct Legal {
  QpState from;
  QpTransition transition;
  QpState to;
};
constexpr std::array kLegal{
    Legal{QpState::RST, QpTransition::Rst2Init, QpState::INIT},
    Legal{QpState::INIT, QpTransition::Init2Init, QpState::INIT},
    Legal{QpState::INIT, QpTransition::Init2Rtr, QpState::RTR},
    Legal{QpState::RTR, QpTransition::Rtr2Rts, QpState::RTS},
    Legal{QpState::RTS, QpTransition::Rts2Rts, QpState::RTS},
    Legal{QpState::RTS, QpTransition::Rts2Sqd, QpState::SQD},
    Legal{QpState::SQD, QpTransition::Sqd2Rts, QpState::RTS},
};
constexpr auto kOk = CommandStatus::OK;

using Step = std::tuple<QpState, QpTransition>;
/// Every transition from every state, but those to error and to reset.
class Transition : public ::testing::TestWithParam<Step> {
 protected:
  /// What comes of it: legal, or refused and nothing changed.
  static std::pair<CommandStatus, QpState> expected() {
    const auto [from, transition] = GetParam();
    for (const Legal& legal : kLegal)
      if (legal.from == from && legal.transition == transition) return {kOk, legal.to};
    return {CommandStatus::BAD_QP_STATE_ERR, from};
  }
};

constexpr auto kEveryState = [] {
  return ::testing::Values(QpState::RST, QpState::INIT, QpState::RTR, QpState::RTS, QpState::SQD,
                           QpState::ERR);
};

TEST_P(Transition, FromState_HasItsStatusAndState) {
  const auto [from, transition] = GetParam();
  Host host;
  bring_to(host, from);
  const CommandStatus status = host.modify(kQpn, transition, kQpn).status;
  EXPECT_EQ(std::pair(status, host.state(kQpn)), expected());
}
INSTANTIATE_TEST_SUITE_P(
    All, Transition,
    ::testing::Combine(kEveryState(),
                       ::testing::Values(QpTransition::Rst2Init, QpTransition::Init2Init,
                                         QpTransition::Init2Rtr, QpTransition::Rtr2Rts,
                                         QpTransition::Rts2Rts, QpTransition::Rts2Sqd,
                                         QpTransition::Sqd2Rts, QpTransition::Sqerr2Rts)));

class FromAnywhere : public ::testing::TestWithParam<QpState> {};

TEST_P(FromAnywhere, ToErrorAndToReset_AreTaken) {
  Host host;
  bring_to(host, GetParam());
  EXPECT_EQ(host.modify(kQpn, QpTransition::ToErr, kQpn).status, kOk);
  EXPECT_EQ(host.state(kQpn), QpState::ERR);
  EXPECT_EQ(host.modify(kQpn, QpTransition::ToRst, kQpn).status, kOk);
  EXPECT_EQ(host.state(kQpn), QpState::RST);
}
INSTANTIATE_TEST_SUITE_P(All, FromAnywhere, kEveryState());

TEST(UnknownQp, EveryCommand_IsBadResource) {
  Host host;
  prm::Buffer<prm::qpc> context;
  EXPECT_EQ(host.modify(9, QpTransition::ToErr).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(host.modify(0xffffff, QpTransition::ToErr).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(host.transport().destroy_qp(9).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(host.transport().query_qp(9, context.view()).status, CommandStatus::BAD_RES_ERR);
}

// ---- opt_param_mask ----

class OptParam : public ::testing::Test {
 protected:
  Verdict rts2rts(const QpOptions& options, std::uint32_t mask) {
    return host.modify(kQpn, QpTransition::Rts2Rts, 0, options, mask);
  }
  OptParam() { bring_to(host, QpState::RTS); }
  Host host;
};

TEST_F(OptParam, RightWithItsBit_IsTaken) {
  ASSERT_TRUE(rts2rts({.rwe = false}, prm::number(QpOptPar::RWE)).ok());
  EXPECT_EQ(host.query(kQpn).get<"rwe">(), 0U);
}

TEST_F(OptParam, RightWithoutItsBit_StaysAsItWas) {
  ASSERT_TRUE(rts2rts({.rwe = false}, prm::number(QpOptPar::RRE)).ok());
  EXPECT_EQ(host.query(kQpn).get<"rwe">(), 1U);
}

TEST_F(OptParam, BitThatTheTransitionDoesNotTake_IsBadParamAndChangesNothing) {
  EXPECT_EQ(rts2rts({.rwe = false}, QpOptPar::RWE | QpOptPar::ACK_TIMEOUT).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(host.query(kQpn).get<"rwe">(), 1U);
}

class OptParamRefused : public ::testing::TestWithParam<QpOptPar> {};

// In opt_mask, but for what this card says it does not have.
TEST_P(OptParamRefused, WhatTheCardDoesNotOffer_IsBadParam) {
  Host host;
  bring_to(host, QpState::INIT);
  EXPECT_EQ(host.modify(kQpn, QpTransition::Init2Rtr, kQpn, {}, prm::number(GetParam())).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(host.state(kQpn), QpState::INIT);
}
INSTANTIATE_TEST_SUITE_P(Options, OptParamRefused,
                         ::testing::Values(QpOptPar::ALT_ADDR_PATH, QpOptPar::LAG_TX_AFF));

TEST_F(OptParam, LeavingSqd_TakesRightsByTheirBits) {
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rts2Sqd).ok());
  ASSERT_TRUE(
      host.modify(kQpn, QpTransition::Sqd2Rts, 0, {.rwe = false}, prm::number(QpOptPar::RWE)).ok());
  EXPECT_EQ(host.query(kQpn).get<"rwe">(), 0U);
}

TEST_F(OptParam, LeavingSqd_DoesNotTakeTheAckTimeout) {
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rts2Sqd).ok());
  EXPECT_EQ(
      host.modify(kQpn, QpTransition::Sqd2Rts, 0, {}, prm::number(QpOptPar::ACK_TIMEOUT)).status,
      CommandStatus::BAD_PARAM_ERR);
}

TEST_F(OptParam, CounterSet_IsTakenAsLinuxSetsIt) {
  EXPECT_TRUE(rts2rts({}, prm::number(QpOptPar::COUNTER_SET_ID)).ok());
}

// ---- opt_param_mask_95_32 ----

constexpr std::uint16_t kOtherPort = 55555;  // that of rdma-core's test_rc_modify_udp_sport

TEST_F(OptParam, UdpPortWithItsBit_IsTakenAndNothingElse) {
  const auto before = host.query(kQpn);
  ASSERT_TRUE(host.change_udp_sport(kQpn, kOtherPort).ok());
  auto after = host.query(kQpn);
  EXPECT_EQ(after.get<"primary_address_path.udp_sport">(), kOtherPort);
  after.put<"primary_address_path.udp_sport">(before.get<"primary_address_path.udp_sport">());
  EXPECT_TRUE(std::ranges::equal(after.all(), before.all()));
}

TEST_F(OptParam, AnotherBitOfTheSecondMask_IsBadParamAndChangesNothing) {
  prm::Buffer<prm::qpc> context;
  context.put<"primary_address_path.udp_sport">(kOtherPort);
  EXPECT_EQ(host.transport()
                .modify_qp({QpTransition::Rts2Rts, kQpn, 0, prm::ConstView<prm::qpc>(context.all()),
                            prm::kOptPar32UdpSport | 2})
                .status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_NE(host.query(kQpn).get<"primary_address_path.udp_sport">(), kOtherPort);
}

// ---- what CREATE_QP and the required attributes refuse ----

class Refused : public ::testing::Test {
 protected:
  using Context = prm::Buffer<prm::qpc>;

  Refused() {
    context.put<"rq_type">(prm::QpRqType::ZERO_LEN_RQ).put<"log_sq_size">(6);
    context.put<"dbr_addr">(std::uint64_t{0x1000}).put<"mtu">(prm::QpcMtu::MTU_1024);
    context.put<"pm_state">(prm::QpPathMigration::MIGRATED);
    context.put<"primary_address_path.vhca_port_num">(1).put<"log_msg_max">(20);
    context.put<"primary_address_path.fl">(1);
  }
  CommandStatus create(std::size_t pages = 1) {
    const std::vector<Iova> list(pages, Iova{0x10'0000'0000});
    return host.transport()
        .create_qp({kQpn, 0, prm::ConstView<prm::qpc>(context.all()), list})
        .status;
  }
  CommandStatus modify(QpTransition transition, std::uint32_t opt_param_mask = 0) {
    return host.transport()
        .modify_qp({transition, kQpn, opt_param_mask, prm::ConstView<prm::qpc>(context.all())})
        .status;
  }
  void to_init() {
    ASSERT_EQ(create(), kOk);
    ASSERT_EQ(modify(QpTransition::Rst2Init), kOk);
  }
  void expect_refused_in_init() {
    EXPECT_EQ(modify(QpTransition::Init2Rtr), CommandStatus::BAD_PARAM_ERR);
    EXPECT_EQ(host.state(kQpn), QpState::INIT);
  }
  static constexpr auto kBadParam = CommandStatus::BAD_PARAM_ERR;

  Host host;
  Context context;
};

TEST_F(Refused, ContextOfThisTest_IsAcceptedAsItIs) {
  to_init();
  EXPECT_EQ(modify(QpTransition::Init2Rtr), kOk);
}

TEST_F(Refused, NumberInUse_IsBadResource) {
  ASSERT_EQ(create(), kOk);
  EXPECT_EQ(create(), CommandStatus::BAD_RES_ERR);
}

TEST_F(Refused, ServiceTypeThatIsNone_IsBadParam) {
  context.put<"st">(prm::QpServiceType{0x5});
  EXPECT_EQ(create(), kBadParam);
}

TEST_F(Refused, SharedReceiveQueueThatDoesNotExist_IsBadParam) {
  context.put<"rq_type">(prm::QpRqType::SRQ_RQ);
  EXPECT_EQ(create(), kBadParam);
}

TEST_F(Refused, FewerPagesThanTheQueueTakes_IsBadParam) {
  context.put<"log_sq_size">(7);
  EXPECT_EQ(create(1), kBadParam);
  EXPECT_EQ(create(2), kOk);
}

TEST_F(Refused, QueueThatStartsInsideItsPage_TakesOnePageMore) {
  context.put<"page_offset">(1);
  EXPECT_EQ(create(1), kBadParam);
  EXPECT_EQ(create(2), kOk);
}

TEST_F(Refused, MisalignedDoorbellRecord_IsBadParam) {
  context.put<"dbr_addr">(std::uint64_t{0x1004});
  EXPECT_EQ(create(), kBadParam);
}

TEST_F(Refused, PortTwo_IsBadParam) {
  ASSERT_EQ(create(), kOk);
  context.put<"primary_address_path.vhca_port_num">(2);
  EXPECT_EQ(modify(QpTransition::Rst2Init), kBadParam);
}

TEST_F(Refused, SecondPkey_IsBadParam) {
  ASSERT_EQ(create(), kOk);
  context.put<"primary_address_path.pkey_index">(1);
  EXPECT_EQ(modify(QpTransition::Rst2Init), kBadParam);
}

TEST_F(Refused, PathMigrationWithoutItsBit_StaysAsCreateQpHadIt) {
  ASSERT_EQ(create(), kOk);
  context.put<"pm_state">(prm::QpPathMigration::ARMED);
  EXPECT_EQ(modify(QpTransition::Rst2Init), kOk);
  EXPECT_EQ(host.query(kQpn).get<"pm_state">(), prm::number(prm::QpPathMigration::MIGRATED));
}

TEST_F(Refused, ArmedPathMigrationByItsBit_IsBadParam) {
  to_init();
  ASSERT_EQ(modify(QpTransition::Init2Rtr), kOk);
  context.put<"pm_state">(prm::QpPathMigration::ARMED);
  EXPECT_EQ(modify(QpTransition::Rtr2Rts, prm::number(QpOptPar::PM_STATE)), kBadParam);
}

TEST_F(Refused, MtuZero_IsBadParam) {
  to_init();
  context.put<"mtu">(0);
  expect_refused_in_init();
}

TEST_F(Refused, MtuSix_IsBadParam) {
  to_init();
  context.put<"mtu">(6);
  expect_refused_in_init();
}

TEST_F(Refused, MessageSizeAboveTheCapability_IsBadParam) {
  to_init();
  context.put<"log_msg_max">(31);
  expect_refused_in_init();
}

TEST_F(Refused, RoceAddressThatIsNotSet_IsBadParam) {
  to_init();
  context.put<"primary_address_path.fl">(0).put<"primary_address_path.src_addr_index">(7);
  expect_refused_in_init();
}

TEST_F(Refused, RoceSwitchedOff_IsBadParam) {
  to_init();
  host.port().roce_enabled = false;
  context.put<"primary_address_path.fl">(0);
  expect_refused_in_init();
}

TEST_F(Refused, DestinationOfTheOtherIpVersion_IsBadParam) {
  to_init();
  context.put<"primary_address_path.fl">(0).put<"primary_address_path.src_addr_index">(0);
  std::ranges::copy(std::as_bytes(std::span(kHostGid6)),
                    context.bytes<"primary_address_path.rgid_rip">().begin());
  expect_refused_in_init();
}

TEST_F(Refused, RoceV1Address_IsBadParam) {
  to_init();
  host.port().roce[1].version = 0;
  context.put<"primary_address_path.fl">(0).put<"primary_address_path.src_addr_index">(1);
  expect_refused_in_init();
}

// ---- sizes and query ----

TEST(WorkQueueBytes, ReceiveAndSendQueue_AreBothCounted) {
  prm::Buffer<prm::qpc> context;
  context.put<"log_rq_size">(4).put<"log_rq_stride">(2).put<"log_sq_size">(3);
  const auto view = prm::ConstView<prm::qpc>(context.all());
  EXPECT_EQ(Transport::work_queue_bytes(view), std::uint64_t{16 * 64 + 8 * 64});
}

TEST(WorkQueueBytes, NeitherQueue_IsNothing) {
  prm::Buffer<prm::qpc> context;
  context.put<"rq_type">(prm::QpRqType::ZERO_LEN_RQ).put<"no_sq">(1);
  EXPECT_EQ(Transport::work_queue_bytes(prm::ConstView<prm::qpc>(context.all())), 0U);
}

TEST(QueryQp, ConnectedQp_ShowsWhatItWasGivenAndWhereItStands) {
  Host host;
  const Region region = host.map(4096);
  const std::uint32_t key = host.make_key(region, access::kLocalRead | access::kRemoteWrite);
  const auto at = std::bit_cast<std::uint64_t>(region.bytes.data());
  host.connect(kQpn, kQpn);
  host.post_and_ring(kQpn, {at, key, key, at + 64, 8, true});
  host.run();
  const auto context = host.query(kQpn);
  EXPECT_EQ(context.get<"state">(), prm::number(QpState::RTS));
  EXPECT_EQ(context.get<"pd">(), kPd);
  EXPECT_EQ(context.get<"remote_qpn">(), kQpn);
  EXPECT_EQ(context.get<"mtu">(), prm::number(prm::QpcMtu::MTU_1024));
  EXPECT_EQ(context.get<"retry_count">(), 7U);
  EXPECT_EQ(context.get<"primary_address_path.ack_timeout">(), 14U);
  EXPECT_EQ(context.get<"primary_address_path.udp_sport">(), 0xc123U);
  EXPECT_EQ(context.get<"next_send_psn">(), 0x124U);
  EXPECT_EQ(context.get<"last_acked_psn">(), 0x123U);
  EXPECT_EQ(context.get<"next_rcv_psn">(), 0x124U);
  EXPECT_EQ(context.get<"hw_sq_wqebb_counter">(), 1U);
}

TEST(QueryQp, ReceiverNotReady_ShowsTheRetriesAndThenTheReceive) {
  Host host;
  host.connect(kQpn, kQpn, {.log_rq_size = 2, .rnr_retry = 6});
  host.post_raw(kQpn, prm::WqeOpcode::SEND, {});
  host.ring(kQpn);
  host.run();
  EXPECT_EQ(host.query(kQpn).get<"cur_rnr_retry">(), 1U);
  EXPECT_EQ(host.query(kQpn).get<"hw_rq_counter">(), 0U);
  host.post_receive(kQpn, {});
  host.run_until(host.now_ns() + 1'000'000);
  EXPECT_EQ(host.query(kQpn).get<"cur_rnr_retry">(), 0U);
  EXPECT_EQ(host.query(kQpn).get<"hw_rq_counter">(), 1U);
}

TEST(ForceLoopback, WithoutAnyRoceAddress_TalksToItself) {
  Host host;
  host.port().roce_enabled = false;
  const Region region = host.map(4096);
  const std::uint32_t key = host.make_key(region, access::kLocalRead | access::kRemoteWrite);
  const auto at = std::bit_cast<std::uint64_t>(region.bytes.data());
  region.bytes[64] = std::byte{0x77};
  host.connect(kQpn, kQpn, {.force_loopback = true});
  host.post_and_ring(kQpn, {at, key, key, at + 64, 8, true});
  host.run();
  EXPECT_EQ(region.bytes[0], std::byte{0x77});
  EXPECT_EQ(host.drain_cq().at(0).opcode, prm::CqeOpcode::REQ);
}

/// dr_devx_modify_qp_init2rtr of rdma-core's dr_devx.c, on a port whose first GID is of IPv6 and
/// which has a network interface.
TEST(ForceLoopback, WithoutAPeersAddress_TalksToItself) {
  Host host;
  host.port().roce[0].gid = Gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1};
  host.port().promisc_mc = true;  // it gets more than what is for its address
  host.transport().port_changed();
  const Region region = host.map(4096);
  const std::uint32_t key = host.make_key(region, access::kLocalRead | access::kRemoteWrite);
  const auto at = std::bit_cast<std::uint64_t>(region.bytes.data());
  region.bytes[64] = std::byte{0x77};
  host.connect(kQpn, kQpn, {.dest_mac = {}, .dest_gid = {}, .force_loopback = true});
  host.post_and_ring(kQpn, {at, key, key, at + 64, 8, true});
  host.run();
  EXPECT_EQ(region.bytes[0], std::byte{0x77});
  EXPECT_EQ(host.drain_cq().at(0).opcode, prm::CqeOpcode::REQ);
}

TEST(Reset, TransportReset_LeavesNoQp) {
  Host host;
  host.connect(kQpn, kQpn);
  host.transport().reset();
  EXPECT_EQ(host.modify(kQpn, QpTransition::ToErr).status, CommandStatus::BAD_RES_ERR);
}

TEST(ReusedQpn, AfterDestroy_StartsFromReset) {
  Host host;
  host.connect(kQpn, kQpn);
  ASSERT_TRUE(host.transport().destroy_qp(kQpn).ok());
  ASSERT_TRUE(host.create(kQpn).ok());
  EXPECT_EQ(host.state(kQpn), QpState::RST);
}

}  // namespace
}  // namespace portcullis::model::testing
