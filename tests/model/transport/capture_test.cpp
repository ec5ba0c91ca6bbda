// SPDX-License-Identifier: BSD-3-Clause
//
// Captures of real traffic, judged by programs that nobody here wrote: tshark dissects every frame,
// scapy recomputes every ICRC. What no such program knows, the CRCs of an InfiniBand link, is
// computed a second time by their definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <string>

#include "model/transport/pcap.hpp"
#include "tests/model/transport/judges.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

class Capture : public ::testing::Test {
 protected:
  /// Messages of one, two and three packets, odd lengths, a sequence error and a dead key.
  void talk(const QpOptions& options, PortType port_type = PortType::Ethernet) {
    Host host(nullptr, path_, port_type);
    const Region from = host.map(8192);
    const Region to = host.map(8192);
    fill_pattern(from.bytes, 3);
    const std::uint32_t lkey = host.make_key(from, access::kLocalRead);
    const std::uint32_t rkey = host.make_key(to, access::kRemoteWrite);
    host.connect(0x40, 0x41, options);
    host.connect(0x41, 0x40, options);
    const auto local = std::bit_cast<std::uint64_t>(from.bytes.data());
    const auto remote = std::bit_cast<std::uint64_t>(to.bytes.data());
    host.transport().inject({FrameFaultRule::Kind::Drop, 0x07, std::nullopt, 0, 1, false});
    for (const std::uint32_t length : {0U, 1U, 63U, 1024U, 1025U, 3071U})
      host.post_and_ring(0x40, {remote, rkey, lkey, local, length, true});
    host.run();
    host.destroy_key(rkey);
    host.post_and_ring(0x40, {remote, rkey, lkey, local, 64, true});
    host.run();
    EXPECT_EQ(host.counters().dma_faults, 0U);
    frames_sent_ = host.counters().frames_sent;
  }

  std::string path_ = ::testing::TempDir() + "portcullis_capture_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".pcap";
  std::uint64_t frames_sent_ = 0;

  void TearDown() override { std::filesystem::remove(path_); }
};

TEST_F(Capture, TrafficOverIpv4_HasNoMalformedFrameForTshark) {
  talk({});
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  EXPECT_EQ(lines(tshark(path_, "infiniband.bth.opcode", "frame.number")), frames_sent_);
}

TEST_F(Capture, TrafficOverIpv6_HasNoMalformedFrameForTshark) {
  talk({.src_addr_index = 1, .dest_gid = kHostGid6});
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  EXPECT_EQ(lines(tshark(path_, "ipv6 && infiniband.bth.opcode", "frame.number")), frames_sent_);
}

TEST_F(Capture, TrafficOverIpv4_HasEveryIcrcConfirmedByScapy) {
  talk({});
  EXPECT_EQ(oracle(path_), "frames " + std::to_string(frames_sent_) + " wrong 0\n");
}

TEST_F(Capture, TrafficOverIpv6_HasEveryIcrcConfirmed) {
  talk({.src_addr_index = 1, .dest_gid = kHostGid6});
  EXPECT_EQ(oracle(path_), "frames " + std::to_string(frames_sent_) + " wrong 0\n");
}

TEST_F(Capture, TrafficOnAVlan_HasItsTagForTsharkAndEveryIcrcForScapy) {
  talk({.src_addr_index = kOnVlan, .eth_prio = 3});
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  EXPECT_EQ(lines(tshark(path_, "vlan.id == 5 && vlan.priority == 3 && infiniband.bth.opcode",
                         "frame.number")),
            frames_sent_);
  EXPECT_EQ(oracle(path_), "frames " + std::to_string(frames_sent_) + " wrong 0\n");
}

TEST_F(Capture, FrameWithABrokenIcrc_IsReportedByTheOracle) {
  {
    auto writer = PcapWriter::create(path_);
    ASSERT_TRUE(writer);
    std::vector<std::byte> frame(kMaxFrameBytes);
    frame.resize(FrameTemplate(Peer::path_to(1)).finish(frame, {}, 0));
    corrupt_icrc(frame);
    (*writer)->write(frame, 0);
  }
  EXPECT_EQ(oracle(path_), "frames 1 wrong 1\n");
}

