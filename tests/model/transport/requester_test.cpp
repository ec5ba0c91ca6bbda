// SPDX-License-Identifier: BSD-3-Clause
//
// What a requester sends and how its WQEs end, rule by rule: the host posts, a bare port sees the
// packets and answers by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kPsn = 0x123;
constexpr std::uint64_t kTimeoutNs = std::uint64_t{4096} << 14;  // QpOptions::ack_timeout

class RequesterTest : public ::testing::Test {
 protected:
  RequesterTest() {
    fill_pattern(region.bytes, 5);
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    host.connect(kQpn, kPeerQpn, options);
  }

  [[nodiscard]] WriteRequest request(std::uint32_t length = 64, bool signaled = true) const {
    return {0x10000, 0xabcd, lkey, address, length, signaled};
  }
  void post(std::uint32_t length = 64, bool signaled = true) {
    host.post_and_ring(kQpn, request(length, signaled));
  }
  [[nodiscard]] std::vector<Packet> sent() {
    host.run();
    return peer.take();
  }
  void acknowledge(std::uint32_t psn, std::uint8_t code = syndrome::kAckUnlimited) {
    peer.acknowledge(kQpn, psn, code);
    host.run();
  }
  void expect_error(prm::CqeSyndrome syndrome, std::uint32_t wqe_counter = 0) {
    const auto cqe = host.poll_cq();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->opcode, prm::CqeOpcode::REQ_ERR);
    EXPECT_EQ(cqe->syndrome, syndrome);
    EXPECT_EQ(cqe->wqe_counter, wqe_counter);
    EXPECT_EQ(cqe->qpn, kQpn);
    EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
  }
  void expect_success(std::uint32_t wqe_counter) {
    const auto cqe = host.poll_cq();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->opcode, prm::CqeOpcode::REQ);
    EXPECT_EQ(cqe->wqe_counter, wqe_counter);
  }
  [[nodiscard]] bool carries(const Packet& packet, std::size_t at) const {
    return std::ranges::equal(packet.payload, region.bytes.subspan(at, packet.payload.size()));
  }

  Host host;
  Peer peer{host};
  QpOptions options;
  Region region = host.map(262144);
  std::uint64_t address = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t lkey = host.make_key(region, access::kLocalRead);
};

// ---- packets ----

TEST_F(RequesterTest, ShortWrite_IsOneOnlyPacketThatAsksForAnAcknowledgement) {
  post();
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].opcode, 0x0a);
  EXPECT_EQ(packets[0].dest_qpn, kPeerQpn);
  EXPECT_EQ(packets[0].psn, kPsn);
  EXPECT_TRUE(packets[0].ack_request);
  EXPECT_EQ(packets[0].va, 0x10000U);
  EXPECT_EQ(packets[0].rkey, 0xabcdU);
  EXPECT_EQ(packets[0].dma_length, 64U);
  EXPECT_EQ(packets[0].source_ip, kHostGid);
  EXPECT_TRUE(carries(packets[0], 0));
}

TEST_F(RequesterTest, WriteOnAVlan_IsTaggedAndHearsNobodyFromOutside) {
  constexpr std::uint32_t kTagged = kQpn + 1;
  options.src_addr_index = kOnVlan;
  options.eth_prio = 6;
  host.connect(kTagged, kPeerQpn, options);
  host.post_and_ring(kTagged, request());
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].tag, 6 << 13 | kVlanId);

  Path back = Peer::path_to(kTagged);
  const PacketHeader answer{.psn = kPsn, .syndrome = syndrome::kAckUnlimited, .msn = 1};
  peer.send(back, answer);
  host.run();
  EXPECT_FALSE(host.poll_cq());
  back.tag = kVlanId + 1;
  peer.send(back, answer);
  host.run();
  EXPECT_FALSE(host.poll_cq());
  back.tag = 1 << 13 | kVlanId;  // of any priority
  peer.send(back, answer);
  host.run();
  expect_success(0);
}

TEST_F(RequesterTest, WriteOfThreeMtuAndOneByte_IsFirstMiddleMiddleLast) {
  post(3 * kMtu + 1);
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 4U);
  EXPECT_EQ(packets[0].opcode, 0x06);
  EXPECT_EQ(packets[0].dma_length, 3 * kMtu + 1);
  EXPECT_EQ(packets[1].opcode, 0x07);
  EXPECT_EQ(packets[2].opcode, 0x07);
  EXPECT_EQ(packets[3].opcode, 0x08);
  EXPECT_EQ(packets[3].payload.size(), 1U);
  EXPECT_EQ(packets[3].pad, 3);
  EXPECT_EQ(packets[3].psn, kPsn + 3);
  EXPECT_FALSE(packets[0].ack_request);
  EXPECT_TRUE(packets[3].ack_request);
  EXPECT_TRUE(carries(packets[2], 2 * kMtu));
}

