// SPDX-License-Identifier: BSD-3-Clause
//
// Underlay queue pairs, which have no queues: what a send queue sends in their name, and which
// datagrams for them come to a TIR by their root of NIC_RX. Sequence and values of the set-up are
// those of mlx5i_create_underlay_qp and mlx5i_init_underlay_qp of mlx5/core/ipoib/ipoib.c.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "tests/model/flow_commands.hpp"
#include "tests/model/transport/flow_root.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kUnderlay = 0x42;
constexpr std::uint32_t kSender = 0x40;
constexpr std::uint32_t kTir = 9;
constexpr std::uint32_t kQKey = 0xb1b;  // IB_DEFAULT_Q_KEY of ipoib.c
constexpr std::size_t kNetwork = 40;
constexpr Gid kGroup{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};

using Vector = std::array<std::uint8_t, 48>;
/// To LID 0x1234 of QP 0x42, Q_Key 0xb1b, service level 5.
constexpr Vector kToUnderlay{0, 0, 0x0b, 0x1b, 0, 0, 0, 0, 0x80, 0, 0, 0x42, 5, 0, 0x12, 0x34};
/// To the group above of LID 0xc000.
constexpr Vector kToGroup{0,    0,    0x0b, 0x1b, 0,    0, 0, 0, 0x80, 0xff, 0xff, 0xff,
                          0,    0,    0xc0, 0x00, 0,    0, 0, 0, 0,    0,    0,    0,
                          0,    0,    0,    1,    0x40, 0, 0, 0, 0xff, 0x12, 0x40, 0x1b,
                          0xff, 0xff, 0,    0,    0,    0, 0, 0, 0xff, 0xff, 0xff, 0xff};

class Underlay : public ::testing::Test {
 protected:
  Underlay() {
    fill_pattern(source.bytes, 3);
    source.bytes[0] = std::byte{0x08};  // IPoIB: IPv4
    source.bytes[1] = source.bytes[2] = source.bytes[3] = std::byte{0};
    host.connect(kSender, 0, {.service = prm::QpServiceType::UD, .q_key = kQKey});
    EXPECT_TRUE(host.create(kUnderlay, underlay).ok());
  }
  void bring_up() {
    ASSERT_TRUE(host.modify(kUnderlay, QpTransition::Rst2Init, 0, underlay).ok());
    ASSERT_TRUE(host.modify(kUnderlay, QpTransition::Init2Rtr, 0, underlay).ok());
    ASSERT_TRUE(host.modify(kUnderlay, QpTransition::Rtr2Rts, 0, underlay).ok());
  }
  /// A root of the queue pair's own that forwards all it is asked of to the TIR.
  void give_root() {
    make_root(host, prm::FlowTableType::NIC_RX, {.dst_qp = 0xffffff}, {.dst_qp = kUnderlay},
              destination(prm::FlowDestination::TIR, kTir), kUnderlay);
  }
  /// A SEND of an ordinary queue pair, of `bytes` of the source.
  void send(const Vector& vector, std::uint32_t bytes = 64) {
    const std::array<Piece, 1> pieces{
        Piece{std::bit_cast<std::uint64_t>(source.bytes.data()), bytes, key}};
    const auto from = std::as_bytes(std::span(vector));
    std::vector<std::byte> segments(from.begin(), from.end());
    const std::vector<std::byte> data = segments_of(pieces);
    segments.insert(segments.end(), data.begin(), data.end());
    host.post_raw(kSender, prm::WqeOpcode::SEND, segments, /*signaled=*/false);
    host.ring(kSender);
    host.run();
  }
  /// The same in the underlay's name, as a send queue would.
  bool send_as_underlay(const Vector& vector, std::uint32_t qpn = kUnderlay) {
    const bool is_sent = host.transport().outlet().send_datagram(
        {qpn, prm::ConstView<prm::mlx5_wqe_av>::at(std::as_bytes(std::span(vector))),
         source.bytes.first(64), /*is_solicited=*/true});
    host.run();
    return is_sent;
  }

  QpOptions underlay{
      .service = prm::QpServiceType::UD, .mtu = {}, .q_key = kQKey, .is_underlay = true};
  Host host{nullptr, "", PortType::InfiniBand};
  Region source = host.map(8192);
  std::uint32_t key = host.make_key(source, access::kLocalRead);
};

