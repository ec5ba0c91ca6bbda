// SPDX-License-Identifier: BSD-3-Clause
//
// What a responder answers to READs, atomics and WRITEs with immediate: a bare port sends the
// requests. Rules as in model/transport/responder.hpp and the two files behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "tests/model/transport/holder.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kPsn = 0x123;
constexpr std::uint8_t kAll =
    access::kRemoteRead | access::kRemoteWrite | access::kAtomic | access::kLocalWrite;

class ResponderFetchTest : public ::testing::Test {
 protected:
  ResponderFetchTest() {
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    options.log_rq_size = 3;
    options.log_rra_max = 1;
    host.connect(kQpn, kPeerQpn, options);
    fill_pattern(region.bytes, 3);
  }

  PacketHeader request(BthOpcode opcode, std::uint32_t psn, std::uint32_t dma_length = 0) const {
    PacketHeader header;
    header.opcode = opcode;
    header.ack_request = true;
    header.psn = psn;
    header.va = address;
    header.rkey = rkey;
    header.dma_length = dma_length;
    return header;
  }
  PacketHeader read(std::uint32_t psn, std::uint32_t bytes) const {
    return request(BthOpcode::ReadRequest, psn, bytes);
  }
  PacketHeader add(std::uint32_t psn, std::uint64_t value) const {
    PacketHeader header = request(BthOpcode::FetchAdd, psn);
    header.swap_add = value;
    return header;
  }
  std::vector<Packet> send(const PacketHeader& header, std::span<const std::byte> payload = {}) {
    peer.send(path, header, payload);
    host.run();
    return peer.take();
  }
  [[nodiscard]] bool is_part(const Packet& packet, std::size_t at, std::size_t bytes) const {
    return std::ranges::equal(packet.payload, region.bytes.subspan(at, bytes));
  }
  void set_word(std::uint64_t value) {
    const auto bytes = std::bit_cast<std::array<std::byte, 8>>(value);
    std::ranges::copy(bytes, region.bytes.begin());
  }
  [[nodiscard]] std::uint64_t word() const {
    std::array<std::byte, 8> bytes;
    std::ranges::copy(region.bytes.first(8), bytes.begin());
    return std::bit_cast<std::uint64_t>(bytes);
  }
  void expect_refusal(const std::vector<Packet>& answers, std::uint8_t code, std::uint32_t psn) {
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].opcode, 0x11);
    EXPECT_EQ(answers[0].syndrome, code);
    EXPECT_EQ(answers[0].psn, psn);
    EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
  }

  std::shared_ptr<Holder> pace = std::make_shared<Holder>();
  Host host{nullptr, "", PortType::Ethernet, pace};
  Peer peer{host};
  QpOptions options;
  Path path = Peer::path_to(kQpn);
  Region region = host.map(16384);
  std::uint64_t address = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t rkey = host.make_key(region, kAll);
};

// ---- READ ----

TEST_F(ResponderFetchTest, ReadOfOnePacket_AnswersOnlyWithTheData) {
  const auto answers = send(read(kPsn, 100));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].opcode, 0x10);
  EXPECT_EQ(answers[0].psn, kPsn);
  EXPECT_EQ(answers[0].msn, 1U);
  EXPECT_EQ(answers[0].syndrome, syndrome::kAckUnlimited);
  EXPECT_TRUE(is_part(answers[0], 0, 100));
}

TEST_F(ResponderFetchTest, ReadOfThreePackets_AnswersFirstMiddleLastAndTakesThreePsns) {
  const auto answers = send(read(kPsn, 2 * kMtu + 5));
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].opcode, 0x0d);
  EXPECT_EQ(answers[1].opcode, 0x0e);
  EXPECT_EQ(answers[2].opcode, 0x0f);
  EXPECT_EQ(answers[2].psn, kPsn + 2);
  EXPECT_TRUE(is_part(answers[1], kMtu, kMtu));
  EXPECT_TRUE(is_part(answers[2], 2 * kMtu, 5));
  EXPECT_EQ(send(read(kPsn + 3, 8)).at(0).psn, kPsn + 3);
}

TEST_F(ResponderFetchTest, ReadOfNoBytes_AnswersWithoutLookingAtTheKey) {
  PacketHeader header = read(kPsn, 0);
  header.rkey = 0xdead;
  const auto answers = send(header);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].opcode, 0x10);
  EXPECT_TRUE(answers[0].payload.empty());
}

