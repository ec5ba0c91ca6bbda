// SPDX-License-Identifier: BSD-3-Clause
//
// What a port counts of packets of queue pairs, and of RoCE frames that it does not take: too long
// for it, changed on their way, or with headers that contradict each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::size_t kUdpLengthAt = 14 + 20 + 4;  // IPv4
constexpr std::uint16_t kPmtu = 602;               // of a payload without padding

class PortCounts : public ::testing::Test {
 protected:
  PortCounts() {
    QpOptions options;
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    host.connect(kQpn, 0x777, options);
  }
  /// A SEND of `bytes`, which the host answers with an RNR NAK for want of a receive.
  static std::vector<std::byte> request(std::size_t bytes) {
    std::vector<std::byte> frame(kMaxFrameBytes);
    PacketHeader header;
    header.opcode = BthOpcode::SendOnly;
    header.psn = 0x123;
    header.ack_request = true;
    frame.resize(FrameTemplate(Peer::path_to(kQpn)).finish(frame, header, bytes));
    return frame;
  }
  std::vector<Packet> answers_to(const std::vector<std::byte>& frame) {
    peer.send_raw(frame);
    host.run();
    return peer.take();
  }

  Host host;
  Peer peer{host};
};

TEST_F(PortCounts, PacketThatIsWell_IsAnsweredAndNoError) {
  EXPECT_THAT(answers_to(request(64)), SizeIs(1));
  EXPECT_EQ(host.port_counts().malformed + host.port_counts().wrong_icrc, 0U);
}

TEST_F(PortCounts, RequestAndAnswer_AreCountedWithTheirOctets) {
  const auto frame = request(64);
  ASSERT_THAT(answers_to(frame), SizeIs(1));
  const PortCounters::PacketCounts& counts = host.packet_counts();
  EXPECT_EQ(counts.received.packets, 1U);
  EXPECT_EQ(counts.received.octets, frame.size());
  EXPECT_EQ(counts.sent.packets, 1U);
  EXPECT_EQ(counts.sent.octets, 14U + 20U + 8U + 12U + 4U + 4U);  // Ethernet to AETH, ICRC
  EXPECT_EQ(counts.received_by_group.packets + counts.sent_to_group.packets, 0U);
}

TEST_F(PortCounts, PacketThatIsLost_IsCountedByNoneOfThem) {
  auto frame = request(64);
  frame[frame.size() - 8] ^= std::byte{1};  // of the payload
  EXPECT_THAT(answers_to(frame), IsEmpty());
  EXPECT_EQ(host.packet_counts().received.packets + host.packet_counts().sent.packets, 0U);
}

TEST_F(PortCounts, PacketThatWasChanged_IsCountedByItsCrc) {
  auto frame = request(64);
  frame[frame.size() - 8] ^= std::byte{1};  // of the payload
  EXPECT_THAT(answers_to(frame), IsEmpty());
  EXPECT_EQ(host.port_counts().wrong_icrc, 1U);
  EXPECT_EQ(host.port_counts().malformed, 0U);
}

TEST_F(PortCounts, PacketWhoseLengthsDisagree_IsMalformed) {
  auto frame = request(64);
  frame[kUdpLengthAt + 1] ^= std::byte{4};
  EXPECT_THAT(answers_to(frame), IsEmpty());
  EXPECT_EQ(host.port_counts().malformed, 1U);
}

TEST_F(PortCounts, PacketLongerThanPmtuSays_IsLostAndCounted) {
  host.port().mtu = kPmtu;
  constexpr std::size_t kRest = 14 + 20 + 8 + 12 + 4 + 4;  // Ethernet to BTH, ICRC, FCS
  EXPECT_THAT(answers_to(request(kPmtu - kRest)), SizeIs(1));
  EXPECT_THAT(answers_to(request(kPmtu - kRest + 4)), IsEmpty());
  EXPECT_EQ(host.port_counts().too_long, 1U);
}

TEST_F(PortCounts, BeforePmtuIsWritten_NoPacketIsTooLong) {
  EXPECT_THAT(answers_to(request(kMtu)), SizeIs(1));
  EXPECT_EQ(host.port_counts().too_long, 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
