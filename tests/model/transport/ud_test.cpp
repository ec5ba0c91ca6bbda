// SPDX-License-Identifier: BSD-3-Clause
//
// Unreliable datagrams. Address vectors are written byte by byte, as struct mlx5_wqe_av of mlx5dv.h
// has them, and headers read where rxe_hdr.h has the DETH.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::QpState;
using prm::WqeOpcode;
using ::testing::ElementsAre;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kOther = 0x41;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kQKey = 0x11111111;
constexpr std::size_t kNetwork = 40;  // bytes in front of each message

using Vector = std::array<std::uint8_t, 48>;

/// To 192.0.2.2 of QP 0x777 by the first GID, Q_Key 0x11111111.
constexpr Vector kToPeer{0x11, 0x11, 0x11, 0x11, 0, 0, 0,    0,    0x80, 0, 0x07, 0x77,
                         0,    0,    0xc3, 0x21, 0, 0, 0,    0,    0x02, 0, 0,    0,
                         0,    0x02, 0,    64,   0, 0, 0,    0,    0,    0, 0,    0,
                         0,    0,    0,    0,    0, 0, 0xff, 0xff, 192,  0, 2,    2};
/// To LID 0x1234 of QP 0x41, service level 5.
constexpr Vector kToLid{0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0, 0x80, 0, 0, 0x41, 5, 0, 0x12, 0x34};
/// The same with a GRH to fe80::ff:fe00:1, the port's default GID.
constexpr Vector kToGid{0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0, 0x80, 0, 0, 0x41, 5,    0, 0x12, 0x34,
                        0,    0,    0,    0,    0, 0, 0, 0, 0,    0, 7, 9,    0x40, 0, 0xab, 0xcd,
                        0xfe, 0x80, 0,    0,    0, 0, 0, 0, 0,    0, 0, 0xff, 0xfe, 0, 0,    1};

class Datagrams {
 protected:
  explicit Datagrams(PortType port_type) : host(nullptr, "", port_type) {
    fill_pattern(source.bytes, 3);
    host.connect(kQpn, 0, options);
  }

  void post_receive(std::uint32_t qpn = kQpn, std::uint32_t bytes = 2048) {
    const std::array<Piece, 1> pieces{Piece{address, bytes, key}};
    host.post_receive(qpn, pieces);
  }
  void post(const Vector& vector, std::uint32_t bytes = 64, WqeOpcode opcode = WqeOpcode::SEND,
            std::size_t vector_bytes = sizeof(Vector)) {
    const std::array<Piece, 1> pieces{
        Piece{std::bit_cast<std::uint64_t>(source.bytes.data()), bytes, key_source}};
    const auto from = std::as_bytes(std::span(vector)).first(vector_bytes);
    std::vector<std::byte> segments(from.begin(), from.end());
    const std::vector<std::byte> data = segments_of(pieces);
    segments.insert(segments.end(), data.begin(), data.end());
    host.post_raw(kQpn, opcode, segments, true, 0x01020304);
    host.ring(kQpn);
    host.run();
  }
  [[nodiscard]] std::vector<Cqe> received() {
    std::vector<Cqe> cqes = host.drain_cq();
    std::erase_if(cqes, [](const Cqe& cqe) {
      return cqe.opcode == CqeOpcode::REQ || cqe.opcode == CqeOpcode::REQ_ERR;
    });
    return cqes;
  }
  [[nodiscard]] bool has_arrived(std::size_t bytes) const {
    return std::ranges::equal(target.bytes.subspan(kNetwork, bytes), source.bytes.first(bytes));
  }
  [[nodiscard]] int at(std::size_t byte) const { return std::to_integer<int>(target.bytes[byte]); }
  [[nodiscard]] bool is_untouched(std::size_t from, std::size_t bytes) const {
    return std::ranges::all_of(target.bytes.subspan(from, bytes),
                               [](std::byte b) { return b == std::byte{0}; });
  }

  Host host;
  QpOptions options{.log_rq_size = 3, .service = prm::QpServiceType::UD, .q_key = kQKey};
  Region source = host.map(8192);
  Region target = host.map(16384);
  std::uint32_t key_source = host.make_key(source, access::kLocalRead);
  std::uint32_t key = host.make_key(target, access::kLocalWrite);
  std::uint64_t address = std::bit_cast<std::uint64_t>(target.bytes.data());
};

// ---- RoCEv2 ----

