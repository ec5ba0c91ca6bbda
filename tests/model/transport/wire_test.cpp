// SPDX-License-Identifier: BSD-3-Clause
//
// Who gets a frame, in which order, and what each frame fault does to it.
#include "model/transport/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

/// A port with one address that keeps what it gets.
class Station final : public FrameSink {
 public:
  Station(Wire& wire, const Mac& mac)
      : wire_(&wire),
        mac_(mac),
        scheduler_(shared_loop(wire, 1)),
        port_(wire.attach(*this, scheduler_, counters)) {}
  ~Station() override { wire_->detach(port_); }

  [[nodiscard]] bool owns(std::span<const std::byte> frame) const noexcept override {
    return goes_to(frame, mac_);
  }
  [[nodiscard]] bool listens(std::span<const std::byte> /*frame*/) const noexcept override {
    return true;
  }
  void listen() { wire_->set_listening(port_, true); }
  void receive_back(std::span<const std::byte> frame, std::uint32_t domain) override {
    own_domain = domain;
    ++own_frames;
    receive(frame);
  }
  void receive(std::span<const std::byte> frame) override {
    const auto packet = decode(frame);
    psns.push_back(packet ? packet->psn : kBroken);
    times_ns.push_back(scheduler_.now_ns());
  }
  void room() override { ++rooms; }

  void send(const Mac& to, std::uint32_t psn, bool force_loopback = false,
            std::uint32_t dest_qpn = 1, std::uint32_t domain = 0) {
    Path path = Peer::path_to(dest_qpn);
    path.dest_mac = to;
    PacketHeader header;
    header.psn = psn;
    const std::size_t length = FrameTemplate(path).finish(wire_->next_buffer(), header, 0);
    wire_->send(port_, length, force_loopback ? Way::Back : Way::Anywhere, domain);
  }
  void inject(const FrameFaultRule& rule) { wire_->inject(port_, rule); }
  void seed_faults(std::uint64_t seed) { wire_->seed_faults(port_, seed); }
  /// PSNs 0 to `frames`, a burst at a time.
  void send_and_settle(const Mac& to, std::uint32_t frames) {
    for (std::uint32_t psn = 0; psn < frames; ++psn) {
      send(to, psn);
      if (psn % 16 == 15) settle();
    }
    settle();
  }
  void set_link(bool up) { wire_->set_link(port_, up); }
  void forget() { wire_->forget_frames(port_); }
  void wait() { wire_->wait_for_room(port_); }
  /// All frames that are under way arrive.
  void settle() {
    while (scheduler_.loop().step(scheduler_.now_ns() + kNsPerSecond)) {
    }
  }

  static constexpr std::uint32_t kBroken = 0xffffffff;
  std::vector<std::uint32_t> psns;
  std::vector<std::uint64_t> times_ns;
  Counters counters;
  int own_frames = 0;
  std::uint32_t own_domain = 0;  // of the last of them
  int rooms = 0;

 private:
  Wire* wire_;
  Mac mac_;
  Scheduler scheduler_;
  Wire::PortId port_;
};

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;
using Psns = std::vector<std::uint32_t>;
using Kind = FrameFaultRule::Kind;

FrameFaultRule rule(Kind kind, std::uint32_t nth = 1, bool repeat = false) {
  return {kind, std::nullopt, std::nullopt, 0, nth, repeat, 1};
}

/// Every frame meets it with `probability`.
FrameFaultRule maybe(Kind kind, double probability) {
  FrameFaultRule seeded = rule(kind, 1, true);
  seeded.probability = probability;
  return seeded;
}

class WireTest : public ::testing::Test {
 protected:
  Wire wire;
  Station a{wire, kHostMac};
  Station b{wire, kPeerMac};
};

TEST_F(WireTest, FramesToTheOtherPort_ArriveInOrder) {
  for (const std::uint32_t psn : {1U, 2U, 3U}) a.send(kPeerMac, psn);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1, 2, 3}));
  EXPECT_TRUE(a.psns.empty());
}

TEST_F(WireTest, FrameToOwnAddress_ComesBack) {
  a.send(kHostMac, 1);
  a.settle();
  EXPECT_EQ(a.psns, (Psns{1}));
}

TEST_F(WireTest, ForcedLoopback_ComesBackWhateverTheAddress) {
  a.send(kPeerMac, 1, true);
  a.settle();
  EXPECT_EQ(a.psns, (Psns{1}));
  EXPECT_TRUE(b.psns.empty());
}

