// SPDX-License-Identifier: BSD-3-Clause
//
// Frames as they are built: headers where the layouts of Linux have them, and the ICRC against
// packets that cards sent.
#include "model/transport/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "model/transport/icrc.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

/// In room that an earlier frame has left full of `before`.
std::vector<std::byte> build(const Path& path, const PacketHeader& header,
                             std::span<const std::byte> payload = {},
                             std::byte before = std::byte{0}) {
  std::vector<std::byte> frame(kMaxFrameBytes, before);
  const FrameTemplate shape(path);
  std::ranges::copy(
      payload, frame.begin() + static_cast<std::ptrdiff_t>(shape.payload_offset(header.opcode)));
  frame.resize(shape.finish(frame, header, payload.size()));
  return frame;
}

std::vector<std::byte> part(const std::vector<std::byte>& frame, std::size_t at,
                            std::size_t bytes) {
  return {frame.begin() + static_cast<std::ptrdiff_t>(at),
          frame.begin() + static_cast<std::ptrdiff_t>(at + bytes)};
}

Path ipv6_path() {
  Path path = Peer::path_to(0x12345);
  path.source_ip = kHostGid6;
  path.dest_ip = kHostGid6;
  path.flow_label = 0xabcde;
  path.traffic_class = 0x6a;
  return path;
}

// A CNP captured on a ConnectX-4 Lx (scapy's test/contrib/roce.uts has the capture); its last four
// bytes are the ICRC.
constexpr std::string_view kCapturedCnp =
    "45c2003c718c4000401191610a0011010a001201"
    "000012b700280000"
    "8100ffff4000011800000000"
    "00000000000000000000000000000000";

TEST(Icrc, PacketCapturedOnConnectX4_HasTheSumTheCardComputed) {
  std::string hex(kCapturedCnp);
  const std::uint32_t icrc = compute_icrc(from_hex(hex), ipv4_header::bytes);
  EXPECT_EQ(icrc, 0x2a00fd82U);  // on the wire 82 fd 00 2a
}

TEST(Icrc, LongPacketSummedInTwoPieces_EqualsTheCrcOfOnePiece) {
  // The ICRC of a packet is the CRC-32 of the masked bytes behind eight 0xff; a bit of payload far
  // behind the headers must count.
  std::vector<std::byte> payload(1000);
  fill_pattern(payload, 1);
  PacketHeader header;
  header.opcode = BthOpcode::SendOnly;
  std::vector<std::byte> frame = build(Peer::path_to(1), header, payload);
  const auto before = compute_icrc(std::span(frame).subspan(14, frame.size() - 18), 20);
  frame[frame.size() - 5] ^= std::byte{1};
  EXPECT_NE(before, compute_icrc(std::span(frame).subspan(14, frame.size() - 18), 20));
}

TEST(Icrc, FieldsThatRoutersChange_DoNotCount) {
  std::vector<std::byte> frame = build(Peer::path_to(1), {});
  const std::span ip = std::span(frame).subspan(14, frame.size() - 18);
  const auto before = compute_icrc(ip, ipv4_header::bytes);
  ip[1] = std::byte{0x03};   // ToS: ECN
  ip[8] = std::byte{0x01};   // TTL
  ip[10] = std::byte{0x77};  // header checksum
  ip[26] = std::byte{0x77};  // UDP checksum
  ip[32] = std::byte{0xc0};  // FECN, BECN
  EXPECT_EQ(before, compute_icrc(ip, ipv4_header::bytes));
}

TEST(Icrc, DestinationQpnChanged_SumChanges) {
  std::vector<std::byte> frame = build(Peer::path_to(1), {});
  const std::span ip = std::span(frame).subspan(14, frame.size() - 18);
  const auto before = compute_icrc(ip, ipv4_header::bytes);
  ip[35] = std::byte{0x02};
  EXPECT_NE(before, compute_icrc(ip, ipv4_header::bytes));
}

TEST(Frame, WriteOnlyOverIpv4_HasEveryHeaderInItsPlace) {
  PacketHeader header;
  header.opcode = BthOpcode::WriteOnly;
  header.ack_request = true;
  header.psn = 0x00abcdef;
  header.va = 0x1122334455667788;
  header.rkey = 0x99aabbcc;
  header.dma_length = 5;
  const auto frame = build(Peer::path_to(0x12345), header, from_hex("0102030405"));

  EXPECT_EQ(part(frame, 0, 14), from_hex("020000000001020000000002"
                                         "0800"));
  // 20 IPv4, 8 UDP, 12 BTH, 16 RETH, 5 payload, 3 pad, 4 ICRC: 68 bytes
  EXPECT_EQ(part(frame, 14, 10), from_hex("45000044000040004011"));
  EXPECT_EQ(part(frame, 26, 8), from_hex("c0000202c0000201"));
  EXPECT_EQ(part(frame, 34, 8), from_hex("c32112b700300000"));
  EXPECT_EQ(part(frame, 42, 12), from_hex("0a70ffff0001234580abcdef"));
  EXPECT_EQ(part(frame, 54, 16), from_hex("112233445566778899aabbcc00000005"));
  EXPECT_EQ(part(frame, 70, 8), from_hex("0102030405000000"));
  EXPECT_EQ(frame.size(), 82U);
}