class Ud : public ::testing::Test, protected Datagrams {
 protected:
  Ud() : Datagrams(PortType::Ethernet) {
    path.transport = 0x60;
    header.opcode = BthOpcode::SendOnly;
    header.psn = 0xabcdef;
    header.q_key = kQKey;
    header.source_qpn = kPeerQpn;
  }
  void send(std::size_t bytes = 64) {
    peer.send(path, header, source.bytes.first(bytes));
    host.run();
  }
  void expect_dropped() {
    EXPECT_TRUE(host.drain_cq().empty());
    EXPECT_TRUE(peer.take().empty());
    EXPECT_EQ(host.state(kQpn), QpState::RTS);
    EXPECT_TRUE(is_untouched(0, target.bytes.size()));
  }

  Peer peer{host};
  Path path = Peer::path_to(kQpn);
  PacketHeader header;
};

TEST_F(Ud, Datagram_StandsBehindTheIpHeaderAndNamesItsSource) {
  post_receive();
  send();
  const std::vector<Cqe> cqes = received();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].opcode, CqeOpcode::RESP_SEND);
  EXPECT_EQ(cqes[0].byte_cnt, kNetwork + 64);
  EXPECT_EQ(cqes[0].flags_rqpn, 0x12000777U);  // g, MLX5_CQE_ROCE_L3_HEADER_TYPE_IPV4
  EXPECT_TRUE(has_arrived(64));
  EXPECT_EQ(at(20), 0x45);
  EXPECT_EQ(at(29), 17);  // UDP
  EXPECT_EQ(at(35), 2);   // of 192.0.2.2, the source
  EXPECT_TRUE(is_untouched(kNetwork + 64, 4096));
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(Ud, DatagramOnAVlan_CompletesWithItsTag) {
  post_receive();
  path.tag = 3 << 13 | kVlanId;
  send();
  const std::vector<Cqe> cqes = received();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].l4_hdr_type_etc, 1U);  // cqe_has_vlan
  EXPECT_EQ(cqes[0].vlan_info, 0x6005U);
  EXPECT_TRUE(has_arrived(64));
  EXPECT_EQ(at(20), 0x45);  // the tag is no part of it
}

TEST_F(Ud, DatagramWithoutATag_CompletesWithNone) {
  post_receive();
  send();
  const std::vector<Cqe> cqes = received();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].l4_hdr_type_etc, 0U);
  EXPECT_EQ(cqes[0].vlan_info, 0U);
}

TEST_F(Ud, DatagramWithAPriorityAlone_IsTaken) {
  post_receive();
  path.tag = 3 << 13;
  send();
  EXPECT_EQ(received().size(), 1U);
}

TEST_F(Ud, DatagramOnAVlanThatItsAddressIsNotOn_IsDropped) {
  post_receive();
  path.tag = kVlanId + 1;
  send();
  expect_dropped();
}

TEST_F(Ud, VectorWithAnAddressOnAVlan_SendsTheTagWithItsPriority) {
  Vector vector = kToPeer;
  vector[12] = 3 << 1;        // stat_rate_sl: the priority
  vector[29] = kOnVlan << 4;  // grh_gid_fl: the address
  post(vector);
  const auto packets = peer.take();
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].tag, 3 << 13 | kVlanId);
}

TEST_F(Ud, DatagramWithImmediate_CompletesWithIt) {
  post_receive();
  header.opcode = BthOpcode::SendOnlyImmediate;
  header.immediate = 0x0a0b0c0d;
  send();
  const std::vector<Cqe> cqes = received();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].opcode, CqeOpcode::RESP_SEND_IMM);
  EXPECT_EQ(cqes[0].immediate, 0x0a0b0c0dU);
}

TEST_F(Ud, DatagramFromAnybody_IsTaken) {
  post_receive();
  path.source_ip = Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 51, 100, 9};
  path.source_mac = Mac{0x02, 9, 9, 9, 9, 9};
  send();
  EXPECT_EQ(received().size(), 1U);
}

TEST_F(Ud, DatagramOfAnotherQKey_IsDropped) {
  post_receive();
  header.q_key = kQKey + 1;
  send();
  expect_dropped();
  EXPECT_EQ(host.violations().qkey, 1U);
  EXPECT_EQ(host.violations().pkey, 0U);
}

TEST_F(Ud, DatagramToAnotherGid_IsDropped) {
  post_receive();
  path.dest_ip[15] = 77;
  send();
  expect_dropped();
}

TEST_F(Ud, NoReceivePosted_DropsThatDatagramAlone) {
  send();
  expect_dropped();
  EXPECT_EQ(host.q_counters().out_of_buffer, 1U);
  post_receive();
  send();
  EXPECT_EQ(received().size(), 1U);
}

