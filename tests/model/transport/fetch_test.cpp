// SPDX-License-Identifier: BSD-3-Clause
//
// READs, atomics and WRITEs with immediate as a requester posts them: a bare port answers by hand,
// or two queue pairs of one host talk to each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/clock.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kPsn = 0x123;
constexpr std::uint64_t kTimeoutNs = std::uint64_t{4096} << 14;  // QpOptions::ack_timeout

class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    options.log_sra_max = 1;
    host.connect(kQpn, kPeerQpn, options);
    fill_pattern(pattern, 4);
  }

  void read(std::uint32_t length, std::uint8_t flags = 0) {
    host.post_rdma(kQpn, prm::WqeOpcode::RDMA_READ, {0x10000, 0xabcd, lkey, address, length, true},
                   0, flags);
    host.ring(kQpn);
    host.run();
  }
  void write(std::uint8_t flags = 0) {
    host.post_rdma(kQpn, prm::WqeOpcode::RDMA_WRITE, {0x10000, 0xabcd, lkey, address, 8, true}, 0,
                   flags);
    host.ring(kQpn);
    host.run();
  }
  void post_add(std::uint32_t length = 8) {
    host.post_atomic(kQpn, prm::WqeOpcode::ATOMIC_FA,
                     {0x10000, 0xabcd, lkey, address, 5, 0, length});
    host.ring(kQpn);
    host.run();
  }
  void respond(BthOpcode opcode, std::uint32_t psn, std::size_t at = 0, std::size_t bytes = 0,
               std::uint8_t code = syndrome::kAckUnlimited) {
    PacketHeader header;
    header.opcode = opcode;
    header.psn = psn;
    header.syndrome = code;
    header.original = 0x0102030405060708;
    peer.send(path, header, std::span(pattern).subspan(at, bytes));
    host.run();
  }
  [[nodiscard]] bool arrived(std::size_t bytes) const {
    return std::ranges::equal(region.bytes.first(bytes), std::span(pattern).first(bytes));
  }
  void expect_success(std::uint32_t wqe_counter, std::uint32_t bytes) {
    const auto cqe = host.poll_cq();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->opcode, prm::CqeOpcode::REQ);
    EXPECT_EQ(cqe->wqe_counter, wqe_counter);
    EXPECT_EQ(cqe->byte_cnt, bytes);
  }
  void expect_error(prm::CqeSyndrome syndrome) {
    const auto cqe = host.poll_cq();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->opcode, prm::CqeOpcode::REQ_ERR);
    EXPECT_EQ(cqe->syndrome, syndrome);
    EXPECT_EQ(host.state(kQpn), prm::QpState::ERR);
  }

  Host host;
  Peer peer{host};
  QpOptions options;
  Path path = Peer::path_to(kQpn);
  std::vector<std::byte> pattern = std::vector<std::byte>(8192);
  Region region = host.map(16384);
  std::uint64_t address = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t lkey = host.make_key(region, access::kLocalRead | access::kLocalWrite);
};

// ---- READ ----

TEST_F(FetchTest, Read_IsOneRequestForAllOfIt) {
  read(2 * kMtu + 5);
  const auto packets = peer.take();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].opcode, 0x0c);
  EXPECT_EQ(packets[0].psn, kPsn);
  EXPECT_EQ(packets[0].va, 0x10000U);
  EXPECT_EQ(packets[0].rkey, 0xabcdU);
  EXPECT_EQ(packets[0].dma_length, 2 * kMtu + 5);
}

TEST_F(FetchTest, Responses_GoToMemoryAndTheLastCompletesTheRead) {
  read(2 * kMtu + 5);
  respond(BthOpcode::ReadResponseFirst, kPsn, 0, kMtu);
  respond(BthOpcode::ReadResponseMiddle, kPsn + 1, kMtu, kMtu);
  EXPECT_FALSE(host.poll_cq());
  respond(BthOpcode::ReadResponseLast, kPsn + 2, 2 * kMtu, 5);
  expect_success(0, 2 * kMtu + 5);
  EXPECT_TRUE(arrived(2 * kMtu + 5));
}