TEST_F(RequesterTest, WriteOfExactlyTheMtu_IsOneOnlyPacket) {
  post(kMtu);
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].opcode, 0x0a);
}

TEST_F(RequesterTest, WriteOfNoBytes_IsOneOnlyPacketWithoutPayload) {
  post(0);
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].dma_length, 0U);
  EXPECT_TRUE(packets[0].payload.empty());
}

TEST_F(RequesterTest, PostWithoutKick_NothingHappens) {
  host.post(kQpn, request());
  host.write_record(kQpn);
  EXPECT_TRUE(sent().empty());
}

TEST_F(RequesterTest, KickOfAnotherUar_NothingHappens) {
  host.post(kQpn, request());
  host.write_record(kQpn);
  host.transport().kick_uar(kUar + 1);
  EXPECT_TRUE(sent().empty());
}

TEST_F(RequesterTest, KickByAnotherQpOfTheUar_ServesEveryRecord) {
  host.connect(0x50, kPeerQpn, options);
  host.post(kQpn, request());
  host.write_record(kQpn);
  host.post_and_ring(0x50, request());
  EXPECT_EQ(sent().size(), 2U);
}

TEST_F(RequesterTest, TwoPostsOneKick_SendBothInOrder) {
  host.post(kQpn, request(64, false));
  host.post_and_ring(kQpn, request(32));
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0].payload.size(), 64U);
  EXPECT_FALSE(packets[0].ack_request);
  EXPECT_EQ(packets[1].payload.size(), 32U);
  EXPECT_TRUE(packets[1].ack_request);
}

TEST_F(RequesterTest, EverySignaledWrite_AsksForAnAcknowledgement) {
  host.post(kQpn, request());
  host.post_and_ring(kQpn, request());
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_TRUE(packets[0].ack_request);
  EXPECT_TRUE(packets[1].ack_request);
}

TEST_F(RequesterTest, LastUnsignaledWrite_AsksForAnAcknowledgementAllTheSame) {
  post(64, false);
  EXPECT_TRUE(sent().at(0).ack_request);
}

TEST_F(RequesterTest, UnsignaledWriteBeforeANop_AsksForAnAcknowledgement) {
  host.post(kQpn, request(64, false));
  host.post_raw(kQpn, prm::WqeOpcode::NOP, {});
  host.ring(kQpn);
  EXPECT_TRUE(sent().at(0).ack_request);
}

TEST_F(RequesterTest, InlineData_IsSentFromTheWqe) {
  std::array<std::byte, 32> segments{};
  const auto remote = prm::View<prm::mlx5_wqe_raddr_seg>::at(segments);
  remote.put<"raddr">(std::uint64_t{0x2000});
  remote.put<"rkey">(std::uint32_t{9});
  const auto data = prm::View<prm::mlx5_wqe_inl_data_seg>::at(segments, 16);
  data.put<"byte_count">(prm::inline_byte_count(5));
  std::memcpy(segments.data() + 20, "inlin", 5);
  host.post_raw(kQpn, prm::WqeOpcode::RDMA_WRITE, segments);
  host.ring(kQpn);
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].va, 0x2000U);
  ASSERT_EQ(packets[0].payload.size(), 5U);
  EXPECT_EQ(std::memcmp(packets[0].payload.data(), "inlin", 5), 0);
}

TEST_F(RequesterTest, TwoDataSegments_AreGatheredInOrder) {
  std::array<std::byte, 48> segments{};
  const auto first = prm::View<prm::mlx5_wqe_data_seg>::at(segments, 16);
  first.put<"byte_count">(std::uint32_t{1000});
  first.put<"lkey">(lkey);
  first.put<"addr">(address + 4096);
  const auto second = prm::View<prm::mlx5_wqe_data_seg>::at(segments, 32);
  second.put<"byte_count">(std::uint32_t{100});
  second.put<"lkey">(lkey);
  second.put<"addr">(address);
  host.post_raw(kQpn, prm::WqeOpcode::RDMA_WRITE, segments);
  host.ring(kQpn);
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(packets[0].payload.first(1000), region.bytes.subspan(4096, 1000)));
  EXPECT_TRUE(std::ranges::equal(packets[0].payload.subspan(1000), region.bytes.first(24)));
  EXPECT_TRUE(carries(packets[1], 24));
}