TEST_F(ResponderFetchTest, ReadOfMoreThanTheWireHolds_IsAnsweredWhole) {
  const Region large = host.map(std::size_t{1} << 20);
  rkey = host.make_key(large, access::kRemoteRead);
  address = std::bit_cast<std::uint64_t>(large.bytes.data());
  const auto answers = send(read(kPsn, 1U << 20));
  ASSERT_EQ(answers.size(), 1024U);
  EXPECT_EQ(answers.back().opcode, 0x0f);
}

struct RightMissing {
  const char* name;
  BthOpcode opcode;
  bool QpOptions::*right;
};
class ResponderRightTest : public ResponderFetchTest,
                           public ::testing::WithParamInterface<RightMissing> {};

TEST_P(ResponderRightTest, QpWithoutTheRight_RefusesAsInvalid) {
  options.*(GetParam().right) = false;
  ASSERT_TRUE(host.transport().destroy_qp(kQpn).ok());
  host.connect(kQpn, kPeerQpn, options);
  expect_refusal(send(request(GetParam().opcode, kPsn, 8)), syndrome::kNakInvalidRequest, kPsn);
}

INSTANTIATE_TEST_SUITE_P(
    Rights, ResponderRightTest,
    ::testing::Values(RightMissing{"Read", BthOpcode::ReadRequest, &QpOptions::rre},
                      RightMissing{"Add", BthOpcode::FetchAdd, &QpOptions::rae},
                      RightMissing{"Swap", BthOpcode::CompareSwap, &QpOptions::rae}),
    [](const auto& each) { return each.param.name; });

TEST_F(ResponderFetchTest, ReadWithoutTheKeysRight_RefusesAsAccess) {
  rkey = host.make_key(region, access::kRemoteWrite);
  expect_refusal(send(read(kPsn, 8)), syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderFetchTest, ReadPastTheKeysEnd_RefusesAsAccess) {
  expect_refusal(send(read(kPsn, 16385)), syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderFetchTest, KeyDestroyedInsideARead_RestIsRefusedAndNotRead) {
  pace->holds[PacePoint::BetweenPackets] = 0;
  EXPECT_EQ(send(read(kPsn, 3 * kMtu)).size(), 1U);
  host.destroy_key(rkey);
  ASSERT_TRUE(host.transport().release(pace->tickets.at(0)));
  host.run();
  expect_refusal(peer.take(), syndrome::kNakRemoteAccessError, kPsn + 1);
}

TEST_F(ResponderFetchTest, ReadPending_CountsUnderItsKeyUntilMemoryWasRead) {
  pace->holds[PacePoint::ReadPending] = 0;
  EXPECT_TRUE(send(read(kPsn, 8)).empty());
  EXPECT_TRUE(host.has_pending_dma(rkey));
  region.bytes[0] = std::byte{0x77};
  ASSERT_TRUE(host.transport().release(pace->tickets.at(0)));
  host.run();
  EXPECT_FALSE(host.has_pending_dma(rkey));
  EXPECT_EQ(peer.take().at(0).payload[0], std::byte{0x77});
}

TEST_F(ResponderFetchTest, MoreReadsAtATimeThanTheConnectionHas_RefusedAsInvalid) {
  pace->holds[PacePoint::ReadPending] = 0;
  EXPECT_TRUE(send(read(kPsn, 8)).empty());
  EXPECT_TRUE(send(read(kPsn + 1, 8)).empty());
  EXPECT_TRUE(send(read(kPsn + 2, 8)).empty());
  pace->holds.clear();
  ASSERT_TRUE(host.transport().release(pace->tickets.at(0)));
  host.run();
  const auto answers = peer.take();
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[1].opcode, 0x10);
  expect_refusal({answers[2]}, syndrome::kNakInvalidRequest, kPsn + 2);
}

TEST_F(ResponderFetchTest, ReadAfterAsManyWereAnswered_Answered) {
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(send(read(kPsn + i, 8)).size(), 1U);
}

TEST_F(ResponderFetchTest, FloodBehindAPendingRead_LostBeyondTheBuffer) {
  pace->holds[PacePoint::ReadPending] = 0;
  EXPECT_TRUE(send(read(kPsn, 8)).empty());
  for (std::uint32_t i = 0; i < 2000; ++i) EXPECT_TRUE(send(read(kPsn, 8)).empty());
  EXPECT_EQ(host.counters().frames_dropped, 2000U - 1023U);
}

TEST_F(ResponderFetchTest, ReadBehindAPendingWrite_ReadsWhatWasWritten) {
  pace->holds[PacePoint::WritePending] = 0;
  const std::vector<std::byte> data(8, std::byte{0x5a});
  EXPECT_TRUE(send(request(BthOpcode::WriteOnly, kPsn, 8), data).empty());
  EXPECT_TRUE(send(read(kPsn + 1, 8)).empty());
  ASSERT_TRUE(host.transport().release(pace->tickets.at(0)));
  host.run();
  const auto answers = peer.take();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(std::ranges::equal(answers[1].payload, data));
}

TEST_F(ResponderFetchTest, WriteBehindARead_DoesNotChangeWhatTheReadReturns) {
  pace->holds[PacePoint::ReadPending] = 0;
  const std::byte before = region.bytes[0];
  EXPECT_TRUE(send(read(kPsn, 8)).empty());
  const std::vector<std::byte> data(8, ~before);
  EXPECT_TRUE(send(request(BthOpcode::WriteOnly, kPsn + 1, 8), data).empty());
  ASSERT_TRUE(host.transport().release(pace->tickets.at(0)));
  host.run();
  EXPECT_EQ(peer.take().at(0).payload[0], before);
  EXPECT_EQ(region.bytes[0], ~before);
}

TEST_F(ResponderFetchTest, QpToErrorInsideARead_NothingMoreIsSent) {
  pace->holds[PacePoint::BetweenPackets] = 0;
  EXPECT_EQ(send(read(kPsn, 3 * kMtu)).size(), 1U);
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
  ASSERT_TRUE(host.transport().release(pace->tickets.at(0)));
  host.run();
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(ResponderFetchTest, DuplicateRead_ReadsMemoryAgain) {
  EXPECT_EQ(send(read(kPsn, 8)).size(), 1U);
  region.bytes[0] = ~region.bytes[0];
  const auto answers = send(read(kPsn, 8));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].psn, kPsn);
  EXPECT_TRUE(is_part(answers[0], 0, 8));
}