TEST(Frame, WriteOnAVlan_HasItsTagBehindTheAddressesAndAllElseAsWithout) {
  PacketHeader header;
  header.opcode = BthOpcode::WriteOnly;
  header.dma_length = 5;
  const auto untagged = build(Peer::path_to(0x12345), header, from_hex("0102030405"));
  Path path = Peer::path_to(0x12345);
  path.tag = 0x6064;  // priority 3, VLAN 100
  auto frame = build(path, header, from_hex("0102030405"));

  EXPECT_EQ(part(frame, 12, 6), from_hex("810060640800"));
  frame.erase(frame.begin() + 12, frame.begin() + 16);
  EXPECT_EQ(frame, untagged);
}

TEST(Frame, BuiltOnAVlan_DecodesWithItsTag) {
  for (Path path : {Peer::path_to(1), ipv6_path()}) {
    path.tag = 0x6064;
    const auto frame = build(path, {});
    const auto packet = decode(frame);
    ASSERT_TRUE(packet) << name_of(packet.error());
    EXPECT_EQ(packet->tag, 0x6064);
    EXPECT_EQ(packet->vlan_id(), 100);
    EXPECT_EQ(packet->source_ip, path.source_ip);
    EXPECT_EQ(peek(frame)->dest_qpn, path.dest_qpn);
  }
}

TEST(Frame, AcknowledgeOverIpv6_HasEveryHeaderInItsPlace) {
  PacketHeader header;
  header.psn = 0x10;
  header.syndrome = syndrome::kAckUnlimited;
  header.msn = 3;
  const auto frame = build(ipv6_path(), header);

  EXPECT_EQ(part(frame, 12, 2), from_hex("86dd"));
  EXPECT_EQ(part(frame, 14, 8), from_hex("66aabcde001c1140"));
  EXPECT_EQ(part(frame, 54, 8), from_hex("c32112b7001c0000"));
  EXPECT_EQ(part(frame, 62, 12), from_hex("1140ffff0001234500000010"));
  EXPECT_EQ(part(frame, 74, 4), from_hex("1f000003"));
  EXPECT_EQ(frame.size(), 82U);
}

TEST(Frame, BuiltOverIpv4_DecodesToWhatWentIn) {
  std::vector<std::byte> payload(1023);
  fill_pattern(payload, 2);
  PacketHeader header;
  header.opcode = BthOpcode::WriteFirst;
  header.solicited = true;
  header.psn = 0xffffff;
  header.va = 0x7f0000001000;
  header.rkey = 0x1234;
  header.dma_length = 4000;
  const auto frame = build(Peer::path_to(0xfffffe), header, payload);
  const auto packet = decode(frame);

  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->opcode, 0x06);
  EXPECT_TRUE(packet->solicited);
  EXPECT_FALSE(packet->ack_request);
  EXPECT_EQ(packet->psn, 0xffffffU);
  EXPECT_EQ(packet->dest_qpn, 0xfffffeU);
  EXPECT_EQ(packet->va, 0x7f0000001000U);
  EXPECT_EQ(packet->rkey, 0x1234U);
  EXPECT_EQ(packet->dma_length, 4000U);
  EXPECT_EQ(packet->source_ip, kPeerGid);
  EXPECT_EQ(packet->dest_ip, kHostGid);
  EXPECT_EQ(packet->source_mac, kPeerMac);
  EXPECT_TRUE(std::ranges::equal(packet->payload, payload));
}

TEST(Frame, BuiltOverIpv6_DecodesToWhatWentIn) {
  PacketHeader header;
  header.syndrome = syndrome::kNakRemoteAccessError;
  header.msn = 0xabcdef;
  const auto frame = build(ipv6_path(), header);
  const auto packet = decode(frame);

  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->syndrome, 0x62);
  EXPECT_EQ(packet->msn, 0xabcdefU);
  EXPECT_EQ(packet->source_ip, kHostGid6);
}

// include/rdma/ib_pack.h and rxe_opcode[]: the number, and the bytes from BTH to payload.
struct OpcodeCase {
  BthOpcode opcode;
  std::uint8_t number;
  std::uint8_t header_bytes;
  bool request;
};
class OpcodeTable : public ::testing::TestWithParam<OpcodeCase> {};

TEST_P(OpcodeTable, Opcode_HasNumberAndHeadersOfLinux) {
  const OpcodeInfo& info = opcode_info(GetParam().number);
  EXPECT_EQ(static_cast<std::uint8_t>(GetParam().opcode), GetParam().number);
  EXPECT_EQ(info.header_bytes, GetParam().header_bytes);
  EXPECT_EQ(info.is_request(), GetParam().request);
}