TEST_F(RequesterTest, WqeOfSeveralBlocksAcrossTheQueueEnd_IsReadWhole) {
  options.log_sq_size = 2;  // four blocks
  host.connect(0x50, kPeerQpn, options);
  for (int i = 0; i < 3; ++i) host.post(0x50, request(8, false));
  host.ring(0x50);
  const auto before = sent();
  peer.send(Peer::path_to(0x50), {.psn = kPsn + 2, .syndrome = syndrome::kAckUnlimited});
  std::array<std::byte, 16 * 5> segments{};
  for (std::size_t at = 16; at < segments.size(); at += 16) {
    const auto data = prm::View<prm::mlx5_wqe_data_seg>::at(segments, at);
    data.put<"byte_count">(std::uint32_t{16});
    data.put<"lkey">(lkey);
    data.put<"addr">(address + at);
  }
  host.run();
  host.post_raw(0x50, prm::WqeOpcode::RDMA_WRITE, segments);
  host.ring(0x50);
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_TRUE(carries(packets[0], 16));
  EXPECT_EQ(packets[0].payload.size(), 64U);
}

TEST_F(RequesterTest, ProducerIndexWraps_QueueGoesOn) {
  options.log_sq_size = 4;
  host.connect(0x50, 0x50, {.log_sq_size = 4});
  const std::uint32_t rkey = host.make_key(region, access::kRemoteWrite);
  for (int i = 0; i < 0x10010; ++i) {
    host.post_and_ring(0x50, {address, rkey, lkey, address + 4096, 4, true});
    host.run();
    ASSERT_EQ(host.poll_cq().value().opcode, prm::CqeOpcode::REQ);
  }
}

TEST_F(RequesterTest, Window_IsNeverExceededAndMovesWithAcknowledgements) {
  post(200 * kMtu);
  EXPECT_EQ(sent().size(), 128U);
  acknowledge(kPsn + 99);
  EXPECT_EQ(peer.take().size(), 72U);
}

TEST_F(RequesterTest, LongMessage_AsksForAnAcknowledgementBeforeTheWindowIsFull) {
  post(200 * kMtu);
  const auto packets = sent();
  EXPECT_TRUE(std::ranges::any_of(packets, &Packet::ack_request));
}

// ---- completions ----

TEST_F(RequesterTest, Acknowledged_CompletesWithTheWqesIndex) {
  post();
  post();
  static_cast<void>(sent());
  acknowledge(kPsn);
  expect_success(0);
  EXPECT_FALSE(host.poll_cq());
  acknowledge(kPsn + 1);
  expect_success(1);
}

TEST_F(RequesterTest, OneAcknowledgement_CompletesAllBefore) {
  for (int i = 0; i < 3; ++i) post();
  static_cast<void>(sent());
  acknowledge(kPsn + 2);
  EXPECT_EQ(host.drain_cq().size(), 3U);
}

TEST_F(RequesterTest, UnsignaledWrite_CompletesWithoutCqe) {
  post(64, false);
  post();
  static_cast<void>(sent());
  acknowledge(kPsn + 1);
  expect_success(1);
  EXPECT_FALSE(host.poll_cq());
}

TEST_F(RequesterTest, AcknowledgementInsideAMessage_DoesNotCompleteIt) {
  post(3 * kMtu);
  static_cast<void>(sent());
  acknowledge(kPsn + 1);
  EXPECT_FALSE(host.poll_cq());
}

TEST_F(RequesterTest, Nop_CompletesInOrder) {
  post();
  host.post_raw(kQpn, prm::WqeOpcode::NOP, {});
  host.ring(kQpn);
  static_cast<void>(sent());
  EXPECT_FALSE(host.poll_cq());
  acknowledge(kPsn);
  expect_success(0);
  expect_success(1);
}

TEST_F(RequesterTest, GhostAcknowledgement_IsDropped) {
  post();
  static_cast<void>(sent());
  acknowledge(kPsn + 1);
  acknowledge(kPsn - 1);
  EXPECT_FALSE(host.poll_cq());
  EXPECT_EQ(host.counters().frames_dropped, 2U);
}

