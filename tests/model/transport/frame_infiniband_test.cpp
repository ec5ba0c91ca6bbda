// SPDX-License-Identifier: BSD-3-Clause
//
// Frames of an InfiniBand link: headers where Linux reads them (ib_get_slid and its neighbours of
// include/rdma/ib_hdrs.h), what a receiver refuses, and who gets a frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "model/transport/checksum.hpp"
#include "model/transport/icrc.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::size_t kWrite = 100;  // bytes of payload, a pad of none

Path path_to(std::uint16_t dest_lid, bool grh = false) {
  Path path;
  path.port_type = PortType::InfiniBand;
  path.source_lid = 0x0bcd;
  path.dest_lid = dest_lid;
  path.service_level = 5;
  path.has_grh = grh;
  path.source_ip = kHostGid6;
  path.dest_ip = kPeerGid;
  path.traffic_class = 0x6a;
  path.flow_label = 0xabcde;
  path.hop_limit = 9;
  path.dest_qpn = 0x12345;
  return path;
}

std::vector<std::byte> build(const Path& path) {
  std::vector<std::byte> frame(kMaxFrameBytes);
  PacketHeader header;
  header.opcode = BthOpcode::WriteOnlyImmediate;
  header.psn = 0x42;
  header.immediate = 0x01020304;
  header.dma_length = kWrite;
  frame.resize(FrameTemplate(path).finish(frame, header, kWrite));
  return frame;
}

void seal(std::vector<std::byte>& frame) {
  const std::uint16_t vcrc = compute_vcrc(std::span(frame).first(frame.size() - kVcrcBytes));
  std::memcpy(frame.data() + frame.size() - kVcrcBytes, &vcrc, sizeof vcrc);
}

TEST(InfiniBandFrame, LocalHeader_IsWhereLinuxReadsIt) {
  const std::vector<std::byte> frame = build(path_to(0x0a0b));
  const std::uint16_t first = load_be16(frame.data());
  EXPECT_EQ(first >> 4 & 0xf, 5);  // IB_SL_SHIFT, IB_SL_MASK
  EXPECT_EQ(first >> 8 & 0xf, 0);  // IB_LVER_SHIFT
  EXPECT_EQ(first & 3, 2);         // IB_LNH_IBA_LOCAL
  EXPECT_EQ(load_be16(frame.data() + 2), 0x0a0b);
  EXPECT_EQ(load_be16(frame.data() + 4) * 4U, frame.size() - 2);
  EXPECT_EQ(load_be16(frame.data() + 6), 0x0bcd);
}

TEST(InfiniBandFrame, Built_IsDecodedWithEveryField) {
  const std::vector<std::byte> frame = build(path_to(7));
  const auto packet = decode_infiniband(frame);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->dest_lid, 7);
  EXPECT_EQ(packet->source_lid, 0x0bcd);
  EXPECT_EQ(packet->service_level, 5);
  EXPECT_FALSE(packet->has_grh);
  EXPECT_EQ(packet->dest_qpn, 0x12345U);
  EXPECT_EQ(packet->psn, 0x42U);
  EXPECT_EQ(packet->immediate, 0x01020304U);
  EXPECT_EQ(packet->payload.size(), kWrite);
}

TEST(InfiniBandFrame, BuiltWithGrh_IsDecodedWithBothGids) {
  const std::vector<std::byte> frame = build(path_to(7, true));
  const auto packet = decode_infiniband(frame);
  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet->has_grh);
  EXPECT_EQ(packet->source_ip, kHostGid6);
  EXPECT_EQ(packet->dest_ip, kPeerGid);
}

TEST(InfiniBandFrame, EveryBitFlipped_IsRefused) {
  const std::vector<std::byte> good = build(path_to(7, true));
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> frame = good;
    frame[bit / 8] ^= std::byte{1} << (bit % 8);
    accepted += decode_infiniband(frame).has_value() ? 1 : 0;
  }
  EXPECT_EQ(accepted, 0U);
}

TEST(InfiniBandFrame, EveryLength_IsRefusedButItsOwn) {
  const std::vector<std::byte> good = build(path_to(7, true));
  std::size_t accepted = 0;
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
    accepted += decode_infiniband(std::span(good).first(bytes)).has_value() ? 1 : 0;
  EXPECT_EQ(accepted, 0U);
}

