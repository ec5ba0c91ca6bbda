// SPDX-License-Identifier: BSD-3-Clause
//
// A port that the other end of its link stops: frames made by hand, byte by byte, which tshark
// reads as well, and what leaves the port when. At 100 Gb/s a quantum of 512 bit times is 5.12 ns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <string>
#include <vector>

#include "model/ethernet/pause_frame.hpp"
#include "model/transport/pcap.hpp"
#include "tests/model/transport/judges.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kOtherQpn = 0x41;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint8_t kPriority = 3;
constexpr std::uint16_t kQuanta = 1000;
constexpr std::uint64_t kPauseNs = 5120;

/// 60 bytes that begin with `head`.
Bytes padded(std::vector<std::uint8_t> head) {
  head.resize(kPauseFrameBytes);
  const auto bytes = std::as_bytes(std::span(head));
  return {bytes.begin(), bytes.end()};
}
Bytes pause(std::uint16_t quanta) {
  return padded({0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x08, 0x00, 0x01,
                 static_cast<std::uint8_t>(quanta >> 8), static_cast<std::uint8_t>(quanta)});
}
/// For kPriority; priority 5 is named in the times alone, and not enabled.
Bytes priority_pause(std::uint16_t quanta) {
  return padded({0x01,
                 0x80,
                 0xc2,
                 0,
                 0,
                 1,
                 2,
                 0,
                 0,
                 0,
                 0,
                 2,
                 0x88,
                 0x08,
                 0x01,
                 0x01,
                 0x00,
                 0x08,
                 0,
                 0,
                 0,
                 0,
                 0,
                 0,
                 static_cast<std::uint8_t>(quanta >> 8),
                 static_cast<std::uint8_t>(quanta),
                 0,
                 0,
                 0xff,
                 0xff,
                 0,
                 0,
                 0,
                 0});
}

class PauseTest : public ::testing::Test {
 protected:
  PauseTest() {
    QpOptions options;
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    options.src_addr_index = kOnVlan;
    options.eth_prio = kPriority;
    host.connect(kQpn, kPeerQpn, options);
    options.eth_prio = 0;
    host.connect(kOtherQpn, kPeerQpn, options);
  }
  void post(std::uint32_t qpn) {
    host.post_and_ring(qpn, {0x10000, 0xabcd, lkey, address, 64, true});
    host.run();
  }
  void hear(const Bytes& frame) {
    peer.send_raw(frame);
    host.run();
    static_cast<void>(peer.take());
  }
  [[nodiscard]] PortCounters::PriorityCount count(std::size_t priority) const {
    return host.port_counts().priorities[priority];
  }
  /// A request to `qpn`, on its VLAN.
  void ask(const PacketHeader& header, std::span<const std::byte> payload = {}) {
    Path path = Peer::path_to(kQpn);
    path.tag = static_cast<std::uint16_t>(kPriority << 13 | kVlanId);
    peer.send(path, header, payload);
    host.run();
  }

  Host host;
  Peer peer{host};
  Region region = host.map(8192);
  std::uint64_t address = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t lkey =
      host.make_key(region, access::kLocalRead | access::kRemoteRead | access::kRemoteWrite);
};

TEST_F(PauseTest, PriorityThatIsStopped_SendsWhenItsQuantaHavePassed) {
  host.port().pfc_rx = 1U << kPriority;
  hear(priority_pause(kQuanta));
  const std::uint64_t since = host.now_ns();
  post(kQpn);
  host.run_until(since + kPauseNs - 1);
  EXPECT_THAT(peer.take(), IsEmpty());
  host.run_until(since + kPauseNs);
  host.run();
  EXPECT_THAT(peer.take(), SizeIs(1));
  EXPECT_EQ(count(kPriority).pauses_received, 1U);
  EXPECT_EQ(count(5).pauses_received, 0U);
  EXPECT_EQ(host.port_counts().stopped[kPriority].paused_ns, kPauseNs);
  EXPECT_EQ(host.port_counts().stopped[kPriority].resumed, 1U);
}