// ---- NAKs ----

TEST_F(RequesterTest, SequenceErrorNak_SendsAgainFromTheNamedPacket) {
  post(4 * kMtu);
  static_cast<void>(sent());
  acknowledge(kPsn + 2, syndrome::kNakPsnSequenceError);
  const auto again = peer.take();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].psn, kPsn + 2);
  EXPECT_EQ(again[0].opcode, 0x07);
  EXPECT_EQ(again[1].opcode, 0x08);
  EXPECT_EQ(host.counters().retransmissions, 2U);
}

TEST_F(RequesterTest, SequenceErrorNak_AcknowledgesWhatIsBeforeIt) {
  post();
  post();
  static_cast<void>(sent());
  acknowledge(kPsn + 1, syndrome::kNakPsnSequenceError);
  expect_success(0);
}

struct NakCase {
  std::uint8_t code;
  prm::CqeSyndrome syndrome;
  std::uint8_t vendor_syndrome;
};
class FatalNak : public RequesterTest, public ::testing::WithParamInterface<NakCase> {};

TEST_P(FatalNak, Request_CompletesInErrorAndTheRestIsFlushed) {
  for (int i = 0; i < 3; ++i) post();
  static_cast<void>(sent());
  acknowledge(kPsn + 1, GetParam().code);
  expect_success(0);
  const auto rest = host.drain_cq();
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].syndrome, GetParam().syndrome);
  EXPECT_EQ(rest[0].vendor_syndrome, GetParam().vendor_syndrome);
  EXPECT_EQ(rest[0].wqe_counter, 1U);
  EXPECT_EQ(rest[1].syndrome, prm::CqeSyndrome::WR_FLUSH_ERR);
  EXPECT_EQ(rest[1].wqe_counter, 2U);
  EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
}

INSTANTIATE_TEST_SUITE_P(Requester, FatalNak,
                         ::testing::Values(NakCase{0x61, prm::CqeSyndrome::REMOTE_INVAL_REQ_ERR,
                                                   0x8a},
                                           NakCase{0x62, prm::CqeSyndrome::REMOTE_ACCESS_ERR, 0x88},
                                           NakCase{0x63, prm::CqeSyndrome::REMOTE_OP_ERR, 0x89},
                                           NakCase{0x7f, prm::CqeSyndrome::REMOTE_OP_ERR, 0x89}));

TEST_F(RequesterTest, ReadResponseToAWrite_IsABadResponse) {
  post();
  static_cast<void>(sent());
  peer.send(Peer::path_to(kQpn), {.opcode = BthOpcode::ReadResponseOnly, .psn = kPsn});
  host.run();
  expect_error(prm::CqeSyndrome::BAD_RESP_ERR);
}

TEST_F(RequesterTest, ReservedAckSyndrome_IsDropped) {
  post();
  static_cast<void>(sent());
  acknowledge(kPsn, 0x40);
  EXPECT_FALSE(host.poll_cq());
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
}

// ---- the retry timer ----

TEST_F(RequesterTest, NoAnswer_SendsAgainAfterTheTimeout) {
  post();
  static_cast<void>(sent());
  host.run_until(kTimeoutNs - 1);
  EXPECT_TRUE(peer.take().empty());
  host.run_until(kTimeoutNs);
  const auto again = peer.take();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].psn, kPsn);
  EXPECT_EQ(host.counters().retransmissions, 1U);
}

TEST_F(RequesterTest, NoAnswerAtAll_IsRetryExceededAfterRetriesPlusOneTimeouts) {
  post();
  host.run_until(8 * kTimeoutNs - 1);
  EXPECT_FALSE(host.poll_cq());
  EXPECT_EQ(peer.take().size(), 8U);
  host.run_until(8 * kTimeoutNs);
  const auto cqe = host.poll_cq();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->syndrome, prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
  EXPECT_EQ(cqe->vendor_syndrome, 0x81);
  EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
}