TEST(InfiniBandFrame, VirtualLaneChangedByASwitch_IcrcStillRight) {
  std::vector<std::byte> frame = build(path_to(7));
  frame[0] |= std::byte{0xf0};
  seal(frame);
  EXPECT_TRUE(decode_infiniband(frame));
}

TEST(InfiniBandFrame, LinkHeaderRewrittenByARouter_IcrcStillRight) {
  std::vector<std::byte> frame = build(path_to(7, true));
  frame[3] = std::byte{0x55};               // destination LID
  frame[lrh::bytes + 7] = std::byte{0x01};  // hop limit
  seal(frame);
  EXPECT_TRUE(decode_infiniband(frame));
}

TEST(InfiniBandFrame, DestinationChangedWithoutAGrh_IcrcWrong) {
  std::vector<std::byte> frame = build(path_to(7));
  frame[3] = std::byte{0x55};
  seal(frame);
  EXPECT_EQ(decode_infiniband(frame).error(), FrameFault::Icrc);
}

TEST(InfiniBandFrame, RawPacket_RefusedByItsNextHeader) {
  std::vector<std::byte> frame = build(path_to(7));
  frame[1] &= std::byte{0xfc};
  seal(frame);
  EXPECT_EQ(decode_infiniband(frame).error(), FrameFault::LinkHeader);
}

TEST(InfiniBandFrame, GrhOfAnotherProtocol_Refused) {
  std::vector<std::byte> frame = build(path_to(7, true));
  frame[lrh::bytes + 6] = std::byte{17};
  seal(frame);
  EXPECT_EQ(decode_infiniband(frame).error(), FrameFault::Grh);
}

TEST(InfiniBandFrame, IcrcCorruptedOnPurpose_LinkStillBelievesIt) {
  std::vector<std::byte> frame = build(path_to(7));
  corrupt_icrc(frame, PortType::InfiniBand);
  EXPECT_EQ(decode_infiniband(frame).error(), FrameFault::Icrc);
}

class InfiniBandHost : public ::testing::Test {
 protected:
  InfiniBandHost() : region_(host_.map(8192)) {
    key_ = host_.make_key(region_, access::kLocalRead | access::kRemoteWrite);
    fill_pattern(region_.bytes.first(3000), 5);
  }
  /// 3000 bytes from the region's start to its second page.
  void write_over(std::uint32_t qpn) {
    const auto at = std::bit_cast<std::uint64_t>(region_.bytes.data());
    host_.post_and_ring(qpn, {at + 4096, key_, key_, at, 3000, true});
    host_.run();
  }
  [[nodiscard]] bool arrived() const {
    return std::ranges::equal(region_.bytes.first(3000), region_.bytes.subspan(4096, 3000));
  }

  Host host_{nullptr, "", PortType::InfiniBand};
  Region region_;
  std::uint32_t key_ = 0;
};

TEST_F(InfiniBandHost, WriteToItsOwnLid_ArrivesAndCompletes) {
  host_.connect(0x40, 0x41);
  host_.connect(0x41, 0x40);
  write_over(0x40);
  EXPECT_TRUE(arrived());
  EXPECT_EQ(host_.poll_cq().value().opcode, prm::CqeOpcode::REQ);
}

/// Three packets of at most 1024 bytes, and an acknowledgement.
TEST_F(InfiniBandHost, WriteToItsOwnLid_IsCountedOutAndIn) {
  host_.connect(0x40, 0x41);
  host_.connect(0x41, 0x40);
  write_over(0x40);
  const PortCounters::PacketCounts& counts = host_.packet_counts();
  constexpr std::size_t kEach = 8 + 12 + 4;  // LRH, BTH, ICRC
  EXPECT_EQ(counts.sent.packets, 4U);
  EXPECT_EQ(counts.sent.octets, 4 * kEach + 16 + 3000 + 4);  // RETH, AETH
  EXPECT_EQ(counts.received.packets, counts.sent.packets);
  EXPECT_EQ(counts.received.octets, counts.sent.octets);
}

TEST_F(InfiniBandHost, WriteToALidNobodyHas_Lost) {
  host_.connect(0x40, 0x40, {.dest_lid = 0x77});
  write_over(0x40);
  EXPECT_FALSE(arrived());
  EXPECT_GT(host_.counters().frames_dropped, 0U);
}

TEST_F(InfiniBandHost, PeerThatExpectsAnotherLid_DropsTheRequest) {
  host_.connect(0x40, 0x41);
  host_.connect(0x41, 0x40, {.dest_lid = 0x77});
  write_over(0x40);
  EXPECT_FALSE(arrived());
}

