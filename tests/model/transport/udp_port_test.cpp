// SPDX-License-Identifier: BSD-3-Clause
//
// The UDP source port of a queue pair that is connected already: whose changes, and from which
// packet on.
#include <gtest/gtest.h>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPeerQpn = 0x777;
constexpr std::uint32_t kPsn = 0x123;
constexpr std::uint64_t kTimeoutNs = std::uint64_t{4096} << 14;  // QpOptions::ack_timeout
constexpr std::uint16_t kFirstPort = 0xc123;                     // of the rig
constexpr std::uint16_t kOtherPort = 55555;  // that of rdma-core's test_rc_modify_udp_sport

class UdpPort : public ::testing::Test {
 protected:
  UdpPort() { host.connect(kQpn, kPeerQpn, {.dest_mac = kPeerMac, .dest_gid = kPeerGid}); }
  void post() { host.post_and_ring(kQpn, {0x10000, 0xabcd, lkey, address_of(region), 64, true}); }
  [[nodiscard]] std::uint16_t port_of_next() {
    host.run();
    return peer.take().at(0).udp_sport;
  }

  Host host;
  Peer peer{host};
  Region region = host.map(4096);
  std::uint32_t lkey = host.make_key(region, access::kLocalRead);
};

TEST_F(UdpPort, ChangedInRts_IsThatOfRequestsFromThenOn) {
  post();
  ASSERT_EQ(port_of_next(), kFirstPort);
  ASSERT_TRUE(host.change_udp_sport(kQpn, kOtherPort).ok());
  peer.acknowledge(kQpn, kPsn);
  post();
  EXPECT_EQ(port_of_next(), kOtherPort);
}

TEST_F(UdpPort, ChangedBeforeARetry_IsThatOfTheRetry) {
  post();
  ASSERT_EQ(port_of_next(), kFirstPort);
  ASSERT_TRUE(host.change_udp_sport(kQpn, kOtherPort).ok());
  host.run_until(2 * kTimeoutNs);
  EXPECT_EQ(port_of_next(), kOtherPort);
}

TEST_F(UdpPort, ChangedAtTheResponder_IsThatOfItsAcknowledgements) {
  ASSERT_TRUE(host.change_udp_sport(kQpn, kOtherPort).ok());
  PacketHeader header;
  header.opcode = BthOpcode::WriteOnly;
  header.psn = kPsn;
  header.ack_request = true;
  peer.send(Peer::path_to(kQpn), header);
  EXPECT_EQ(port_of_next(), kOtherPort);
}

TEST(UdpPortOfService, Uc_IsTaken) {
  Host host;
  host.connect(kQpn, kQpn, {.service = prm::QpServiceType::UC});
  EXPECT_TRUE(host.change_udp_sport(kQpn, kOtherPort).ok());
}

// Its datagrams have theirs in the address vector.
TEST(UdpPortOfService, Ud_IsBadParam) {
  Host host;
  host.connect(kQpn, kQpn, {.service = prm::QpServiceType::UD});
  EXPECT_EQ(host.change_udp_sport(kQpn, kOtherPort).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(UdpPortOfService, OnInfiniBand_IsBadParam) {
  Host host(nullptr, "", PortType::InfiniBand);
  host.connect(kQpn, kQpn);
  EXPECT_EQ(host.change_udp_sport(kQpn, kOtherPort).status, CommandStatus::BAD_PARAM_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