TEST_F(RequesterTest, RetryCountZero_IsRetryExceededAfterOneTimeout) {
  options.retry_count = 0;
  host.connect(0x50, kPeerQpn, options);
  host.post_and_ring(0x50, request());
  host.run_until(kTimeoutNs);
  EXPECT_EQ(host.drain_cq().at(0).syndrome, prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
}

TEST_F(RequesterTest, TimeoutZero_WaitsForEver) {
  options.ack_timeout = 0;
  host.connect(0x50, kPeerQpn, options);
  host.post_and_ring(0x50, request());
  host.run_until(3600 * kNsPerSecond);
  EXPECT_FALSE(host.poll_cq());
  EXPECT_EQ(peer.take().size(), 1U);
}

TEST_F(RequesterTest, Progress_GivesTheWholeBudgetBack) {
  post();
  post();
  host.run_until(7 * kTimeoutNs + 1);
  acknowledge(kPsn);
  host.run_until(14 * kTimeoutNs);
  expect_success(0);
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
}

TEST_F(RequesterTest, Progress_StartsTheTimerAnew) {
  post();
  post();
  host.run_until(kTimeoutNs / 2);
  static_cast<void>(peer.take());
  acknowledge(kPsn);
  host.run_until(kTimeoutNs / 2 + kTimeoutNs - 1);
  EXPECT_TRUE(peer.take().empty());
  host.run_until(kTimeoutNs / 2 + kTimeoutNs);
  EXPECT_EQ(peer.take().size(), 1U);
}

TEST_F(RequesterTest, EverythingAcknowledged_TimerRests) {
  post();
  static_cast<void>(sent());
  acknowledge(kPsn);
  host.run_until(20 * kTimeoutNs);
  EXPECT_TRUE(peer.take().empty());
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
}

TEST_F(RequesterTest, SequenceErrorsWithoutProgress_UseUpTheRetries) {
  post();
  static_cast<void>(sent());
  for (int i = 0; i < 7; ++i) acknowledge(kPsn, syndrome::kNakPsnSequenceError);
  EXPECT_FALSE(host.poll_cq());
  acknowledge(kPsn, syndrome::kNakPsnSequenceError);
  expect_error(prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
}

TEST_F(RequesterTest, KeyDestroyedBeforeARetransmission_IsLocalProtection) {
  post();
  static_cast<void>(sent());
  host.destroy_key(lkey);
  host.run_until(kTimeoutNs);
  EXPECT_TRUE(peer.take().empty());
  expect_error(prm::CqeSyndrome::LOCAL_PROT_ERR);
}

// ---- RNR ----

TEST_F(RequesterTest, RnrNak_SendsAgainAfterItsTimerAndNotBefore) {
  post();
  static_cast<void>(sent());
  acknowledge(kPsn, syndrome::kRnrNak | 14);  // IB_RNR_TIMER_001_28
  host.run_until(1'280'000 - 1);
  EXPECT_TRUE(peer.take().empty());
  host.run_until(1'280'000);
  EXPECT_EQ(peer.take().size(), 1U);
}

TEST_F(RequesterTest, PostWhileAnRnrTimerRuns_WaitsForIt) {
  post();
  static_cast<void>(sent());
  acknowledge(kPsn, syndrome::kRnrNak | 14);
  post();
  EXPECT_TRUE(sent().empty());
  host.run_until(1'280'000);
  EXPECT_EQ(peer.take().size(), 2U);
}

TEST_F(RequesterTest, RnrRetryZero_IsRnrRetryExceeded) {
  options.rnr_retry = 0;
  host.connect(0x50, kPeerQpn, options);
  host.post_and_ring(0x50, request());
  static_cast<void>(sent());
  peer.acknowledge(0x50, kPsn, syndrome::kRnrNak | 1);
  host.run();
  EXPECT_EQ(host.drain_cq().at(0).syndrome, prm::CqeSyndrome::RNR_RETRY_EXC_ERR);
}

TEST_F(RequesterTest, RnrRetrySeven_GoesOnForEver) {
  post();
  static_cast<void>(sent());
  for (int i = 0; i < 20; ++i) {
    acknowledge(kPsn, syndrome::kRnrNak | 1);
    host.run_until(host.now_ns() + 10'000);
  }
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
}

// ---- WQEs that cannot be carried out ----

class BadOpcode : public RequesterTest, public ::testing::WithParamInterface<prm::WqeOpcode> {};

TEST_P(BadOpcode, Wqe_CompletesWithLocalQpOperation) {
  const std::array<std::byte, 32> segments{};
  host.post_raw(kQpn, GetParam(), segments);
  host.ring(kQpn);
  EXPECT_TRUE(sent().empty());
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

INSTANTIATE_TEST_SUITE_P(Requester, BadOpcode,
                         ::testing::Values(prm::WqeOpcode::LOCAL_INVAL, prm::WqeOpcode::UMR,
                                           prm::WqeOpcode{0xff}));

TEST_F(RequesterTest, BadWqeBehindAGoodOne_WaitsUntilTheGoodOneCompleted) {
  post();
  host.post_raw(kQpn, prm::WqeOpcode{0xff}, std::array<std::byte, 32>{});
  host.ring(kQpn);
  EXPECT_TRUE(sent().at(0).ack_request);
  EXPECT_FALSE(host.poll_cq());
  acknowledge(kPsn);
  expect_success(0);
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR, 1);
}

TEST_F(RequesterTest, WriteWithoutRemoteAddress_IsLocalQpOperation) {
  host.post_raw(kQpn, prm::WqeOpcode::RDMA_WRITE, {});
  host.ring(kQpn);
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(RequesterTest, InlineLengthBeyondTheWqe_IsLocalQpOperation) {
  std::array<std::byte, 32> segments{};
  prm::View<prm::mlx5_wqe_inl_data_seg>::at(segments, 16)
      .put<"byte_count">(prm::inline_byte_count(13));
  host.post_raw(kQpn, prm::WqeOpcode::RDMA_WRITE, segments);
  host.ring(kQpn);
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(RequesterTest, WqeIndexThatIsNotItsOwn_IsLocalQpOperation) {
  host.post(kQpn, request());
  host.send_queue(kQpn)[2] = std::byte{1};
  host.ring(kQpn);
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(RequesterTest, QpnThatIsNotItsOwn_IsLocalQpOperation) {
  host.post(kQpn, request());
  host.send_queue(kQpn)[6] = std::byte{0x41};
  host.ring(kQpn);
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(RequesterTest, WqeLongerThanWhatWasPosted_IsLocalQpOperation) {
  host.post(kQpn, request());
  host.send_queue(kQpn)[7] = std::byte{9};  // nine octowords: three blocks
  host.ring(kQpn);
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(RequesterTest, ZeroSizedWqe_IsLocalQpOperation) {
  host.post(kQpn, request());
  host.send_queue(kQpn)[7] = std::byte{0};
  host.ring(kQpn);
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

TEST_F(RequesterTest, MessageAboveLogMsgMax_IsLocalLength) {
  host.post_and_ring(kQpn, request(0x40000001));
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_LENGTH_ERR);
}

TEST_F(RequesterTest, WqeChangedBetweenPackets_IsLocalQpOperation) {
  post(100 * kMtu);
  host.scheduler().loop().step(0);
  host.send_queue(kQpn)[35] ^= std::byte{1};  // byte_count
  host.run();
  acknowledge(kPsn + 127);
  host.run_until(kTimeoutNs);
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

struct LocalKeyCase {
  const char* name;
  std::uint8_t rights;
  std::uint32_t pd;
  std::uint64_t skew;
};
class BadLocalKey : public RequesterTest, public ::testing::WithParamInterface<LocalKeyCase> {};

TEST_P(BadLocalKey, Wqe_CompletesWithLocalProtection) {
  lkey = host.make_key(region, GetParam().rights, GetParam().pd);
  WriteRequest write = request();
  write.address += GetParam().skew;
  host.post_and_ring(kQpn, write);
  EXPECT_TRUE(sent().empty());
  expect_error(prm::CqeSyndrome::LOCAL_PROT_ERR);
}

INSTANTIATE_TEST_SUITE_P(Requester, BadLocalKey,
                         ::testing::Values(LocalKeyCase{"NoLocalRead", access::kRemoteRead, kPd, 0},
                                           LocalKeyCase{"OtherPd", access::kLocalRead, kPd + 1, 0},
                                           LocalKeyCase{"PastTheEnd", access::kLocalRead, kPd,
                                                        262144 - 63}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(RequesterTest, KeyWithoutLocalWrite_IsEnoughToGather) {
  post();
  EXPECT_EQ(sent().size(), 1U);
}

TEST_F(RequesterTest, GatherFromUnmappedMemory_IsLocalProtectionAndCountedAsFault) {
  host.unmap(region);
  post();
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_PROT_ERR);
  EXPECT_EQ(host.counters().dma_faults, 1U);
}

TEST_F(RequesterTest, UnreadableSendQueue_IsACatastrophicErrorEvent) {
  host.post(kQpn, request());
  host.write_record(kQpn);
  host.dma().set_bus_master(true);
  host.unmap_send_queue(kQpn);
  host.transport().kick_uar(kUar);
  host.run();
  EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
  const auto event = host.poll_eq();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, prm::EventType::WQ_CATAS_ERROR);
  EXPECT_EQ(event->qpn, kQpn);
}

// ---- to ERR and back ----

TEST_F(RequesterTest, ToErr_FlushesSentAndUnsent) {
  for (int i = 0; i < 3; ++i) post();
  host.post(kQpn, request());
  host.scheduler().loop().step(0);
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
  const auto cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 3U);
  EXPECT_TRUE(std::ranges::all_of(
      cqes, [](const Cqe& c) { return c.syndrome == prm::CqeSyndrome::WR_FLUSH_ERR; }));
  EXPECT_EQ(cqes[0].vendor_syndrome, 0xf9);
  EXPECT_EQ(cqes[2].wqe_counter, 2U);
}

TEST_F(RequesterTest, PostToAQpInError_IsFlushedAtTheKick) {
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
  post();
  expect_error(prm::CqeSyndrome::WR_FLUSH_ERR);
}

TEST_F(RequesterTest, PostToAQpThatWentToErrorFromInit_IsFlushedAtTheKick) {
  ASSERT_TRUE(host.create(0x50, options).ok());
  ASSERT_TRUE(host.modify(0x50, QpTransition::Rst2Init, kPeerQpn, options).ok());
  ASSERT_TRUE(host.modify(0x50, QpTransition::ToErr).ok());
  host.post_and_ring(0x50, request());
  EXPECT_EQ(host.drain_cq().at(0).syndrome, prm::CqeSyndrome::WR_FLUSH_ERR);
}

TEST_F(RequesterTest, PostBeforeRts_IsNotLookedAt) {
  ASSERT_TRUE(host.create(0x50, options).ok());
  ASSERT_TRUE(host.modify(0x50, QpTransition::Rst2Init, kPeerQpn, options).ok());
  host.post_and_ring(0x50, request());
  host.run();
  EXPECT_FALSE(host.poll_cq());
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(RequesterTest, QpRestartedThroughReset_TakesTheRecordFromZeroAgain) {
  post();
  static_cast<void>(sent());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToRst).ok());
  host.restart_queue(kQpn);
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rst2Init, kPeerQpn, options).ok());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Init2Rtr, kPeerQpn, options).ok());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rtr2Rts, kPeerQpn, options).ok());
  post();
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].psn, kPsn);
  acknowledge(kPsn);
  expect_success(0);
}

