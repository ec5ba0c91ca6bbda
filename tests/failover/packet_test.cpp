// SPDX-License-Identifier: BSD-3-Clause
//
// From a frame to its RoCEv2 packet, through every link and network layer that captures have; and
// what a frame is when it, or one of its lengths, is cut short. tshark says the same.
#include "tools/failover_check/packet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/failover/capture_bytes.hpp"
#include "tools/failover_check/commands.hpp"
#include "tools/failover_check/spin_run.hpp"

namespace portcullis::tools::failover_check {
namespace {

using namespace capture_bytes;

constexpr std::uint32_t kEthernet = 1, kRaw = 101, kIpv4 = 228, kIpv6 = 229;
constexpr std::uint32_t kCooked = 113, kCooked2 = 276;

/// A WRITE of 8 bytes to QP 0x11.
std::string write_datagram(std::uint32_t psn = 5) {
  return datagram(0x0a, 0x11, psn, reth(64, 0x1000, 8) + big(7, 8));
}
std::string ipv4_write(std::uint32_t psn = 5) {
  return ipv4(kSender, kResponder, write_datagram(psn));
}
/// `next` is what follows the header; `behind` all of it.
std::string ipv6(unsigned next, const std::string& behind) {
  return big(0x60000000, 4) + big(behind.size(), 2) + big(next, 1) + big(64, 1) +
         big(0x20010db8, 4) + big(1, 12) + big(0x20010db8, 4) + big(2, 12) + behind;
}
/// tcpdump -i any: as older versions of libpcap write it, and as newer ones do.
std::string cooked(std::uint64_t type, const std::string& packet, std::uint64_t device = 1) {
  return big(4, 2) + big(device, 2) + big(6, 2) + std::string(8, '\2') + big(type, 2) + packet;
}
std::string cooked2(std::uint64_t type, const std::string& packet, std::uint64_t device = 1) {
  return big(type, 2) + big(0, 2) + big(3, 4) + big(device, 2) + big(4, 1) + big(6, 1) +
         std::string(8, '\2') + packet;
}
std::string tag(std::uint64_t inner_type) { return big(0x0064, 2) + big(inner_type, 2); }

Look look(std::uint32_t link_type, const std::string& frame, std::size_t wire_bytes = 0) {
  return look_at(
      {1, link_type, std::as_bytes(std::span(frame)), std::max(wire_bytes, frame.size())});
}
std::uint32_t psn_of(std::uint32_t link_type, const std::string& frame) {
  const Look seen = look(link_type, frame);
  return seen.seen ? seen.seen->psn : ~0U;
}

struct Layered {
  std::uint32_t link_type;
  std::string frame;
};
/// One of each, with PSNs from 100 on.
std::vector<Layered> each_way() {
  const std::string options("\x94\4\0\0\1\1\1\0", 8);  // router alert, padding
  const std::string hop_by_hop("\x11\0\5\2\0\0\1\0", 8), destination("\x11\0\1\4\0\0\0\0", 8);
  const std::string fragment("\x11\0\0\1\0\0\0\7", 8);
  return {{kEthernet, ethernet(0x0800, ipv4_write(100))},
          {kEthernet, ethernet(0x8100, tag(0x0800) + ipv4_write(101))},
          {kEthernet, ethernet(0x88a8, tag(0x8100) + tag(0x0800) + ipv4_write(102))},
          {kEthernet, ethernet(0x0800, ipv4(kSender, kResponder, write_datagram(103), options))},
          {kEthernet, ethernet(0x86dd, ipv6(17, write_datagram(104)))},
          {kEthernet, ethernet(0x86dd, ipv6(0, hop_by_hop + write_datagram(105)))},
          {kEthernet, ethernet(0x86dd, ipv6(60, destination + write_datagram(106)))},
          {kCooked, cooked(0x0800, ipv4_write(107))},
          {kCooked, cooked(0x8100, tag(0x86dd) + ipv6(17, write_datagram(108)))},
          {kCooked2, cooked2(0x0800, ipv4_write(109))},
          {kCooked2, cooked2(0x86dd, ipv6(17, write_datagram(110)))},
          {kRaw, ipv4_write(111)},
          {kRaw, ipv6(17, write_datagram(112))},
          {kIpv4, ipv4_write(113)},
          {kIpv6, ipv6(17, write_datagram(114))},
          {kEthernet, ethernet(0x0800, ipv4_write(115)) + std::string(4, '\x55')},  // its FCS
          {kEthernet, ethernet(0x86dd, ipv6(44, fragment + write_datagram(116)))}};
}

TEST(Packet, ThroughEveryLayer_IsTheSame) {
  std::vector<std::uint32_t> found, wanted;
  for (const Layered& one : each_way()) {
    found.push_back(psn_of(one.link_type, one.frame));
    wanted.push_back(100 + static_cast<std::uint32_t>(wanted.size()));
  }
  EXPECT_EQ(found, wanted);
}

TEST(Packet, ThroughEveryLayer_IsWhatTsharkFindsThere) {
  const auto folder = ScratchFolder::create().value();
  const Section in{true};
  std::string file = in.header(), wanted;
  std::size_t interface = 0;
  const auto all = each_way();
  // The last is a fragment, which tshark would put together first.
  for (const Layered& one : std::span(all).first(all.size() - 1)) {
    file += in.interface(one.link_type) + in.enhanced(interface++, 7, one.frame);
    wanted += std::to_string(psn_of(one.link_type, one.frame)) + "\n";
  }
  ASSERT_TRUE(write_file(folder.path() + "/c.pcapng", file));
  const auto judged = run_program({"tshark", "-n", "-r", folder.path() + "/c.pcapng", "-T",
                                   "fields", "-e", "infiniband.bth.psn"},
                                  folder.path())
                          .value();
  EXPECT_EQ(judged.out, wanted) << judged.err;
}

TEST(Packet, AddressesAndHeader_AreThoseOfTheFrame) {
  const Seen four = look(kCooked2, cooked2(0x0800, ipv4_write())).seen.value();
  EXPECT_EQ(four.from, big(0xc0000201, 4));
  EXPECT_EQ(four.to, big(0xc0000202, 4));
  EXPECT_EQ(four.opcode, 0x0a);
  EXPECT_EQ(four.qpn, 0x11U);
  const Seen six = look(kEthernet, ethernet(0x86dd, ipv6(17, write_datagram()))).seen.value();
  EXPECT_EQ(six.to, big(0x20010db8, 4) + big(2, 12));
  EXPECT_EQ(six.packet.transport.size(), four.packet.transport.size());
}

/// Whether a frame of which so much was captured may be one, for every such length up to `bytes`.
std::vector<bool> may_be_one(const Layered& one, std::size_t bytes) {
  std::vector<bool> found;
  for (std::size_t i = 0; i < bytes; ++i)
    found.push_back(look(one.link_type, one.frame.substr(0, i), one.frame.size()).is_cut_short);
  return found;
}

TEST(Packet, FrameThatIsCutBeforeItsTransportHeader_MayBeOne) {
  constexpr std::size_t kBehindBth = 16 + 8 + 4;  // RETH, data, ICRC
  for (const Layered& one : each_way())
    EXPECT_THAT(may_be_one(one, one.frame.size() - kBehindBth - 4), ::testing::Each(true));
}

TEST(Packet, FrameThatEndsBeforeItsTransportHeader_IsNone) {
  const std::string whole = ethernet(0x0800, ipv4_write());
  for (std::size_t bytes = 0; bytes < 14 + 20 + 8 + 12; ++bytes) {
    const Look short_one = look(kEthernet, whole.substr(0, bytes));
    EXPECT_FALSE(short_one.seen || short_one.is_cut_short) << bytes;
  }
}

struct None {
  const char* name;
  std::uint32_t link_type;
  std::string frame;
};
class PacketIsNone : public ::testing::TestWithParam<None> {};

TEST_P(PacketIsNone, AndNotCutShortEither) {
  const Look seen = look(GetParam().link_type, GetParam().frame);
  EXPECT_FALSE(seen.seen);
  EXPECT_FALSE(seen.is_cut_short);
}

std::string changed(std::string frame, std::size_t at, std::uint64_t value, std::size_t bytes) {
  return frame.replace(at, bytes, big(value, bytes));
}
const std::string plain_frame = ethernet(0x0800, ipv4_write());  // IPv4 at 14, UDP at 34, BTH at 42

INSTANTIATE_TEST_SUITE_P(
    Frames, PacketIsNone,
    ::testing::Values(
        None{"LaterFragment", kEthernet, changed(plain_frame, 20, 0x2003, 2)},
        None{"LaterFragmentOfIpv6", kEthernet,
             ethernet(0x86dd, ipv6(44, std::string("\x11\0\0\x11\0\0\0\7", 8) + write_datagram()))},
        None{"HeaderShorterThanItIs", kEthernet, changed(plain_frame, 14, 0x44, 1)},
        None{"OtherVersion", kEthernet, changed(plain_frame, 14, 0x65, 1)},
        None{"OtherVersionOfIpv6", kEthernet, ethernet(0x86dd, ipv4_write())},
        None{"RawOfNoVersion", kRaw, changed(ipv4_write(), 0, 0x55, 1)},
        None{"TotalLengthWithoutTransport", kEthernet, changed(plain_frame, 16, 39, 2)},
        None{"UdpLengthWithoutTransport", kEthernet, changed(plain_frame, 38, 19, 2)},
        None{"Tcp", kEthernet, changed(plain_frame, 23, 6, 1)},
        None{"OtherPort", kEthernet, changed(plain_frame, 36, 4790, 2)},
        None{"UnreliableDatagram", kEthernet, changed(plain_frame, 42, 0x64, 1)},
        None{"UnknownOpcode", kEthernet, changed(plain_frame, 42, 0x1f, 1)},
        None{"Netlink", kCooked, cooked(0x0800, ipv4_write(), 824)},
        None{"Radiotap", kCooked2, cooked2(0x0800, ipv4_write(), 803)},
        None{"OneByte", kEthernet, "x"}, None{"Nothing", kRaw, ""}),
    [](const auto& info) { return info.param.name; });

TEST(Packet, LengthsOfZero_AreOfFramesThatANicCutsUp) {
  EXPECT_EQ(psn_of(kEthernet, changed(changed(plain_frame, 16, 0, 2), 38, 0, 2)), 5U);
}

TEST(Packet, LengthBeyondTheFrame_AddsNothing) {
  const Seen seen = look(kEthernet, changed(plain_frame, 16, 0xffff, 2)).seen.value();
  EXPECT_EQ(seen.packet.transport.size(), plain_frame.size() - 42);
}

}  // namespace
}  // namespace portcullis::tools::failover_check