TEST_F(FetchTest, RequestBehindARead_TakesThePsnBehindItsResponses) {
  read(2 * kMtu + 5);
  write();
  const auto packets = peer.take();
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[1].psn, kPsn + 3);
}

TEST_F(FetchTest, AcknowledgementBehindARead_DoesNotCompleteIt) {
  read(8);
  write();
  EXPECT_EQ(peer.take().size(), 2U);
  peer.acknowledge(kQpn, kPsn + 1);
  host.run();
  EXPECT_FALSE(host.poll_cq());
  const auto again = peer.take();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].opcode, 0x0c);
  EXPECT_EQ(again[0].psn, kPsn);
}

TEST_F(FetchTest, ResponseAcknowledgesTheWriteBefore) {
  write();
  read(8);
  respond(BthOpcode::ReadResponseOnly, kPsn + 1, 0, 8);
  expect_success(0, 8);
  expect_success(1, 8);
}

TEST_F(FetchTest, MissingResponse_RestIsAskedForAtOnceFromThereOn) {
  read(3 * kMtu);
  EXPECT_EQ(peer.take().size(), 1U);
  respond(BthOpcode::ReadResponseFirst, kPsn, 0, kMtu);
  respond(BthOpcode::ReadResponseLast, kPsn + 2, 2 * kMtu, kMtu);
  const auto again = peer.take();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].psn, kPsn + 1);
  EXPECT_EQ(again[0].va, 0x10000U + kMtu);
  EXPECT_EQ(again[0].dma_length, 2 * kMtu);
  respond(BthOpcode::ReadResponseFirst, kPsn + 1, kMtu, kMtu);
  respond(BthOpcode::ReadResponseLast, kPsn + 2, 2 * kMtu, kMtu);
  expect_success(0, 3 * kMtu);
  EXPECT_TRUE(arrived(3 * kMtu));
}

