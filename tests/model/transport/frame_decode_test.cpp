// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes from the wire are untrusted: each way of being wrong has its own outcome, and no sequence
// of bytes does harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "model/transport/checksum.hpp"
#include "model/transport/icrc.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using Bytes = std::vector<std::byte>;

Bytes valid_frame(bool ipv6 = false) {
  Path path = Peer::path_to(0x11);
  if (ipv6) path.source_ip = path.dest_ip = kHostGid6;
  PacketHeader header;
  header.opcode = BthOpcode::WriteOnly;
  header.dma_length = 6;
  Bytes frame(kMaxFrameBytes);
  frame.resize(FrameTemplate(path).finish(frame, header, 6));
  return frame;
}

/// The sums made right again, so that only the fault under test is left.
void repair(Bytes& frame) {
  const auto ip = std::span(frame).subspan(14, 20);
  ip[10] = ip[11] = std::byte{0};
  store_be16(ip.data() + 10, static_cast<std::uint16_t>(~fold_sum(ones_sum(ip))));
  const std::uint32_t icrc = compute_icrc(std::span(frame).subspan(14, frame.size() - 18), 20);
  std::memcpy(frame.data() + frame.size() - 4, &icrc, 4);
}

struct FaultCase {
  const char* name;
  FrameFault fault;
  std::function<void(Bytes&)> damage;
};
class DecodeFault : public ::testing::TestWithParam<FaultCase> {};

TEST_P(DecodeFault, DamagedFrame_IsRefusedForItsReason) {
  Bytes frame = valid_frame();
  GetParam().damage(frame);
  const auto packet = decode(frame);
  ASSERT_FALSE(packet);
  EXPECT_EQ(packet.error(), GetParam().fault) << name_of(packet.error());
}