TEST_F(ResponderFetchTest, DuplicateReadOfTheRest_AnswersTheRest) {
  EXPECT_EQ(send(read(kPsn, 3 * kMtu)).size(), 3U);
  PacketHeader rest = read(kPsn + 1, 2 * kMtu);
  rest.va += kMtu;
  const auto answers = send(rest);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].psn, kPsn + 1);
  EXPECT_TRUE(is_part(answers[0], kMtu, kMtu));
  EXPECT_EQ(answers[1].opcode, 0x0f);
}

TEST_F(ResponderFetchTest, DuplicateReadUnderADeadKey_IsRefused) {
  EXPECT_EQ(send(read(kPsn, 8)).size(), 1U);
  host.destroy_key(rkey);
  expect_refusal(send(read(kPsn, 8)), syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderFetchTest, DuplicateReadOfOtherMemory_IsDropped) {
  EXPECT_EQ(send(read(kPsn, 8)).size(), 1U);
  PacketHeader other = read(kPsn, 8);
  other.va += 1;
  EXPECT_TRUE(send(other).empty());
}

TEST_F(ResponderFetchTest, DuplicateOfAReadThatIsForgotten_IsDropped) {
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(send(read(kPsn + i, 8)).size(), 1U);
  EXPECT_TRUE(send(read(kPsn, 8)).empty());
}

TEST_F(ResponderFetchTest, DuplicateWriteBeforeARead_IsNotAnAcknowledgementOfTheRead) {
  const std::vector<std::byte> data(8);
  EXPECT_EQ(send(request(BthOpcode::WriteOnly, kPsn, 8), data).size(), 1U);
  EXPECT_EQ(send(read(kPsn + 1, 8)).size(), 1U);
  const auto answers = send(request(BthOpcode::WriteOnly, kPsn, 8), data);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].psn, kPsn);
}

TEST_F(ResponderFetchTest, MemoryUnmappedUnderARead_IsAnOperationalError) {
  host.unmap(region);
  expect_refusal(send(read(kPsn, 8)), syndrome::kNakRemoteOperationalError, kPsn);
}

// ---- atomics ----

TEST_F(ResponderFetchTest, FetchAdd_AddsAndReturnsWhatWasThere) {
  set_word(40);
  const auto answers = send(add(kPsn, 2));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].opcode, 0x12);
  EXPECT_EQ(answers[0].psn, kPsn);
  EXPECT_EQ(answers[0].original, 40U);
  EXPECT_EQ(answers[0].msn, 1U);
  EXPECT_EQ(word(), 42U);
}

TEST_F(ResponderFetchTest, CompareSwapThatMatches_Swaps) {
  set_word(7);
  PacketHeader swap = request(BthOpcode::CompareSwap, kPsn);
  swap.compare = 7;
  swap.swap_add = 0x1122334455667788;
  EXPECT_EQ(send(swap).at(0).original, 7U);
  EXPECT_EQ(word(), 0x1122334455667788U);
}