TEST_F(FetchTest, NoResponse_ReadIsSentAgainAndThenFails) {
  read(8);
  host.run_until(9 * kTimeoutNs);
  EXPECT_EQ(peer.take().size(), 8U);
  expect_error(prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
}

TEST_F(FetchTest, MoreReadsThanAllowed_WaitForAResponse) {
  for (int i = 0; i < 3; ++i) read(8);
  EXPECT_EQ(peer.take().size(), 2U);
  respond(BthOpcode::ReadResponseOnly, kPsn, 0, 8);
  EXPECT_EQ(peer.take().size(), 1U);
}

TEST_F(FetchTest, FencedWrite_WaitsForTheReadBefore) {
  read(8);
  write(prm::kCtrlFence);
  EXPECT_EQ(peer.take().size(), 1U);
  respond(BthOpcode::ReadResponseOnly, kPsn, 0, 8);
  EXPECT_EQ(peer.take().size(), 1U);
}

TEST_F(FetchTest, FencedWriteThatIsSentAgain_DoesNotWaitForTheReadBehind) {
  write(prm::kCtrlFence);
  read(8);
  EXPECT_EQ(peer.take().size(), 2U);
  peer.acknowledge(kQpn, kPsn, syndrome::kNakPsnSequenceError);
  host.run();
  EXPECT_EQ(peer.take().size(), 2U);
}

TEST_F(FetchTest, AccessNakInTheMiddle_FailsTheRead) {
  read(3 * kMtu);
  respond(BthOpcode::ReadResponseFirst, kPsn, 0, kMtu);
  peer.acknowledge(kQpn, kPsn + 1, syndrome::kNakRemoteAccessError);
  host.run();
  expect_error(prm::CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(FetchTest, AccessNakThatNamesTheReadsFirstPsn_FailsItToo) {
  read(3 * kMtu);
  respond(BthOpcode::ReadResponseFirst, kPsn, 0, kMtu);
  peer.acknowledge(kQpn, kPsn, syndrome::kNakRemoteAccessError);
  host.run();
  expect_error(prm::CqeSyndrome::REMOTE_ACCESS_ERR);
}

struct BadResponse {
  const char* name;
  BthOpcode opcode;
  std::size_t bytes;
  std::uint8_t code;
  prm::CqeSyndrome syndrome;
};
class BadResponseTest : public FetchTest, public ::testing::WithParamInterface<BadResponse> {};

TEST_P(BadResponseTest, FailsTheRead) {
  read(2 * kMtu);
  respond(GetParam().opcode, kPsn, 0, GetParam().bytes, GetParam().code);
  expect_error(GetParam().syndrome);
}

INSTANTIATE_TEST_SUITE_P(
    Responses, BadResponseTest,
    ::testing::Values(BadResponse{"OnlyWhereMoreFollows", BthOpcode::ReadResponseOnly, kMtu, 0x1f,
                                  prm::CqeSyndrome::BAD_RESP_ERR},
                      BadResponse{"MiddleWithoutFirst", BthOpcode::ReadResponseMiddle, kMtu, 0x1f,
                                  prm::CqeSyndrome::BAD_RESP_ERR},
                      BadResponse{"AtomicAcknowledge", BthOpcode::AtomicAcknowledge, 0, 0x1f,
                                  prm::CqeSyndrome::BAD_RESP_ERR},
                      BadResponse{"SyndromeThatIsNoAck", BthOpcode::ReadResponseFirst, kMtu, 0x62,
                                  prm::CqeSyndrome::BAD_RESP_ERR},
                      BadResponse{"Short", BthOpcode::ReadResponseFirst, kMtu - 4, 0x1f,
                                  prm::CqeSyndrome::LOCAL_LENGTH_ERR},
                      BadResponse{"Long", BthOpcode::ReadResponseFirst, kMtu + 4, 0x1f,
                                  prm::CqeSyndrome::LOCAL_LENGTH_ERR}),
    [](const auto& each) { return each.param.name; });

TEST_F(FetchTest, ReadIntoAKeyWithoutLocalWrite_FailsAsProtection) {
  lkey = host.make_key(region, access::kLocalRead);
  read(8);
  respond(BthOpcode::ReadResponseOnly, kPsn, 0, 8);
  expect_error(prm::CqeSyndrome::LOCAL_PROT_ERR);
}

TEST_F(FetchTest, ReadIntoTheWqeItself_FailsAsAMalformedWqe) {
  std::vector<std::byte> segments(32);
  prm::View<prm::mlx5_wqe_inl_data_seg>::at(segments, 16)
      .put<"byte_count">(prm::inline_byte_count(8));
  host.post_raw(kQpn, prm::WqeOpcode::RDMA_READ, segments);
  host.ring(kQpn);
  host.run();
  expect_error(prm::CqeSyndrome::LOCAL_QP_OP_ERR);
}

// ---- atomics ----

TEST_F(FetchTest, FetchAdd_SendsItsOperand) {
  post_add();
  const auto packets = peer.take();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].opcode, 0x14);
  EXPECT_EQ(packets[0].va, 0x10000U);
  EXPECT_EQ(packets[0].rkey, 0xabcdU);
  EXPECT_EQ(packets[0].swap_add, 5U);
}

TEST_F(FetchTest, CompareSwap_SendsBothOperands) {
  host.post_atomic(kQpn, prm::WqeOpcode::ATOMIC_CS, {0x10000, 0xabcd, lkey, address, 9, 7});
  host.ring(kQpn);
  host.run();
  const auto packets = peer.take();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].opcode, 0x13);
  EXPECT_EQ(packets[0].swap_add, 9U);
  EXPECT_EQ(packets[0].compare, 7U);
}

TEST_F(FetchTest, OriginalValue_GoesToMemoryInTheHostsOrder) {
  post_add();
  respond(BthOpcode::AtomicAcknowledge, kPsn);
  expect_success(0, 8);
  EXPECT_EQ(region.bytes[0], std::byte{8});
  EXPECT_EQ(region.bytes[7], std::byte{1});
}

TEST_F(FetchTest, OriginalValueWithoutHostEndianness_IsBigEndian) {
  host.set_host_endian_atomics(false);
  post_add();
  respond(BthOpcode::AtomicAcknowledge, kPsn);
  EXPECT_EQ(region.bytes[0], std::byte{1});
  EXPECT_EQ(region.bytes[7], std::byte{8});
}