TEST_F(Ud, ReceiveWithoutRoomForTheHeader_CompletesWithLengthError) {
  post_receive(kQpn, kNetwork + 63);
  send();
  const std::vector<Cqe> cqes = received();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].syndrome, CqeSyndrome::LOCAL_LENGTH_ERR);
  EXPECT_TRUE(is_untouched(0, target.bytes.size()));
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(Ud, Send_SaysQKeyAndSource) {
  post(kToPeer);
  const auto frames = peer.take_frames();
  ASSERT_EQ(frames.size(), 1U);
  constexpr std::size_t kBth = 14 + 20 + 8;
  std::vector<int> bytes;
  for (const std::byte byte : std::span(frames[0]).subspan(kBth, 20))
    bytes.push_back(std::to_integer<int>(byte));
  EXPECT_EQ(bytes[0], 0x64);
  bytes.erase(bytes.begin(), bytes.begin() + 12);
  EXPECT_THAT(bytes, ElementsAre(0x11, 0x11, 0x11, 0x11, 0, 0, 0, 0x40));
  const auto packet = decode(frames[0]);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->dest_qpn, kPeerQpn);
  EXPECT_EQ(packet->udp_sport, 0xc321);
  EXPECT_EQ(packet->dest_ip, kPeerGid);
  EXPECT_EQ(packet->payload.size(), 64U);
  EXPECT_EQ(host.drain_cq().at(0).opcode, CqeOpcode::REQ);
}

TEST_F(Ud, SendsToTwo_GoWhereEachSays) {
  Vector other = kToPeer;
  other[11] = 0x78;
  post(kToPeer);
  post(other, 64, WqeOpcode::SEND_IMM);
  const std::vector<Packet> packets = peer.take();
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0].dest_qpn, 0x777U);
  EXPECT_EQ(packets[1].dest_qpn, 0x778U);
  EXPECT_EQ(packets[1].opcode, 0x65);
  EXPECT_EQ(packets[1].immediate, 0x01020304U);
}

TEST_F(Ud, ControlledQKey_StandsForThatOfTheQueuePair) {
  Vector controlled = kToPeer;
  controlled[0] = 0x80;
  post(controlled);
  EXPECT_EQ(peer.take().at(0).q_key, kQKey);
}

TEST_F(Ud, QKeyByRts2Rts_IsTheNewOne) {
  QpOptions changed = options;
  changed.q_key = 0x22222222;
  ASSERT_TRUE(
      host.modify(kQpn, QpTransition::Rts2Rts, 0, changed, prm::number(prm::QpOptPar::Q_KEY)).ok());
  EXPECT_EQ(host.query(kQpn).get<"q_key">(), 0x22222222U);
  post_receive();
  send();
  expect_dropped();
}

TEST_F(Ud, MoreThanOnePacket_IsALengthErrorOfTheSendHalf) {
  post(kToPeer, kMtu + 1);
  EXPECT_EQ(host.drain_cq().at(0).syndrome, CqeSyndrome::LOCAL_LENGTH_ERR);
  EXPECT_EQ(host.state(kQpn), QpState::SQER);
  post_receive();
  send();
  EXPECT_EQ(received().size(), 1U);
}

TEST_F(Ud, Write_IsNoOperationOfTheService) {
  post(kToPeer, 64, WqeOpcode::RDMA_WRITE);
  EXPECT_EQ(host.drain_cq().at(0).syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(Ud, VectorOfAGidThatIsNotSet_Fails) {
  Vector vector = kToPeer;
  vector[29] = 0x70;  // index 7
  post(vector);
  EXPECT_EQ(host.drain_cq().at(0).syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
  EXPECT_TRUE(peer.take().empty());
}

TEST_F(Ud, ShortVector_ReachesNobodyOnEthernet) {
  Vector vector = kToPeer;
  vector[8] = 0;
  post(vector, 64, WqeOpcode::SEND, prm::kShortUdAvBytes);
  EXPECT_EQ(host.drain_cq().at(0).syndrome, CqeSyndrome::LOCAL_QP_OP_ERR);
}

// ---- InfiniBand, between two queue pairs of one function ----

class UdOfInfiniBand : public ::testing::Test, protected Datagrams {
 protected:
  UdOfInfiniBand() : Datagrams(PortType::InfiniBand) { host.connect(kOther, 0, options); }
};

TEST_F(UdOfInfiniBand, WithoutGrh_LeavesTheFirstFortyBytesAsTheyAre) {
  post_receive(kOther);
  post(kToLid);
  const std::vector<Cqe> cqes = received();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].qpn, kOther);
  EXPECT_EQ(cqes[0].byte_cnt, kNetwork + 64);
  EXPECT_EQ(cqes[0].flags_rqpn, 0x05000040U);
  EXPECT_EQ(cqes[0].slid, kHostLid);
  EXPECT_TRUE(is_untouched(0, kNetwork));
  EXPECT_TRUE(has_arrived(64));
}

TEST_F(UdOfInfiniBand, WithGrh_HasItInTheFirstFortyBytes) {
  post_receive(kOther);
  post(kToGid);
  const std::vector<Cqe> cqes = received();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].flags_rqpn, 0x15000040U);
  EXPECT_EQ(at(0), 0x60);  // version, traffic class 7
  EXPECT_EQ(at(1), 0x70);
  EXPECT_EQ(at(3), 0xcd);   // flow label
  EXPECT_EQ(at(6), 0x1b);   // IB_GRH_NEXT_HDR
  EXPECT_EQ(at(7), 9);      // hop limit
  EXPECT_EQ(at(24), 0xfe);  // destination
  EXPECT_EQ(at(39), 1);
  EXPECT_TRUE(has_arrived(64));
}