/// A port that owns nothing, attached as the way out.
class Uplink final : public FrameSink {
 public:
  explicit Uplink(Wire& wire)
      : wire_(&wire),
        scheduler_(shared_loop(wire, 1)),
        port_(wire.attach_uplink(*this, scheduler_, counters)) {}
  ~Uplink() override { wire_->detach(port_); }
  [[nodiscard]] bool owns(std::span<const std::byte> /*frame*/) const noexcept override {
    return false;
  }
  void receive(std::span<const std::byte> /*frame*/) override { ++frames; }
  void room() override {}
  void send(const Mac& to) {
    Path path = Peer::path_to(1);
    path.dest_mac = to;
    wire_->send(port_, FrameTemplate(path).finish(wire_->next_buffer(), {}, 0));
  }

  int frames = 0;
  Counters counters;

 private:
  Wire* wire_;
  Scheduler scheduler_;
  Wire::PortId port_;
};

constexpr Mac kFarMac{0x02, 0, 0, 0, 0, 0x77};

TEST_F(WireTest, FrameThatNobodyOwnsAndAnUplink_LeavesByIt) {
  Uplink uplink(wire);
  a.send(kFarMac, 1);
  a.settle();
  EXPECT_EQ(uplink.frames, 1);
  EXPECT_EQ(a.counters.frames_dropped, 0U);
}

TEST_F(WireTest, FrameToAPortHere_DoesNotLeave) {
  Uplink uplink(wire);
  a.send(kPeerMac, 1);
  a.settle();
  EXPECT_EQ(uplink.frames, 0);
}

TEST_F(WireTest, FrameFromTheUplinkForNobody_IsNotSentBack) {
  Uplink uplink(wire);
  uplink.send(kFarMac);
  a.settle();
  EXPECT_EQ(uplink.frames, 0);
  EXPECT_EQ(uplink.counters.frames_dropped, 1U);
}

TEST_F(WireTest, UplinkGone_FrameIsDroppedAgain) {
  { const Uplink uplink(wire); }
  a.send(kFarMac, 1);
  a.settle();
  EXPECT_EQ(a.counters.frames_dropped, 1U);
}

TEST_F(WireTest, LinkDown_NothingIsSentOrReceived) {
  b.set_link(false);
  a.send(kPeerMac, 1);
  b.send(kHostMac, 2);
  a.settle();
  EXPECT_TRUE(a.psns.empty());
  EXPECT_TRUE(b.psns.empty());
  EXPECT_EQ(a.counters.frames_dropped, 1U);
  EXPECT_EQ(b.counters.frames_dropped, 1U);
}

TEST_F(WireTest, LinkUpAgain_FramesArrive) {
  b.set_link(false);
  b.set_link(true);
  a.send(kPeerMac, 1);
  a.settle();
  EXPECT_EQ(b.psns.size(), 1U);
}

TEST_F(WireTest, LinkDownAndForcedLoopback_FrameComesBack) {
  a.set_link(false);
  a.send(kHostMac, 1, true);
  a.settle();
  EXPECT_EQ(a.psns.size(), 1U);
}

TEST_F(WireTest, FrameThatNobodyOwns_IsCountedAsDropped) {
  a.send(Mac{1, 2, 3, 4, 5, 6}, 1);
  a.settle();
  EXPECT_EQ(a.counters.frames_sent, 1U);
  EXPECT_EQ(a.counters.frames_dropped, 1U);
}

TEST_F(WireTest, FrameIsNotDeliveredInsideSend) {
  a.send(kPeerMac, 1);
  EXPECT_TRUE(b.psns.empty());
}

TEST_F(WireTest, DropTheSecond_OnlyTheSecondIsMissing) {
  a.inject(rule(Kind::Drop, 2));
  for (const std::uint32_t psn : {1U, 2U, 3U}) a.send(kPeerMac, psn);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1, 3}));
  EXPECT_EQ(a.counters.frames_dropped, 1U);
}

TEST_F(WireTest, DropFromTheSecondOn_NothingFollowsTheFirst) {
  a.inject(rule(Kind::Drop, 2, true));
  for (const std::uint32_t psn : {1U, 2U, 3U}) a.send(kPeerMac, psn);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1}));
}

TEST_F(WireTest, Duplicate_ArrivesTwice) {
  a.inject(rule(Kind::Duplicate));
  a.send(kPeerMac, 1);
  a.send(kPeerMac, 2);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1, 1, 2}));
}

TEST_F(WireTest, Delay_LetsLaterFramesPass) {
  FrameFaultRule late = rule(Kind::Delay);
  late.delay_ns = 500;
  a.inject(late);
  a.send(kPeerMac, 1);
  a.send(kPeerMac, 2);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{2, 1}));
  EXPECT_EQ(b.times_ns.back(), 500U);
}