TEST_F(FetchTest, AtomicOfFourBytes_FailsAsLength) {
  post_add(4);
  expect_error(prm::CqeSyndrome::LOCAL_LENGTH_ERR);
}

// ---- two queue pairs ----

class PairTest : public ::testing::TestWithParam<prm::QpcMtu> {
 protected:
  void connect(QpOptions options) {
    options.mtu = GetParam();
    options.log_rq_size = 4;
    host.connect(kQpn, kQpn + 1, options);
    host.connect(kQpn + 1, kQpn, options);
    fill_pattern(there.bytes, 6);
  }
  void run() {
    host.ring(kQpn);
    host.run();
  }

  Host host;
  Region here = host.map(65536);
  Region there = host.map(65536);
  std::uint32_t lkey = host.make_key(here, access::kLocalRead | access::kLocalWrite);
  std::uint32_t rkey = host.make_key(
      there, access::kRemoteRead | access::kRemoteWrite | access::kAtomic | access::kLocalWrite);
};

TEST_P(PairTest, ReadOf40000Bytes_IsTheRemoteMemory) {
  connect({});
  host.post_rdma(kQpn, prm::WqeOpcode::RDMA_READ,
                 {address_of(there), rkey, lkey, address_of(here), 40'000, true});
  run();
  EXPECT_EQ(host.poll_cq().value_or(Cqe{}).byte_cnt, 40'000U);
  EXPECT_TRUE(std::ranges::equal(here.bytes.first(40'000), there.bytes.first(40'000)));
}

TEST_P(PairTest, ReadsOverTheEndOfThePsns_ComeInOrder) {
  QpOptions options;
  options.psn = 0xfffffe;
  connect(options);
  for (std::uint64_t i = 0; i < 8; ++i)
    host.post_rdma(
        kQpn, prm::WqeOpcode::RDMA_READ,
        {address_of(there) + i * 8000, rkey, lkey, address_of(here) + i * 8000, 8000, true});
  run();
  EXPECT_EQ(host.drain_cq().size(), 8U);
  EXPECT_TRUE(std::ranges::equal(here.bytes.first(64'000), there.bytes.first(64'000)));
}

TEST_P(PairTest, WriteWithImmediateOf9000Bytes_CompletesOnBothSides) {
  connect({});
  host.post_receive(kQpn + 1, {});
  host.post_rdma(kQpn, prm::WqeOpcode::RDMA_WRITE_IMM,
                 {address_of(there), rkey, lkey, address_of(here), 9000, true}, 0x1234);
  run();
  const std::vector<Cqe> cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 2U);
  EXPECT_EQ(cqes[0].opcode, prm::CqeOpcode::RESP_WR_IMM);
  EXPECT_EQ(cqes[0].immediate, 0x1234U);
  EXPECT_EQ(cqes[0].byte_cnt, 9000U);
  EXPECT_EQ(cqes[1].opcode, prm::CqeOpcode::REQ);
}

TEST_P(PairTest, TenAdds_EachSeesTheOneBefore) {
  connect({});
  std::ranges::fill(there.bytes.first(8), std::byte{0});
  for (std::uint64_t i = 0; i < 10; ++i)
    host.post_atomic(kQpn, prm::WqeOpcode::ATOMIC_FA,
                     {address_of(there), rkey, lkey, address_of(here) + 8 * i, 3});
  run();
  EXPECT_EQ(host.drain_cq().size(), 10U);
  EXPECT_EQ(there.bytes[0], std::byte{30});
  EXPECT_EQ(here.bytes[std::size_t{8} * 9], std::byte{27});
}

INSTANTIATE_TEST_SUITE_P(Mtus, PairTest,
                         ::testing::Values(prm::QpcMtu::MTU_256, prm::QpcMtu::MTU_512,
                                           prm::QpcMtu::MTU_1024, prm::QpcMtu::MTU_2048,
                                           prm::QpcMtu::MTU_4096),
                         [](const auto& each) {
                           return std::to_string(prm::bytes_of(each.param));
                         });

}  // namespace
}  // namespace portcullis::model::testing
