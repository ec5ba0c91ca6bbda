// SPDX-License-Identifier: BSD-3-Clause
//
// Both halves against each other over a wire that loses, repeats, delays and damages frames: the
// bytes arrive, every WQE completes, and a revoked key ends it.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "base/clock.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::uint64_t kTimeoutNs = std::uint64_t{4096} << 14;

class Loopback : public ::testing::Test {
 protected:
  Loopback() {
    fill_pattern(from.bytes, 9);
    host.connect(kClient, kServer);
    host.connect(kServer, kClient);
  }
  void write(std::uint32_t length, std::uint32_t at = 0, bool signaled = true) {
    host.post_and_ring(kClient, {remote + at, rkey, lkey, local + at, length, signaled});
  }
  [[nodiscard]] bool arrived(std::size_t bytes) const {
    return std::ranges::equal(from.bytes.first(bytes), to.bytes.first(bytes));
  }
  /// One WRITE of ten packets under `rule` ends well.
  void expect_survives(FrameFaultRule rule) {
    host.transport().inject(rule);
    write(10 * kMtu - 3);
    host.run_until(host.now_ns() + 4 * kTimeoutNs);
    EXPECT_TRUE(arrived(10 * kMtu - 3));
    const auto cqes = host.drain_cq();
    ASSERT_EQ(cqes.size(), 1U);
    EXPECT_EQ(cqes[0].opcode, prm::CqeOpcode::REQ);
  }

  Host host;
  Region from = host.map(65536);
  Region to = host.map(65536);
  std::uint64_t local = std::bit_cast<std::uint64_t>(from.bytes.data());
  std::uint64_t remote = std::bit_cast<std::uint64_t>(to.bytes.data());
  std::uint32_t lkey = host.make_key(from, access::kLocalRead);
  std::uint32_t rkey = host.make_key(to, access::kRemoteWrite);
};

TEST_F(Loopback, Write_ArrivesAndCompletes) {
  write(50000);
  host.run();
  EXPECT_TRUE(arrived(50000));
  EXPECT_EQ(to.bytes[50000], std::byte{0});
  EXPECT_EQ(host.drain_cq().size(), 1U);
}

/// Of 1500 bytes and not of 1300: 66 bytes of headers and ICRC, and 4 of FCS, stand around 1400.
TEST_F(Loopback, PacketsLongerThanThePortsFrames_AreLost) {
  host.behaviours().pmtu = 10'218;
  host.port().mtu = 1300;
  constexpr std::uint32_t kReaches = 1000;
  constexpr QpOptions kLarge{.mtu = prm::QpcMtu::MTU_2048};
  host.connect(kClient + 2, kServer + 2, kLarge);
  host.connect(kServer + 2, kClient + 2, kLarge);
  host.post_and_ring(kClient + 2, {remote, rkey, lkey, local, 1400, true});
  write(kReaches, 2048);
  host.run_until(host.now_ns() + kTimeoutNs);
  EXPECT_EQ(to.bytes[0], std::byte{0});
  EXPECT_TRUE(
      std::ranges::equal(from.bytes.subspan(2048, kReaches), to.bytes.subspan(2048, kReaches)));
  EXPECT_GT(host.counters().frames_dropped, 0U);
  host.port().mtu = 1500;
  host.run_until(host.now_ns() + 4 * kTimeoutNs);
  EXPECT_TRUE(arrived(1400));
}

TEST_F(Loopback, UnalignedAddressesAndLength_ArriveExactly) {
  host.post_and_ring(kClient, {remote + 4093, rkey, lkey, local + 4093, 5001, true});
  host.run();
  EXPECT_TRUE(std::ranges::equal(from.bytes.subspan(4093, 5001), to.bytes.subspan(4093, 5001)));
  EXPECT_EQ(to.bytes[4092], std::byte{0});
  EXPECT_EQ(to.bytes[4093 + 5001], std::byte{0});
}

struct FaultCase {
  const char* name;
  FrameFaultRule rule;
};
class FrameFaults : public Loopback, public ::testing::WithParamInterface<FaultCase> {};

TEST_P(FrameFaults, OneWrite_StillArrivesAndCompletesOnce) { expect_survives(GetParam().rule); }