TEST_F(InfiniBandHost, PortNotActive_NothingGoesOut) {
  host_.connect(0x40, 0x40);
  host_.port().state = PortState::Init;
  host_.transport().port_changed();
  write_over(0x40);
  EXPECT_FALSE(arrived());
  EXPECT_EQ(host_.counters().frames_received, 0U);
}

TEST_F(InfiniBandHost, FrameRuleByOpcode_MeetsInfiniBandFramesToo) {
  host_.connect(0x40, 0x40);
  host_.transport().inject({FrameFaultRule::Kind::Drop, 0x07, std::nullopt, 0, 1, false});
  write_over(0x40);
  EXPECT_TRUE(arrived());
  EXPECT_GT(host_.counters().retransmissions, 0U);
}

/// What the subnet manager wrote, at two indices of the table.
class Partitions : public InfiniBandHost {
 protected:
  static constexpr std::uint32_t kFull = 5, kLimited = 7;
  Partitions() { set(0x8001, 0x0001); }
  void set(std::uint16_t full, std::uint16_t limited) {
    host_.port().pkeys[kFull] = full;
    host_.port().pkeys[kLimited] = limited;
    host_.transport().port_changed();
  }
  void connect(std::uint32_t one, std::uint32_t other) {
    host_.connect(0x40, 0x41, {.pkey_index = one});
    host_.connect(0x41, 0x40, {.pkey_index = other});
  }
};

TEST_F(Partitions, FullMembers_ReachEachOther) {
  connect(kFull, kFull);
  write_over(0x40);
  EXPECT_TRUE(arrived());
  EXPECT_EQ(host_.query(0x40).get<"primary_address_path.pkey_index">(), kFull);
}

TEST_F(Partitions, LimitedMember_ReachesAFullOne) {
  connect(kLimited, kFull);
  write_over(0x40);
  EXPECT_TRUE(arrived());
}

TEST_F(Partitions, LimitedMembers_DoNotReachEachOther) {
  connect(kLimited, kLimited);
  write_over(0x40);
  EXPECT_FALSE(arrived());
}

TEST_F(Partitions, MemberOfAnother_IsNotReached) {
  connect(kFull, 0);
  write_over(0x40);
  EXPECT_FALSE(arrived());
}

TEST_F(Partitions, EntriesThatAreNotSet_ReachNobody) {
  connect(1, 1);
  write_over(0x40);
  EXPECT_FALSE(arrived());
}

TEST_F(Partitions, TableThatChanges_IsFollowedByWhoIsConnected) {
  connect(kFull, kLimited);
  set(0x8002, 0x0002);
  write_over(0x40);
  EXPECT_TRUE(arrived());
  host_.port().pkeys[kLimited] = 0x0003;
  host_.transport().port_changed();
  fill_pattern(region_.bytes.first(3000), 6);
  write_over(0x40);
  EXPECT_FALSE(arrived());
}

TEST_F(Partitions, IndexOfInit_IsKeptWhereNoBitNamesAnother) {
  ASSERT_TRUE(host_.create(0x40).ok());
  ASSERT_TRUE(host_.modify(0x40, QpTransition::Rst2Init, 0x40, {.pkey_index = kFull}).ok());
  ASSERT_TRUE(host_.modify(0x40, QpTransition::Init2Rtr, 0x40, {.pkey_index = kLimited}).ok());
  EXPECT_EQ(host_.query(0x40).get<"primary_address_path.pkey_index">(), kFull);
}

TEST_F(Partitions, IndexBeyondTheTable_Refused) {
  ASSERT_TRUE(host_.create(0x40).ok());
  EXPECT_FALSE(host_.modify(0x40, QpTransition::Rst2Init, 0x40, {.pkey_index = 128}).ok());
  EXPECT_TRUE(host_.modify(0x40, QpTransition::Rst2Init, 0x40, {.pkey_index = 127}).ok());
}

TEST_F(InfiniBandHost, GidIndexBeyondTheTable_Refused) {
  EXPECT_TRUE(host_.create(0x40).ok());
  EXPECT_TRUE(host_.modify(0x40, QpTransition::Rst2Init).ok());
  const QpOptions options{.src_addr_index = 1, .grh = true};
  EXPECT_FALSE(host_.modify(0x40, QpTransition::Init2Rtr, 0x40, options).ok());
}

}  // namespace
}  // namespace portcullis::model::testing