TEST_F(WireTest, CorruptIcrc_ArrivesBroken) {
  a.inject(rule(Kind::CorruptIcrc));
  a.send(kPeerMac, 1);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{Station::kBroken}));
}

TEST_F(WireTest, RuleForAnotherOpcode_LeavesTheFrameAlone) {
  a.inject({Kind::Drop, 0x0a, std::nullopt, 0, 1, true});
  a.send(kPeerMac, 1);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1}));
}

TEST_F(WireTest, RuleForOneQpn_CountsOnlyItsFrames) {
  a.inject({Kind::Drop, std::nullopt, 5, 0, 2, false});
  a.send(kPeerMac, 1, false, 4);
  a.send(kPeerMac, 2, false, 5);
  a.send(kPeerMac, 3, false, 5);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1, 2}));
}

TEST_F(WireTest, Reorder_LetsOneToEightLaterFramesPass) {
  a.inject(rule(Kind::Reorder));
  for (std::uint32_t psn = 1; psn <= 12; ++psn) a.send(kPeerMac, psn);
  a.settle();
  const auto first = std::ranges::find(b.psns, 1U) - b.psns.begin();
  EXPECT_THAT(first, AllOf(Ge(1), Le(8)));
  std::erase(b.psns, 1U);
  EXPECT_EQ(b.psns, (Psns{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(WireTest, ReorderAndNobodyPasses_ArrivesAfterTwentyMicroseconds) {
  a.inject(rule(Kind::Reorder));
  a.send(kPeerMac, 1);
  a.settle();
  EXPECT_EQ(b.times_ns, (std::vector<std::uint64_t>{20'000}));
}

TEST_F(WireTest, ReorderedFrameThatWaitedLongEnough_IsNotSentAgainByThoseBehind) {
  a.inject(rule(Kind::Reorder));
  a.send(kPeerMac, 1);
  a.settle();
  for (std::uint32_t psn = 2; psn <= 12; ++psn) a.send(kPeerMac, psn);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(WireTest, ReorderedFrameOfAPortThatForgets_NeverArrives) {
  a.inject(rule(Kind::Reorder));
  a.send(kPeerMac, 1);
  a.forget();
  for (std::uint32_t psn = 2; psn <= 12; ++psn) a.send(kPeerMac, psn);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(WireTest, FlipBit_ArrivesBrokenOrNotAtAll) {
  a.inject(rule(Kind::FlipBit, 1, true));
  for (std::uint32_t psn = 0; psn < 200; ++psn) a.send(kPeerMac, psn);
  a.settle();
  EXPECT_GT(std::ranges::count(b.psns, Station::kBroken), 100);
  // The fields that the ICRC leaves out, because switches change them, may differ unnoticed.
  EXPECT_LT(std::ranges::count_if(b.psns, [](auto psn) { return psn != Station::kBroken; }), 50);
}

TEST_F(WireTest, Jitter_IsNeverMoreThanItsBoundAndNotAlwaysTheSame) {
  FrameFaultRule jitter = rule(Kind::Jitter, 1, true);
  jitter.delay_ns = 100;
  a.inject(jitter);
  for (std::uint32_t psn = 0; psn < 64; ++psn) a.send(kPeerMac, psn);
  a.settle();
  EXPECT_EQ(b.psns.size(), 64U);
  EXPECT_LE(b.times_ns.back(), 100U);
  EXPECT_GT(b.times_ns.back(), b.times_ns.front());
}

TEST_F(WireTest, LossOfOneInTen_LosesAboutOneInTen) {
  a.inject(maybe(Kind::Drop, 0.1));
  a.send_and_settle(kPeerMac, 5000);
  EXPECT_NEAR(static_cast<double>(a.counters.frames_dropped), 500.0, 100.0);
}

TEST_F(WireTest, LossWithProbabilityZero_LosesNothing) {
  a.inject(maybe(Kind::Drop, 0));
  a.send_and_settle(kPeerMac, 100);
  EXPECT_EQ(b.psns.size(), 100U);
}

/// PSNs that arrive of a thousand frames under every fault, from `seed`.
Psns under_faults(std::uint64_t seed) {
  Wire wire;
  Station a(wire, kHostMac);
  Station b(wire, kPeerMac);
  a.seed_faults(seed);
  for (const Kind kind : {Kind::Drop, Kind::Duplicate, Kind::FlipBit, Kind::Reorder})
    a.inject(maybe(kind, 0.1));
  a.send_and_settle(kPeerMac, 1000);
  return b.psns;
}

TEST(WireSeed, SameSeed_SameFramesMeetTheSameFate) { EXPECT_EQ(under_faults(7), under_faults(7)); }

TEST(WireSeed, AnotherSeed_OtherFramesMeetIt) { EXPECT_NE(under_faults(7), under_faults(8)); }

TEST(WireSeed, TwoPortsOfOneSeed_DoNotLoseTheSameFrames) {
  Wire wire;
  Station a(wire, kHostMac);
  Station b(wire, kPeerMac);
  for (Station* const station : {&a, &b}) {
    station->seed_faults(7);
    station->inject(maybe(Kind::Drop, 0.5));
  }
  a.send_and_settle(kPeerMac, 100);
  b.send_and_settle(kHostMac, 100);
  EXPECT_NE(a.psns, b.psns);
}

TEST_F(WireTest, RulesOfOnePort_DoNotTouchAnother) {
  a.inject(rule(Kind::Drop, 1, true));
  b.send(kHostMac, 1);
  b.settle();
  EXPECT_EQ(a.psns, (Psns{1}));
}

TEST_F(WireTest, FramesOfAPortThatForgets_NeverArrive) {
  a.send(kPeerMac, 1);
  b.send(kHostMac, 2);
  a.forget();
  a.settle();
  EXPECT_TRUE(b.psns.empty());
  EXPECT_EQ(a.psns, (Psns{2}));
}

TEST_F(WireTest, SlotReusedAfterForget_DeliversOnlyTheNewFrame) {
  a.send(kPeerMac, 1);
  a.forget();
  a.send(kPeerMac, 2);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{2}));
}

TEST_F(WireTest, PoolNearlyFull_HasNoRoomButFramesInReserve) {
  for (std::uint32_t psn = 0; wire.has_room(); ++psn) a.send(kPeerMac, psn);
  EXPECT_TRUE(wire.has_frame());
  a.wait();
  a.settle();
  EXPECT_EQ(a.rooms, 1);
  EXPECT_EQ(b.psns.size(), Wire::kFrames - Wire::kReserve);
}

constexpr Mac kGroup{0x01, 0, 0x5e, 0, 0, 1};

TEST(WireListeners, FrameForAGroup_ComesToAllThatListenAndOut) {
  Wire wire;
  Station a(wire, kHostMac), b(wire, kPeerMac), deaf(wire, kFarMac);
  Uplink out(wire);
  a.listen();
  b.listen();
  a.send(kGroup, 1);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1}));
  EXPECT_EQ(a.psns, (Psns{1}));  // what becomes of its own is for the port to say
  EXPECT_EQ(a.own_frames, 1);
  EXPECT_TRUE(deaf.psns.empty());
  EXPECT_EQ(out.frames, 1);
}

TEST(WireListeners, GroupFrameOfASendQueue_ComesBackWhateverThePortListensTo) {
  constexpr std::uint32_t kDomain = 5;
  Wire wire;
  Station a(wire, kHostMac), b(wire, kPeerMac);
  a.send(kGroup, 1, false, 1, kDomain);
  a.send(kPeerMac, 2, false, 1, kDomain);
  a.send(kGroup, 3);  // of a queue pair
  a.settle();
  EXPECT_EQ(a.psns, (Psns{1}));
  EXPECT_EQ(a.own_domain, kDomain);
  EXPECT_EQ(b.psns, (Psns{2}));
}

TEST(WireListeners, FrameForAnother_IsCopiedOnceAndNeverBack) {
  Wire wire;
  Station a(wire, kHostMac), b(wire, kPeerMac), c(wire, kFarMac);
  a.listen();
  b.listen();
  c.listen();
  a.send(kPeerMac, 1);
  a.settle();
  EXPECT_EQ(b.psns, (Psns{1}));
  EXPECT_EQ(c.psns, (Psns{1}));
  EXPECT_TRUE(a.psns.empty());
}

TEST(WireListeners, ListenerWithoutALink_HearsNothing) {
  Wire wire;
  Station a(wire, kHostMac), b(wire, kPeerMac);
  b.listen();
  b.set_link(false);
  a.send(kGroup, 1);
  a.settle();
  EXPECT_TRUE(b.psns.empty());
  EXPECT_EQ(a.counters.frames_dropped, 1U);
}

TEST(WireLatency, Frame_ArrivesAfterTheLatency) {
  Wire wire(750);
  Station a(wire, kHostMac);
  a.send(kHostMac, 1);
  a.settle();
  EXPECT_EQ(a.times_ns, (std::vector<std::uint64_t>{750}));
}

TEST(WireDetach, FrameToAPortThatLeft_IsDropped) {
  Wire wire;
  Station a(wire, kHostMac);
  {
    Station b(wire, kPeerMac);
    a.send(kPeerMac, 1);
  }
  a.settle();
  EXPECT_EQ(a.counters.frames_dropped, 1U);
}

}  // namespace
}  // namespace portcullis::model::testing