TEST_F(UdOfInfiniBand, ShortVector_IsEnough) {
  Vector vector = kToLid;
  vector[8] = 0;
  post_receive(kOther);
  post(vector, 64, WqeOpcode::SEND, prm::kShortUdAvBytes);
  EXPECT_EQ(received().size(), 1U);
  EXPECT_TRUE(has_arrived(64));
}

TEST_F(UdOfInfiniBand, ReceiveInTwoPieces_IsFilledAcrossThem) {
  const std::array<Piece, 2> pieces{Piece{address + 4096, 50, key}, Piece{address, 200, key}};
  host.post_receive(kOther, pieces);
  post(kToGid);
  EXPECT_EQ(received().size(), 1U);
  EXPECT_TRUE(
      std::ranges::equal(target.bytes.subspan(4096 + kNetwork, 10), source.bytes.first(10)));
  EXPECT_TRUE(std::ranges::equal(target.bytes.first(54), source.bytes.subspan(10, 54)));
  EXPECT_TRUE(is_untouched(54, 4096 - 54));
  EXPECT_TRUE(is_untouched(4096 + 50, 4096 - 50));
  EXPECT_EQ(host.counters().dma_faults, 0U);
}

TEST_F(UdOfInfiniBand, LargestMessage_IsTakenAcrossThreePages) {
  QpOptions large = options;
  large.mtu = prm::QpcMtu::MTU_4096;
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToRst, 0, large).ok());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rst2Init, 0, large).ok());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Init2Rtr, 0, large).ok());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rtr2Rts, 0, large).ok());
  const std::array<Piece, 1> pieces{Piece{address + 4090, kNetwork + 4096, key}};
  host.post_receive(kOther, pieces);
  post(kToGid, 4096);
  EXPECT_EQ(received().at(0).opcode, CqeOpcode::RESP_SEND);
  EXPECT_TRUE(
      std::ranges::equal(target.bytes.subspan(4090 + kNetwork, 4096), source.bytes.first(4096)));
  EXPECT_TRUE(is_untouched(0, 4090));
  EXPECT_TRUE(is_untouched(4090 + kNetwork + 4096, 4096));
}

TEST_F(UdOfInfiniBand, PathBitsThatThePortHasNot_AreLookedOver) {
  Vector vector = kToLid;
  vector[13] = 1;
  post_receive(kOther);
  post(vector);
  EXPECT_EQ(received().size(), 1U);
  EXPECT_TRUE(has_arrived(64));
}

/// As golan_modify_qp_init_to_rtr of iPXE's golan.c gives neither MTU nor message size.
TEST_F(UdOfInfiniBand, ContextThatSaysNothing_CarriesWhatThePortDoes) {
  QpOptions empty = options;
  empty.mtu = {};
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToRst, 0, empty).ok());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rst2Init, 0, empty).ok());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Init2Rtr, 0, empty).ok());
  ASSERT_TRUE(host.modify(kQpn, QpTransition::Rtr2Rts, 0, empty).ok());
  const std::array<Piece, 1> pieces{Piece{address, kNetwork + 4096, key}};
  host.post_receive(kOther, pieces);
  post(kToGid, 4096);
  EXPECT_EQ(received().at(0).opcode, CqeOpcode::RESP_SEND);
  EXPECT_TRUE(std::ranges::equal(target.bytes.subspan(kNetwork, 4096), source.bytes.first(4096)));
}

}  // namespace
}  // namespace portcullis::model::testing