TEST_F(ResponderFetchTest, CompareSwapThatDoesNotMatch_LeavesTheWord) {
  set_word(8);
  PacketHeader swap = request(BthOpcode::CompareSwap, kPsn);
  swap.compare = 7;
  swap.swap_add = 9;
  EXPECT_EQ(send(swap).at(0).original, 8U);
  EXPECT_EQ(word(), 8U);
}

TEST_F(ResponderFetchTest, DuplicateAtomic_IsAnsweredFromWhatWasKeptAndNotDoneAgain) {
  set_word(40);
  EXPECT_EQ(send(add(kPsn, 2)).size(), 1U);
  const auto answers = send(add(kPsn, 2));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].opcode, 0x12);
  EXPECT_EQ(answers[0].original, 40U);
  EXPECT_EQ(word(), 42U);
}

TEST_F(ResponderFetchTest, DuplicateWhileTheAtomicIsPending_IsDoneOnce) {
  pace->holds[PacePoint::AtomicPending] = 0;
  set_word(40);
  EXPECT_TRUE(send(add(kPsn, 2)).empty());
  EXPECT_TRUE(send(add(kPsn, 2)).empty());
  EXPECT_TRUE(host.has_pending_dma(rkey));
  EXPECT_EQ(word(), 40U);
  ASSERT_TRUE(host.transport().release(pace->tickets.at(0)));
  host.run();
  const auto answers = peer.take();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].original, 40U);
  EXPECT_EQ(answers[1].original, 40U);
  EXPECT_EQ(word(), 42U);
}

TEST_F(ResponderFetchTest, AtomicOffAWord_RefusesAsInvalid) {
  address += 4;
  expect_refusal(send(add(kPsn, 1)), syndrome::kNakInvalidRequest, kPsn);
}

TEST_F(ResponderFetchTest, AtomicWithoutTheKeysRight_RefusesAsAccess) {
  rkey = host.make_key(region, access::kRemoteRead | access::kRemoteWrite);
  expect_refusal(send(add(kPsn, 1)), syndrome::kNakRemoteAccessError, kPsn);
}

TEST_F(ResponderFetchTest, AtomicInsideAWrite_RefusesAsInvalid) {
  const std::vector<std::byte> data(kMtu);
  EXPECT_EQ(send(request(BthOpcode::WriteFirst, kPsn, 2 * kMtu), data).size(), 1U);
  expect_refusal(send(add(kPsn + 1, 1)), syndrome::kNakInvalidRequest, kPsn + 1);
}

// ---- WRITE with immediate ----

TEST_F(ResponderFetchTest, WriteWithImmediate_ConsumesAReceiveAndCompletesIt) {
  host.post_receive(kQpn, {});
  const std::vector<std::byte> data(100, std::byte{9});
  PacketHeader header = request(BthOpcode::WriteOnlyImmediate, kPsn, 100);
  header.immediate = 0xabcd;
  EXPECT_EQ(send(header, data).at(0).syndrome, syndrome::kAckUnlimited);
  const auto cqe = host.poll_cq();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->opcode, prm::CqeOpcode::RESP_WR_IMM);
  EXPECT_EQ(cqe->byte_cnt, 100U);
  EXPECT_EQ(cqe->immediate, 0xabcdU);
  EXPECT_EQ(region.bytes[99], std::byte{9});
}

TEST_F(ResponderFetchTest, ImmediateWithoutAReceive_WaitsAndWritesNothing) {
  const std::byte before = region.bytes[0];
  const std::vector<std::byte> data(100, ~before);
  const auto answers = send(request(BthOpcode::WriteOnlyImmediate, kPsn, 100), data);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].syndrome, syndrome::kRnrNak | 1);
  EXPECT_EQ(region.bytes[0], before);
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
}

TEST_F(ResponderFetchTest, ImmediateOfManyPackets_CompletesOnceWithTheWholeLength) {
  host.post_receive(kQpn, {});
  const std::vector<std::byte> data(kMtu);
  EXPECT_EQ(send(request(BthOpcode::WriteFirst, kPsn, kMtu + 4), data).size(), 1U);
  EXPECT_FALSE(host.poll_cq());
  EXPECT_EQ(send(request(BthOpcode::WriteLastImmediate, kPsn + 1), std::span(data).first(4)).size(),
            1U);
  EXPECT_EQ(host.poll_cq().value_or(Cqe{}).byte_cnt, kMtu + 4);
}

}  // namespace
}  // namespace portcullis::model::testing