const FaultCase fault_cases[] = {
    {"NoEthernetHeader", FrameFault::TooShort, [](Bytes& f) { f.resize(13); }},
    {"Arp", FrameFault::NotIp, [](Bytes& f) { f[13] = std::byte{6}; }},
    {"TagCutShort", FrameFault::TooShort,
     [](Bytes& f) {
       f.resize(17);
       store_be16(f.data() + 12, 0x8100);
     }},
    {"TwoTags", FrameFault::NotIp,
     [](Bytes& f) {
       store_be16(f.data() + 12, 0x8100);
       store_be16(f.data() + 16, 0x8100);
     }},
    {"NoIpHeader", FrameFault::TooShort, [](Bytes& f) { f.resize(14 + 19); }},
    {"IpVersion5", FrameFault::IpVersion, [](Bytes& f) { f[14] = std::byte{0x55}; }},
    {"IpOptions", FrameFault::IpVersion, [](Bytes& f) { f[14] = std::byte{0x46}; }},
    {"IpChecksum", FrameFault::IpChecksum, [](Bytes& f) { f[24] ^= std::byte{1}; }},
    {"MoreFragments", FrameFault::Fragment,
     [](Bytes& f) {
       f[20] = std::byte{0x20};
       repair(f);
     }},
    {"LaterFragment", FrameFault::Fragment,
     [](Bytes& f) {
       f[21] = std::byte{0x01};
       repair(f);
     }},
    {"Tcp", FrameFault::NotUdp,
     [](Bytes& f) {
       f[23] = std::byte{6};
       repair(f);
     }},
    {"IpLengthBeyondFrame", FrameFault::TooShort,
     [](Bytes& f) {
       f[17] ^= std::byte{0x80};
       repair(f);
     }},
    {"IpLengthBelowHeaders", FrameFault::TooShort,
     [](Bytes& f) {
       f[17] = std::byte{27};
       repair(f);
     }},
    {"OtherPort", FrameFault::NotRoce, [](Bytes& f) { f[37] = std::byte{0}; }},
    {"UdpLength", FrameFault::UdpLength, [](Bytes& f) { f[39] ^= std::byte{4}; }},
    {"UdpChecksum", FrameFault::UdpChecksum, [](Bytes& f) { f[41] = std::byte{1}; }},
    {"TransportVersion", FrameFault::BthVersion, [](Bytes& f) { f[43] |= std::byte{1}; }},
    {"ReservedOpcode", FrameFault::Opcode, [](Bytes& f) { f[42] = std::byte{0x15}; }},
    {"ReliableDatagram", FrameFault::Opcode, [](Bytes& f) { f[42] = std::byte{0x44}; }},
    {"LengthNotInWords", FrameFault::Length,
     [](Bytes& f) {
       f[17] = f[17] ^ std::byte{2};
       f[39] = f[39] ^ std::byte{2};
       f.resize(f.size() + 2);
       repair(f);
     }},
    {"PayloadOnAcknowledge", FrameFault::Length, [](Bytes& f) { f[42] = std::byte{0x11}; }},
    {"Icrc", FrameFault::Icrc, [](Bytes& f) { f.back() ^= std::byte{1}; }},
    {"PayloadBit", FrameFault::Icrc, [](Bytes& f) { f[70] ^= std::byte{1}; }},
};
INSTANTIATE_TEST_SUITE_P(Frame, DecodeFault, ::testing::ValuesIn(fault_cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Decode, UndamagedFrame_IsAccepted) { EXPECT_TRUE(decode(valid_frame())); }

TEST(Decode, UdpChecksumPresentAndRight_IsAccepted) {
  Bytes frame = valid_frame();
  const auto udp = std::span(frame).subspan(34);
  const std::uint64_t sum =
      ones_sum(std::span(frame).subspan(26, 8)) + ones_sum(udp) + kProtocolUdp + udp.size();
  store_be16(frame.data() + 40, static_cast<std::uint16_t>(~fold_sum(sum)));
  EXPECT_TRUE(decode(frame));
}

TEST(Decode, EthernetPaddingBehindTheDatagram_IsIgnored) {
  Bytes frame = valid_frame();
  frame.resize(frame.size() + 7, std::byte{0xee});
  EXPECT_TRUE(decode(frame));
}

TEST(Decode, Ipv6HopByHopHeader_IsRefusedAsNotUdp) {
  Bytes frame = valid_frame(true);
  frame[20] = std::byte{0};
  EXPECT_EQ(decode(frame).error(), FrameFault::NotUdp);
}

TEST(Decode, Ipv6PayloadBeyondFrame_IsRefusedAsTooShort) {
  Bytes frame = valid_frame(true);
  frame[19] ^= std::byte{0x80};
  EXPECT_EQ(decode(frame).error(), FrameFault::TooShort);
}

TEST(Decode, EveryTruncationOfAFrame_IsRefused) {
  const Bytes frame = valid_frame();
  std::size_t accepted = 0;
  for (std::size_t bytes = 0; bytes < frame.size(); ++bytes)
    accepted += decode(std::span(frame).first(bytes)).has_value();
  EXPECT_EQ(accepted, 0U);
}

// Heap copies of the exact size, so that a sanitizer sees a read past the end.
TEST(Decode, FramesWithRandomBytesChanged_NeverReadPastTheEnd) {
  std::mt19937 random(20240711);
  std::size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes frame = valid_frame(round % 2 == 0);
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      frame[12 + random() % 50] = static_cast<std::byte>(random());
    frame.resize(frame.size() - random() % 20);
    const Bytes exact(frame);
    accepted += decode(exact).has_value();
  }
  EXPECT_LT(accepted, 20000U);
}

TEST(Decode, RandomBytes_AreNeverAPacket) {
  std::mt19937 random(7);
  std::size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes noise(random() % 200);
    std::ranges::generate(noise, [&] { return static_cast<std::byte>(random()); });
    accepted += decode(noise).has_value();
  }
  EXPECT_EQ(accepted, 0U);
}

TEST(Peek, FrameOfTheWire_GivesOpcodeAndDestination) {
  const auto label = peek(valid_frame());
  ASSERT_TRUE(label);
  EXPECT_EQ(label->opcode, 0x0a);
  EXPECT_EQ(label->dest_qpn, 0x11U);
}

TEST(Peek, FrameTooShortForABth_GivesNothing) {
  Bytes frame = valid_frame();
  frame.resize(50);
  EXPECT_FALSE(peek(frame));
}

}  // namespace
}  // namespace portcullis::model::testing
