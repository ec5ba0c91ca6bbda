// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams for a group: two ports on one wire, and who of their queue pairs gets what one sends.
// Address vectors are written byte by byte, as struct mlx5_wqe_av of mlx5dv.h has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <memory>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::WqeOpcode;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kOther = 0x41;
constexpr std::uint32_t kQKey = 0x11111111;
constexpr std::size_t kNetwork = 40;
constexpr std::size_t kBytes = 64;

using Vector = std::array<std::uint8_t, 48>;

/// To ff12::1 by LID 0xc001 on InfiniBand.
constexpr Gid kGroup{0xff, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr Vector kToGroup{0x11, 0x11, 0x11, 0x11, 0,    0, 0, 0, 0x80, 0xff, 0xff, 0xff,
                          0,    0,    0xc0, 0x01, 0,    0, 0, 0, 0,    0,    0,    0,
                          0,    0,    0,    1,    0x40, 0, 0, 0, 0xff, 0x12, 0,    0,
                          0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0,    1};
/// To 239.129.2.3 by 01:00:5e:01:02:03 (ip_eth_mc_map) on RoCEv2.
constexpr Gid kIpv4Group{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 129, 2, 3};
constexpr Vector kToIpv4Group{0x11, 0x11, 0x11, 0x11, 0, 0, 0,    0,    0x80, 0xff, 0xff, 0xff,
                              0,    0,    0xc3, 0x21, 0, 0, 0,    0,    0x01, 0x00, 0x5e, 0x01,
                              0x02, 0x03, 0,    1,    0, 0, 0,    0,    0,    0,    0,    0,
                              0,    0,    0,    0,    0, 0, 0xff, 0xff, 239,  129,  2,    3};

/// A port and what its queue pairs receive into.
struct Member {
  Member(const std::shared_ptr<Wire>& wire, PortType type) : host(wire, "", type) {
    fill_pattern(source.bytes, 3);
  }
  void connect(std::uint32_t qpn, QpOptions options = {}) {
    options.log_rq_size = 3;
    options.service = prm::QpServiceType::UD;
    options.q_key = kQKey;
    host.connect(qpn, 0, options);
    const std::array<Piece, 1> pieces{
        Piece{std::bit_cast<std::uint64_t>(target.bytes.data()), 2048, key}};
    host.post_receive(qpn, pieces);
  }
  void send(const Vector& vector) {
    const std::array<Piece, 1> pieces{
        Piece{std::bit_cast<std::uint64_t>(source.bytes.data()), kBytes, source_key}};
    const auto from = std::as_bytes(std::span(vector));
    std::vector<std::byte> segments(from.begin(), from.end());
    const std::vector<std::byte> data = segments_of(pieces);
    segments.insert(segments.end(), data.begin(), data.end());
    host.post_raw(kQpn, WqeOpcode::SEND, segments, /*signaled=*/false);
    host.ring(kQpn);
    host.run();
  }
  [[nodiscard]] std::vector<std::uint32_t> receivers() {
    std::vector<std::uint32_t> numbers;
    for (const Cqe& cqe : host.drain_cq()) numbers.push_back(cqe.qpn);
    return numbers;
  }

  Host host;
  Region source = host.map(8192);
  Region target = host.map(8192);
  std::uint32_t source_key = host.make_key(source, access::kLocalRead);
  std::uint32_t key = host.make_key(target, access::kLocalWrite);
};

class Multicast : public ::testing::Test {
 protected:
  explicit Multicast(PortType type = PortType::InfiniBand)
      : wire(std::make_shared<Wire>(0, type)), sender(wire, type), other(wire, type) {
    other.host.port().lid = kHostLid + 1;
    other.host.port().mac[5] = 9;
    other.host.port().roce[0].mac[5] = other.host.port().roce[1].mac[5] = 9;
    other.host.port().roce[0].gid[15] = 9;
    other.host.transport().port_changed();
    sender.connect(kQpn);
    other.connect(kQpn);
  }
  void send(const Vector& vector) {
    sender.send(vector);
    other.host.run();
  }

  std::shared_ptr<Wire> wire;
  Member sender;
  Member other;
};

TEST_F(Multicast, MemberOfAnotherPartition_GetsNothing) {
  other.host.port().pkeys[0] = 0x8001;
  other.host.transport().port_changed();
  other.host.join(kGroup, kQpn);
  send(kToGroup);
  EXPECT_THAT(other.receivers(), IsEmpty());
  EXPECT_EQ(other.host.violations().pkey, 1U);
}

TEST_F(Multicast, MemberOfTheGroup_GetsWhatIsSentToIt) {
  other.host.join(kGroup, kQpn);
  send(kToGroup);
  EXPECT_THAT(other.receivers(), ::testing::ElementsAre(kQpn));
  EXPECT_TRUE(std::ranges::equal(other.target.bytes.subspan(kNetwork, kBytes),
                                 sender.source.bytes.first(kBytes)));
  EXPECT_THAT(sender.receivers(), IsEmpty());
}

TEST_F(Multicast, NobodyInTheGroup_NobodyGetsIt) {
  send(kToGroup);
  EXPECT_THAT(other.receivers(), IsEmpty());
  EXPECT_EQ(sender.host.counters().frames_dropped, 1U);
}

TEST_F(Multicast, MemberOfAnotherGroup_DoesNotGetIt) {
  other.host.join(kIpv4Group, kQpn);
  send(kToGroup);
  EXPECT_THAT(other.receivers(), IsEmpty());
}

TEST_F(Multicast, EveryMemberOfAPort_GetsACopy) {
  other.connect(kOther);
  other.host.join(kGroup, kQpn);
  other.host.join(kGroup, kOther);
  send(kToGroup);
  EXPECT_THAT(other.receivers(), ::testing::UnorderedElementsAre(kQpn, kOther));
}

TEST_F(Multicast, MemberThatLeft_GetsNothing) {
  other.host.join(kGroup, kQpn);
  other.host.leave(kGroup, kQpn);
  send(kToGroup);
  EXPECT_THAT(other.receivers(), IsEmpty());
}

TEST_F(Multicast, OwnPort_GetsItToo) {
  sender.host.join(kGroup, kQpn);
  other.host.join(kGroup, kQpn);
  send(kToGroup);
  EXPECT_THAT(sender.receivers(), SizeIs(1));
  EXPECT_THAT(other.receivers(), SizeIs(1));
}

TEST_F(Multicast, QueuePairThatBlocksLoopback_HearsOthersAndNotItsOwnPort) {
  sender.connect(kOther, {.block_lb_mc = true});
  sender.host.join(kGroup, kOther);
  other.host.join(kGroup, kQpn);
  send(kToGroup);
  EXPECT_THAT(sender.receivers(), IsEmpty());
  other.send(kToGroup);
  sender.host.run();
  EXPECT_THAT(sender.receivers(), ::testing::ElementsAre(kOther));
}

TEST_F(Multicast, WrongQKey_IsDropped) {
  other.host.join(kGroup, kQpn);
  Vector vector = kToGroup;
  vector[0] = 0x12;
  send(vector);
  EXPECT_THAT(other.receivers(), IsEmpty());
}

class RoceMulticast : public Multicast {
 protected:
  RoceMulticast() : Multicast(PortType::Ethernet) {}
};

TEST_F(RoceMulticast, MemberOfTheGroup_GetsWhatIsSentToIt) {
  other.host.join(kIpv4Group, kQpn);
  send(kToIpv4Group);
  EXPECT_THAT(other.receivers(), ::testing::ElementsAre(kQpn));
  EXPECT_TRUE(std::ranges::equal(other.target.bytes.subspan(kNetwork, kBytes),
                                 sender.source.bytes.first(kBytes)));
}

TEST_F(RoceMulticast, PortThatIsOnAVlanAlone_HearsNoGroupOutsideIt) {
  other.host.join(kIpv4Group, kQpn);
  for (RoceAddress& entry : other.host.port().roce) entry.valid = entry.valid && entry.vlan_valid;
  send(kToIpv4Group);
  EXPECT_THAT(other.receivers(), IsEmpty());
  Vector tagged = kToIpv4Group;
  tagged[29] = kOnVlan << 4;  // grh_gid_fl: the sender's address
  send(tagged);
  EXPECT_THAT(other.receivers(), SizeIs(1));
}

TEST_F(RoceMulticast, SameAddressOfAnotherGroup_IsNobodys) {
  Gid group = kIpv4Group;
  group[13] = 1;  // 239.1.2.3 goes to the same 01:00:5e:01:02:03
  other.host.join(group, kQpn);
  send(kToIpv4Group);
  EXPECT_THAT(other.receivers(), IsEmpty());
}

}  // namespace
}  // namespace portcullis::model::testing