TEST_F(Underlay, Datagram_ComesToTheTirOfItsRootBehindFortyBytes) {
  bring_up();
  give_root();
  send(kToUnderlay);
  ASSERT_THAT(host.datagrams(), SizeIs(1));
  const Host::Datagram& came = host.datagrams()[0];
  EXPECT_EQ(came.tirn, kTir);
  EXPECT_EQ(came.qpn, kUnderlay);
  EXPECT_EQ(came.flags_rqpn, 0x05000000U | kSender);
  EXPECT_EQ(came.slid, kHostLid);
  EXPECT_TRUE(came.is_own);
  EXPECT_FALSE(came.is_of_group);
  EXPECT_FALSE(came.is_solicited);
  ASSERT_EQ(came.bytes.size(), kNetwork + 64);
  EXPECT_TRUE(std::ranges::equal(std::span(came.bytes).subspan(kNetwork), source.bytes.first(64)));
}

TEST_F(Underlay, WithoutARoot_DatagramIsLost) {
  bring_up();
  send(kToUnderlay);
  EXPECT_THAT(host.datagrams(), IsEmpty());
}

TEST_F(Underlay, InReset_DatagramIsLost) {
  give_root();
  send(kToUnderlay);
  EXPECT_THAT(host.datagrams(), IsEmpty());
}

TEST_F(Underlay, OfAnotherQKey_DatagramIsLost) {
  bring_up();
  give_root();
  Vector other = kToUnderlay;
  other[3] = 0x1c;
  send(other);
  EXPECT_THAT(host.datagrams(), IsEmpty());
}

TEST_F(Underlay, ShorterThanTheHeaderOfIpoib_DatagramIsLost) {
  bring_up();
  give_root();
  send(kToUnderlay, 3);
  EXPECT_THAT(host.datagrams(), IsEmpty());
}

TEST_F(Underlay, InAGroup_GetsWhatIsSentToIt) {
  bring_up();
  give_root();
  host.join(kGroup, kUnderlay);
  send(kToGroup);
  ASSERT_THAT(host.datagrams(), SizeIs(1));
  EXPECT_EQ(host.datagrams()[0].flags_rqpn, 0x10000000U | kSender);
  EXPECT_EQ(host.datagrams()[0].bytes[24], std::byte{0xff});  // the GRH's destination
  EXPECT_TRUE(host.datagrams()[0].is_of_group);
}

TEST_F(Underlay, SendQueue_SendsInItsName) {
  bring_up();
  give_root();
  EXPECT_TRUE(send_as_underlay(kToUnderlay));
  ASSERT_THAT(host.datagrams(), SizeIs(1));
  EXPECT_EQ(host.datagrams()[0].flags_rqpn, 0x05000000U | kUnderlay);
  EXPECT_TRUE(host.datagrams()[0].is_solicited);
}

TEST_F(Underlay, BeforeItMaySend_IsRefused) { EXPECT_FALSE(send_as_underlay(kToUnderlay)); }

TEST_F(Underlay, QueuePairWithQueues_IsNone) {
  EXPECT_FALSE(send_as_underlay(kToUnderlay, kSender));
}

TEST_F(Underlay, AddressThatThePortHasNot_IsRefused) {
  bring_up();
  Vector other = kToUnderlay;
  other[28] = 0x40;  // a GRH,
  other[29] = 0x10;  // from the second GID
  EXPECT_FALSE(send_as_underlay(other));
}

TEST_F(Underlay, HasNothingToDrain) {
  bring_up();
  EXPECT_EQ(host.modify(kUnderlay, QpTransition::Rts2Sqd, 0, underlay).status,
            prm::CommandStatus::BAD_QP_STATE_ERR);
  EXPECT_TRUE(send_as_underlay(kToUnderlay));
}

TEST_F(Underlay, RootThatDoesNothing_DatagramIsLost) {
  host.behaviours().underlay_root_inert = true;
  bring_up();
  give_root();
  send(kToUnderlay);
  EXPECT_THAT(host.datagrams(), IsEmpty());
}

TEST_F(Underlay, ForcedToComeBack_DoesWhateverItsLid) {
  bring_up();
  give_root();
  Vector other = kToUnderlay;
  other[13] = 0x80;  // MLX5_AV_FL
  other[15] = 0x35;  // the LID of nobody
  EXPECT_TRUE(send_as_underlay(other));
  EXPECT_THAT(host.datagrams(), SizeIs(1));
}

TEST_F(Underlay, NeedsNoMemory) {
  prm::Buffer<prm::qpc> context;
  context.put<"st">(prm::QpServiceType::UD).set<"ulp_stateless_offload_mode", 2>();
  EXPECT_EQ(Transport::work_queue_bytes(prm::ConstView<prm::qpc>(context.all())), 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