TEST_F(PauseTest, OtherPriority_GoesOn) {
  host.port().pfc_rx = 0xff;
  hear(priority_pause(kQuanta));
  post(kOtherQpn);
  EXPECT_THAT(peer.take(), SizeIs(1));
}

TEST_F(PauseTest, ZeroQuanta_EndThePause) {
  host.port().pfc_rx = 1U << kPriority;
  hear(priority_pause(0xffff));
  post(kQpn);
  EXPECT_THAT(peer.take(), IsEmpty());
  peer.send_raw(priority_pause(0));
  host.run();
  EXPECT_THAT(peer.take(), SizeIs(1));
}

TEST_F(PauseTest, SecondFrame_CountsItsQuantaFromItself) {
  host.port().pfc_rx = 1U << kPriority;
  hear(priority_pause(kQuanta));
  post(kQpn);
  const std::uint64_t since = host.now_ns();
  host.run_until(since + kPauseNs - 20);
  hear(priority_pause(kQuanta));
  host.run_until(since + 2 * kPauseNs - 21);
  EXPECT_THAT(peer.take(), IsEmpty());
  host.run_until(since + 2 * kPauseNs - 20);
  host.run();
  EXPECT_THAT(peer.take(), SizeIs(1));
}

TEST_F(PauseTest, PauseOfAll_StopsEveryPriority) {
  host.port().pause_rx = true;
  hear(pause(kQuanta));
  const std::uint64_t since = host.now_ns();
  post(kQpn);
  post(kOtherQpn);
  EXPECT_THAT(peer.take(), IsEmpty());
  host.run_until(since + kPauseNs);
  host.run();
  EXPECT_THAT(peer.take(), SizeIs(2));
  EXPECT_EQ(host.port_counts().pauses_received, 1U);
  EXPECT_EQ(count(0).pauses_received, 1U);
}

TEST_F(PauseTest, FrameToThePortItself_WaitsWhereItsLoopbackIsOff) {
  host.port().pause_rx = true;
  hear(pause(kQuanta));
  Bytes own = padded({0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0x08, 0x00});
  std::ranges::copy(std::as_bytes(std::span(host.port().mac)), own.begin());
  EXPECT_FALSE(host.transport().outlet().is_paused(own, 0));
  host.port().loops_unicast = false;
  EXPECT_TRUE(host.transport().outlet().is_paused(own, 0));
}

TEST_F(PauseTest, FramesThatNoSettingObeys_StopNothingAndAreCounted) {
  hear(pause(0xffff));
  hear(priority_pause(0xffff));
  post(kQpn);
  EXPECT_THAT(peer.take(), SizeIs(1));
  EXPECT_EQ(host.port_counts().controls_received, 2U);
  EXPECT_EQ(host.port_counts().pauses_received, 2U);
}

TEST_F(PauseTest, PauseOfAll_IsNotObeyedBesidePriorities) {
  host.port().pause_rx = true;
  host.port().pfc_rx = 1U << kPriority;
  hear(pause(0xffff));
  post(kQpn);
  EXPECT_THAT(peer.take(), SizeIs(1));
}

TEST_F(PauseTest, FrameThatIsCutShort_StopsNothing) {
  host.port().pfc_rx = 0xff;
  Bytes frame = priority_pause(0xffff);
  frame.resize(33);
  hear(frame);
  Bytes unknown = priority_pause(0xffff);
  unknown[15] = std::byte{0x02};
  hear(unknown);
  post(kQpn);
  EXPECT_THAT(peer.take(), SizeIs(1));
  EXPECT_EQ(host.port_counts().controls_unknown, 2U);
  EXPECT_EQ(host.port_counts().pauses_received, 0U);
}