TEST_F(RequesterTest, UnsignaledWriteOfAQpInError_IsFlushedWithACqe) {
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
  post(64, false);
  expect_error(prm::CqeSyndrome::WR_FLUSH_ERR);
}

TEST_F(RequesterTest, AcknowledgementAfterToErr_ChangesNothing) {
  post();
  static_cast<void>(sent());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
  static_cast<void>(host.drain_cq());
  acknowledge(kPsn);
  EXPECT_FALSE(host.poll_cq());
}

TEST_F(RequesterTest, ToRst_ForgetsWithoutCompletions) {
  post();
  static_cast<void>(sent());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToRst).ok());
  host.run_until(20 * kTimeoutNs);
  EXPECT_FALSE(host.poll_cq());
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(RequesterTest, DestroyedWithPacketsOutstanding_NoTimerFires) {
  post();
  static_cast<void>(sent());
  ASSERT_TRUE(host.transport().destroy_qp(kQpn).ok());
  host.run_until(20 * kTimeoutNs);
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(RequesterTest, CqOverrun_TakesTheQpToError) {
  host.connect(0x50, 0x50, {.log_sq_size = 13});
  const std::uint32_t rkey = host.make_key(region, access::kRemoteWrite);
  for (int i = 0; i < 4097; ++i) host.post(0x50, {address, rkey, lkey, address, 4, true});
  host.ring(0x50);
  host.run();
  EXPECT_EQ(host.state(0x50), prm::QpState::ERR);
  EXPECT_EQ(host.poll_eq().value().type, prm::EventType::CQ_ERROR);
}

TEST_F(RequesterTest, GarbageProducerIndex_NeverSendsWhatWasNotPosted) {
  post();
  host.set_record(kQpn, 0xfff0);
  host.transport().kick_uar(kUar);
  host.run();
  EXPECT_EQ(peer.take().size(), 1U);
  acknowledge(kPsn);
  EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