INSTANTIATE_TEST_SUITE_P(Rc, OpcodeTable,
                         ::testing::Values(OpcodeCase{BthOpcode::SendFirst, 0, 12, true},
                                           OpcodeCase{BthOpcode::SendMiddle, 1, 12, true},
                                           OpcodeCase{BthOpcode::SendLast, 2, 12, true},
                                           OpcodeCase{BthOpcode::SendLastImmediate, 3, 16, true},
                                           OpcodeCase{BthOpcode::SendOnly, 4, 12, true},
                                           OpcodeCase{BthOpcode::SendOnlyImmediate, 5, 16, true},
                                           OpcodeCase{BthOpcode::WriteFirst, 6, 28, true},
                                           OpcodeCase{BthOpcode::WriteMiddle, 7, 12, true},
                                           OpcodeCase{BthOpcode::WriteLast, 8, 12, true},
                                           OpcodeCase{BthOpcode::WriteLastImmediate, 9, 16, true},
                                           OpcodeCase{BthOpcode::WriteOnly, 10, 28, true},
                                           OpcodeCase{BthOpcode::WriteOnlyImmediate, 11, 32, true},
                                           OpcodeCase{BthOpcode::ReadRequest, 12, 28, true},
                                           OpcodeCase{BthOpcode::ReadResponseFirst, 13, 16, false},
                                           OpcodeCase{BthOpcode::ReadResponseMiddle, 14, 12, false},
                                           OpcodeCase{BthOpcode::ReadResponseLast, 15, 16, false},
                                           OpcodeCase{BthOpcode::ReadResponseOnly, 16, 16, false},
                                           OpcodeCase{BthOpcode::Acknowledge, 17, 16, false},
                                           OpcodeCase{BthOpcode::AtomicAcknowledge, 18, 24, false},
                                           OpcodeCase{BthOpcode::CompareSwap, 19, 40, true},
                                           OpcodeCase{BthOpcode::FetchAdd, 20, 40, true},
                                           OpcodeCase{BthOpcode::SendLastInvalidate, 22, 16, true},
                                           OpcodeCase{BthOpcode::SendOnlyInvalidate, 23, 16,
                                                      true}));

// IB_OPCODE_UC_* of the same table: as RC, up to RDMA WRITE Only with Immediate.
TEST(OpcodeOfUc, UpToTheLastWrite_IsAsOfRc) {
  EXPECT_EQ(opcode_info(0x20).header_bytes, 12);
  EXPECT_EQ(opcode_info(0x25).header_bytes, 16);
  EXPECT_EQ(opcode_info(0x26).header_bytes, 28);
  EXPECT_EQ(opcode_info(0x2b).header_bytes, 32);
}

TEST(OpcodeOfUc, BehindTheLastWrite_IsNone) {
  EXPECT_FALSE(opcode_info(0x2c).known());
  EXPECT_FALSE(opcode_info(0x31).known());
}

// BTH and DETH, and ImmDt behind them.
TEST(OpcodeOfUd, SendOnly_IsAllThereIs) {
  EXPECT_EQ(opcode_info(0x64).header_bytes, 20);
  EXPECT_EQ(opcode_info(0x65).header_bytes, 24);
  EXPECT_FALSE(opcode_info(0x60).known());
  EXPECT_FALSE(opcode_info(0x6a).known());
}

// Every request has four bytes more than on RC, and no answer has.
TEST(OpcodeOfXrc, RequestsAlone_HaveTheXrceth) {
  EXPECT_EQ(opcode_info(0xa0).header_bytes, 16);
  EXPECT_EQ(opcode_info(0xab).header_bytes, 36);
  EXPECT_EQ(opcode_info(0xac).header_bytes, 32);
  EXPECT_EQ(opcode_info(0xb0).header_bytes, 16);
  EXPECT_EQ(opcode_info(0xb1).header_bytes, 16);
  EXPECT_EQ(opcode_info(0xb4).header_bytes, 44);
}

std::vector<int> known_opcodes() {
  std::vector<int> known(kOpcodes.size());
  std::iota(known.begin(), known.end(), 0);
  std::erase_if(known,
                [](int opcode) { return !kOpcodes[static_cast<std::size_t>(opcode)].known(); });
  return known;
}

class EveryOpcode : public ::testing::TestWithParam<int> {};

TEST_P(EveryOpcode, FrameOfIt_HasNothingOfTheOneThatWasThereBefore) {
  PacketHeader header;
  header.opcode = static_cast<BthOpcode>(GetParam());
  const Path path = Peer::path_to(0x12345);
  EXPECT_EQ(build(path, header, {}, std::byte{0xff}), build(path, header));
}

INSTANTIATE_TEST_SUITE_P(Frame, EveryOpcode, ::testing::ValuesIn(known_opcodes()));

TEST(PsnArithmetic, AcrossTheWrap_CountsOn) {
  EXPECT_EQ(psn_add(0xffffff, 1), 0U);
  EXPECT_EQ(psn_distance(0, 0xffffff), 1);
  EXPECT_EQ(psn_distance(0xffffff, 0), -1);
  EXPECT_EQ(psn_distance(0x800000, 0), -0x800000);
}

}  // namespace
}  // namespace portcullis::model::testing