using Kind = FrameFaultRule::Kind;
constexpr std::uint8_t kFirst = 0x06, kMiddle = 0x07, kLast = 0x08, kAck = 0x11;
constexpr FrameFaultRule on(Kind kind, std::uint8_t opcode, std::uint32_t nth = 1) {
  return {kind, opcode, std::nullopt, kTimeoutNs / 2, nth, false};
}
INSTANTIATE_TEST_SUITE_P(
    Loopback, FrameFaults,
    ::testing::Values(FaultCase{"FirstLost", on(Kind::Drop, kFirst)},
                      FaultCase{"MiddleLost", on(Kind::Drop, kMiddle, 3)},
                      FaultCase{"LastLost", on(Kind::Drop, kLast)},
                      FaultCase{"AckLost", on(Kind::Drop, kAck)},
                      FaultCase{"MiddleRepeated", on(Kind::Duplicate, kMiddle, 3)},
                      FaultCase{"LastRepeated", on(Kind::Duplicate, kLast)},
                      FaultCase{"AckRepeated", on(Kind::Duplicate, kAck)},
                      FaultCase{"MiddleLate", on(Kind::Delay, kMiddle, 3)},
                      FaultCase{"LastLate", on(Kind::Delay, kLast)},
                      FaultCase{"AckLate", on(Kind::Delay, kAck)},
                      FaultCase{"MiddleDamaged", on(Kind::CorruptIcrc, kMiddle, 3)},
                      FaultCase{"AckDamaged", on(Kind::CorruptIcrc, kAck)}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(Loopback, LossInTheMiddle_IsRepairedByOneNakWithoutATimeout) {
  host.transport().inject(on(Kind::Drop, kMiddle, 3));
  write(10 * kMtu);
  host.run();
  EXPECT_EQ(host.now_ns(), 0U);
  EXPECT_TRUE(arrived(10 * kMtu));
  EXPECT_EQ(host.counters().naks_sent, 1U);
}

TEST_F(Loopback, SeededLossOfEveryKind_NothingIsLostOrDoubled) {
  for (std::uint32_t nth = 2; nth < 400; nth += 7) {
    host.transport().inject(
        {static_cast<Kind>(nth % 4), std::nullopt, std::nullopt, kTimeoutNs / 3, nth, false});
  }
  for (std::uint32_t i = 0; i < 40; ++i) {
    write(1500, i * 1500);
    host.run_until(host.now_ns() + 2 * kTimeoutNs);
  }
  host.run_until(host.now_ns() + 8 * kTimeoutNs);
  EXPECT_TRUE(arrived(60000));
  EXPECT_EQ(host.drain_cq().size(), 40U);
  EXPECT_EQ(host.state(kClient), prm::QpState::RTS);
}

// ---- the two ways a lease ends, as the peer sees them ----

TEST_F(Loopback, KeyDestroyedFirst_PeerGetsRemoteAccessErrorAtOnce) {
  write(64);
  host.run();
  static_cast<void>(host.drain_cq());
  host.destroy_key(rkey);
  write(64);
  write(64);
  host.run();
  const auto cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 2U);
  EXPECT_EQ(cqes[0].syndrome, prm::CqeSyndrome::REMOTE_ACCESS_ERR);
  EXPECT_EQ(cqes[1].syndrome, prm::CqeSyndrome::WR_FLUSH_ERR);
  EXPECT_EQ(host.now_ns(), 0U);
  EXPECT_EQ(host.state(kServer), prm::QpState::ERR);
}

TEST_F(Loopback, ResponderToErrFirst_PeerGetsRetryExceededAfterItsWholeBudget) {
  ASSERT_TRUE(host.modify(kServer, QpTransition::ToErr).ok());
  write(64);
  host.run_until(8 * kTimeoutNs - 1);
  EXPECT_FALSE(host.poll_cq());
  host.run_until(8 * kTimeoutNs);
  EXPECT_EQ(host.drain_cq().at(0).syndrome, prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
  EXPECT_TRUE(std::ranges::all_of(to.bytes, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(Loopback, SixtyFourQpsOnOneUar_AllAreServedByOneKick) {
  for (std::uint32_t i = 0; i < 64; ++i) {
    host.connect(0x100 + i, 0x100 + i);
    host.post(0x100 + i, {remote + i * 64, rkey, lkey, local + i * 64, 64, true});
    host.write_record(0x100 + i);
  }
  host.transport().kick_uar(kUar);
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 64U);
  EXPECT_TRUE(arrived(4096));
}

TEST_F(Loopback, MoreTrafficThanTheWireHolds_WaitsForRoomAndArrives) {
  for (std::uint32_t i = 0; i < 24; ++i) {
    host.connect(0x100 + i, 0x100 + i);
    host.post(0x100 + i, {remote, rkey, lkey, local, 65536, true});
    host.write_record(0x100 + i);
  }
  host.transport().kick_uar(kUar);
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 24U);
  EXPECT_TRUE(arrived(65536));
  EXPECT_EQ(host.counters().retransmissions, 0U);
}

TEST_F(Loopback, UnsignaledStream_IsRetiredByTheLastSignaledOne) {
  for (int i = 0; i < 63; ++i) write(64, 0, false);
  write(64, 0, true);
  host.run();
  const auto cqes = host.drain_cq();
  ASSERT_EQ(cqes.size(), 1U);
  EXPECT_EQ(cqes[0].wqe_counter, 63U);
}

TEST(TwoHosts, OnOneWire_WriteIntoEachOther) {
  const auto wire = std::make_shared<Wire>();
  Host client(wire);
  Host server(wire);
  server.port().mac = kPeerMac;
  server.port().roce[0] = RoceAddress{kPeerGid, kPeerMac, 2, 0, false, 0, true};
  server.transport().port_changed();
  client.connect(kClient, kServer, {.dest_mac = kPeerMac, .dest_gid = kPeerGid});
  server.connect(kServer, kClient);
  const Region from = client.map(4096);
  const Region to = server.map(4096);
  fill_pattern(from.bytes, 1);
  const std::uint32_t lkey = client.make_key(from, access::kLocalRead);
  const std::uint32_t rkey = server.make_key(to, access::kRemoteWrite);
  client.post_and_ring(kClient, {std::bit_cast<std::uint64_t>(to.bytes.data()), rkey, lkey,
                                 std::bit_cast<std::uint64_t>(from.bytes.data()), 4096, true});
  client.run();
  EXPECT_TRUE(std::ranges::equal(from.bytes, to.bytes));
  EXPECT_EQ(client.drain_cq().size(), 1U);
  EXPECT_EQ(server.counters().frames_received, 4U);
}

}  // namespace
}  // namespace portcullis::model::testing