TEST_F(Capture, TrafficOverInfiniBand_IsDissectedByTshark) {
  talk({.service_level = 3}, PortType::InfiniBand);
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  const std::string all =
      "infiniband.lrh.sl == 3 && infiniband.lrh.lnh == 2 && "
      "infiniband.lrh.dlid == 0x1234 && infiniband.lrh.slid == 0x1234";
  EXPECT_EQ(lines(tshark(path_, all, "infiniband.bth.opcode")), frames_sent_);
}

TEST_F(Capture, TrafficOverInfiniBandWithGrh_IsDissectedByTshark) {
  talk({.dest_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1}, .grh = true},
       PortType::InfiniBand);
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  const std::string all =
      "infiniband.lrh.lnh == 3 && infiniband.grh.ipver == 6 && "
      "infiniband.grh.nxthdr == 0x1b && infiniband.grh.sgid == fe80::ff:fe00:1";
  EXPECT_EQ(lines(tshark(path_, all, "infiniband.bth.opcode")), frames_sent_);
}

TEST_F(Capture, TrafficOverInfiniBand_HasEveryLengthAndCrcConfirmed) {
  talk({}, PortType::InfiniBand);
  EXPECT_EQ(infiniband_oracle(path_), "frames " + std::to_string(frames_sent_) + " wrong 0\n");
}

TEST_F(Capture, TrafficOverInfiniBandWithGrh_HasEveryLengthAndCrcConfirmed) {
  talk({.dest_gid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1}, .grh = true},
       PortType::InfiniBand);
  EXPECT_EQ(infiniband_oracle(path_), "frames " + std::to_string(frames_sent_) + " wrong 0\n");
}

TEST_F(Capture, UnreliableTraffic_IsDissectedByTsharkAsUc) {
  talk({.service = prm::QpServiceType::UC});
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  EXPECT_EQ(oracle(path_), "frames " + std::to_string(frames_sent_) + " wrong 0\n");
  // UC RDMA WRITE First, Middle, Last and Only of packet-infiniband.c
  EXPECT_EQ(tshark_values(path_, "infiniband", "infiniband.bth.opcode"),
            (std::vector<std::string>{"38", "39", "40", "42"}));
}

TEST_F(Capture, XrcTraffic_HasTheOpcodeThatTsharkKnows) {
  {
    Host host(nullptr, path_);
    const QpOptions options{.service = prm::QpServiceType::XRC, .xrcd = host.make_xrc_domain()};
    host.connect(0x40, 0x41, options);
    const std::array<std::byte, 16> no_queue{};
    host.post_raw(0x40, prm::WqeOpcode::SEND, no_queue);
    host.ring(0x40);
    host.run();
  }
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  // XRC SEND Only of packet-infiniband.c
  EXPECT_EQ(tshark_values(path_, "infiniband", "infiniband.bth.opcode"),
            (std::vector<std::string>{"164"}));
  EXPECT_THAT(oracle(path_), ::testing::HasSubstr("wrong 0"));
}

TEST_F(Capture, WritesAndAnswers_StandInTheOrderInWhichTheyWereSent) {
  {
    Host host(nullptr, path_);
    const Region region = host.map(4096);
    const std::uint32_t key = host.make_key(region, access::kLocalRead | access::kRemoteWrite);
    const auto at = std::bit_cast<std::uint64_t>(region.bytes.data());
    host.connect(0x40, 0x40);
    host.post_and_ring(0x40, {at + 2048, key, key, at, 2000, true});
    host.run();
  }
  EXPECT_EQ(tshark(path_, "infiniband", "infiniband.bth.opcode"), "6\n8\n17\n");
}

TEST_F(Capture, VirtualTime_IsTheTimeStampInNanoseconds) {
  {
    auto writer = PcapWriter::create(path_);
    ASSERT_TRUE(writer);
    std::vector<std::byte> frame(kMaxFrameBytes);
    frame.resize(FrameTemplate(Peer::path_to(1)).finish(frame, {}, 0));
    (*writer)->write(frame, 5'000'000'123);
  }
  EXPECT_EQ(tshark(path_, "infiniband", "frame.time_epoch"), "5.000000123\n");
}

TEST(PcapWriter, PathThatCannotBeWritten_IsAnErrorThatNamesIt) {
  const auto writer = PcapWriter::create("/nonexistent/x.pcap");
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, Errc::System);
  EXPECT_NE(writer.error().text.find("/nonexistent/x.pcap"), std::string::npos);
}

}  // namespace
}  // namespace portcullis::model::testing