TEST_F(PauseTest, Acknowledgement_WaitsForItsPriority) {
  host.port().pfc_rx = 1U << kPriority;
  hear(priority_pause(kQuanta));
  const std::uint64_t since = host.now_ns();
  PacketHeader write;
  write.opcode = BthOpcode::WriteOnly;
  write.psn = 0x123;
  write.va = address;
  write.rkey = lkey;
  write.dma_length = 4;
  write.ack_request = true;
  ask(write, Bytes(4));
  EXPECT_THAT(peer.take(), IsEmpty());
  host.run_until(since + kPauseNs);
  host.run();
  const auto answers = peer.take();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].operation(), BthOpcode::Acknowledge);
}

TEST_F(PauseTest, ReadResponses_WaitForTheirPriority) {
  host.port().pfc_rx = 1U << kPriority;
  hear(priority_pause(kQuanta));
  const std::uint64_t since = host.now_ns();
  PacketHeader read;
  read.opcode = BthOpcode::ReadRequest;
  read.psn = 0x123;
  read.va = address;
  read.rkey = lkey;
  read.dma_length = 2 * kMtu;
  ask(read);
  EXPECT_THAT(peer.take(), IsEmpty());
  host.run_until(since + kPauseNs);
  host.run();
  EXPECT_THAT(peer.take(), SizeIs(2));
}

TEST_F(PauseTest, TrustInDscp_MakesThePriorityOfThePacketsHeader) {
  host.port().trust = PortSettings::kTrustDscp;
  host.port().dscp_priority.fill(6);
  host.port().pfc_rx = 1U << kPriority;
  hear(priority_pause(0xffff));
  post(kQpn);
  EXPECT_THAT(peer.take(), SizeIs(1));
}

TEST_F(PauseTest, Reset_EndsEveryPause) {
  host.port().pfc_rx = 1U << kPriority;
  hear(priority_pause(0xffff));
  host.transport().reset();
  QpOptions options;
  options.dest_mac = kPeerMac;
  options.dest_gid = kPeerGid;
  options.src_addr_index = kOnVlan;
  options.eth_prio = kPriority;
  host.connect(0x50, kPeerQpn, options);
  post(0x50);
  EXPECT_THAT(peer.take(), SizeIs(1));
}

TEST(PauseFrames, AreBuiltAsTheStandardHasThem) {
  constexpr Mac kSource{2, 0, 0, 0, 0, 2};
  Bytes built(kPauseFrameBytes, std::byte{0xee});
  PauseFrame frame;
  frame.quanta.fill(kQuanta);
  build_pause(frame, kSource, built);
  EXPECT_EQ(built, pause(kQuanta));
  frame = {.is_per_priority = true, .priorities = 1U << kPriority};
  frame.quanta[kPriority] = kQuanta;
  frame.quanta[5] = 0xffff;
  build_pause(frame, kSource, built);
  EXPECT_EQ(built, priority_pause(kQuanta));
}

TEST(PauseFrames, AreReadByTsharkAsTheyWereMeant) {
  const std::string path = ::testing::TempDir() + "portcullis_pause_frames.pcap";
  Bytes built(kPauseFrameBytes);
  auto writer = PcapWriter::create(path);
  ASSERT_TRUE(writer);
  PauseFrame frame;
  frame.quanta.fill(0x1234);
  build_pause(frame, kHostMac, built);
  (*writer)->write(built, 0);
  frame = {.is_per_priority = true, .priorities = 0x28};
  frame.quanta[3] = 0xffff;
  frame.quanta[5] = 7;
  build_pause(frame, kHostMac, built);
  (*writer)->write(built, 0);
  ASSERT_TRUE((*writer)->flush());
  EXPECT_EQ(tshark(path, "_ws.malformed || _ws.expert.severity", "frame.number"), "");
  EXPECT_EQ(tshark(path, "macc.opcode == 1", "macc.pause_time"), "4660\n");
  EXPECT_EQ(tshark(path, "macc.opcode == 0x101", "macc.cbfc.enbv"), "0x0028\n");
  EXPECT_EQ(tshark(path, "macc.opcode == 0x101", "macc.cbfc.pause_time.c3"), "65535\n");
  EXPECT_EQ(tshark(path, "macc.opcode == 0x101", "macc.cbfc.pause_time.c5"), "7\n");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace portcullis::model::testing
