// SPDX-License-Identifier: BSD-3-Clause
//
// Devices, ports and leases through the front door: what the engines answer is what is told, above
// all where something failed, was refused or is not known.
#include <portcullis/lease_manager.hpp>
#include <portcullis/requester.hpp>
#include <portcullis/trace.hpp>
#include <portcullis/version.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace portcullis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::array kData{std::byte{0x42}};

Port opened(const std::string& device) {
  auto port = Port::open(*DeviceSpec::parse(device), {.address = Gid::from_ipv4(192, 0, 2, 1)});
  EXPECT_TRUE(port) << port.error().text;
  return *std::move(port);
}

FencePlan plan(std::string_view name) { return *FencePlan::parse(name); }

/// A manager with one lease and the client that holds it.
struct Leased {
  explicit Leased(const std::string& device, const LeaseOptions& options = {})
      : port(opened(device)),
        leases(*LeaseManager::create(port, options)),
        client(*Requester::create(port)),
        grant(*leases.grant({.bytes = 4096, .peer = client.peer()})) {
    EXPECT_TRUE(client.connect(grant));
  }

  Port port;
  LeaseManager leases;
  Requester client;
  Grant grant;
};

// Numbers that could change places are types of their own.
static_assert(!std::is_convertible_v<Qpn, Psn>);
static_assert(!std::is_convertible_v<std::uint32_t, Rkey>);
// Nothing is copied that stands for something in a device.
static_assert(!std::is_copy_constructible_v<Port>);
static_assert(!std::is_copy_constructible_v<LeaseManager>);
static_assert(!std::is_copy_constructible_v<Requester>);

TEST(Version, IsThatOfTheProject) { EXPECT_EQ(version(), "0.1.0"); }

TEST(DeviceSpec, UnknownWord_IsNamedWithWhatIsAccepted) {
  const auto spec = DeviceSpec::parse("modle");
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, Errc::InvalidArgument);
  EXPECT_THAT(spec.error().text, HasSubstr("\"modle\""));
}

TEST(DeviceSpec, PciAddress_IsNotEmulated) {
  const auto spec = DeviceSpec::parse("03:00.0");
  ASSERT_TRUE(spec) << spec.error().text;
  EXPECT_FALSE(spec->is_emulated());
  EXPECT_EQ(spec->pci_address(), "0000:03:00.0");
}

TEST(Port, Model_SaysThatItIsEmulated) {
  const Port port = opened("model");
  EXPECT_TRUE(port.is_emulated());
  EXPECT_THAT(port.description(), HasSubstr("not NIC latency"));
  EXPECT_EQ(port.gid().text(), "192.0.2.1");
}

TEST(Port, PolledModelWithoutAnEal_IsServedByAThread) {
  Port port = opened("model,execution=polled");
  EXPECT_TRUE(port.wait_ms(1));
}

TEST(Port, OnAVlan_GrantsLeasesThere) {
  const auto port = Port::open(*DeviceSpec::parse("model"), {.vlan_id = 5});
  ASSERT_TRUE(port) << port.error().text;
  auto leases = *LeaseManager::create(*port);
  auto client = *Requester::create(*port);
  const auto grant = *leases.grant({.bytes = 4096, .peer = client.peer()});
  ASSERT_TRUE(client.connect(grant));
  EXPECT_TRUE(client.write(7, kData)->is_success());
  EXPECT_EQ(leases.memory(grant.lease)[7], std::byte{0x42});
}

TEST(Port, VlanOutOfRange_IsNamed) {
  const auto port = Port::open(*DeviceSpec::parse("model"), {.vlan_id = 4095});
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Errc::InvalidArgument);
  EXPECT_THAT(port.error().text, HasSubstr("4095"));
}

TEST(Port, AddressOfAGroup_IsRefused) {
  const auto port = Port::open(*DeviceSpec::parse("model"), {.address = *Gid::parse("ff02::1")});
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Errc::InvalidArgument);
  EXPECT_THAT(port.error().text, HasSubstr("address ff02::1"));
}

TEST(Port, EalArgumentThatEndsTheProcess_IsRefused) {
  const auto port =
      Port::open(*DeviceSpec::parse("0000:03:00.0"), {.eal_arguments = {"-l", "0", "--help"}});
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Errc::InvalidArgument);
  EXPECT_THAT(port.error().text, HasSubstr("--help"));
}

TEST(Gid, TextBehindANul_IsRefused) {
  EXPECT_FALSE(Gid::parse(std::string_view("192.0.2.1\0x", 11)));
}

TEST(Port, InfiniBand_IsRefused) {
  const auto port = Port::open(*DeviceSpec::parse("model,port=ib"));
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Errc::Unsupported);
}

TEST(Port, Waiting_MovesTheDevicesClock) {
  Port port = opened("model");
  const std::uint64_t before_ns = port.now_ns();
  ASSERT_TRUE(port.wait_ms(250));
  EXPECT_GE(port.now_ns(), before_ns + 250'000'000);
}

TEST(FencePlan, UnknownName_IsNamedWithWhatIsAccepted) {
  const auto parsed = FencePlan::parse("sead");
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().text, HasSubstr("nak-first"));
}

TEST(FencePlan, DropOnly_NeverTearsDown) {
  EXPECT_FALSE(plan("drop-only").can_tear_down());
  EXPECT_TRUE(plan("seed").can_tear_down());
}

TEST(FencePlan, Steps_StandInTheirOrder) {
  EXPECT_EQ(plan("nak-first").steps(), "DESTROY_MKEY, 2ERR_QP");
}

TEST(FencePlan, MovedFrom_IsThePlanStill) {
  FencePlan from = plan("nak-first");
  const FencePlan to = std::move(from);  // NOLINT(performance-move-const-arg): is it a copy?
  EXPECT_EQ(to.name(), "nak-first");
  EXPECT_EQ(from.steps(), "DESTROY_MKEY, 2ERR_QP");  // NOLINT(bugprone-use-after-move): its point
}

TEST(FencePlan, EveryPlanIsOneThatParses) {
  std::vector<std::string> refused;
  for (const FencePlan& each : FencePlan::all())
    if (!FencePlan::parse(each.name())) refused.push_back(each.name());
  EXPECT_THAT(refused, IsEmpty());
  EXPECT_EQ(FencePlan::all().size(), 10U);
}

TEST(LeaseManager, ClientWrites_UntilTheFence) {
  Leased world("model");
  EXPECT_TRUE(world.client.write(7, kData)->is_success());
  EXPECT_EQ(world.leases.memory(world.grant.lease)[7], std::byte{0x42});
  EXPECT_EQ(world.leases.revoke(world.grant.lease).outcome, Outcome::TornDown);
  EXPECT_EQ(world.client.write(7, kData)->text, "IBV_WC_RETRY_EXC_ERR (12)");
}

TEST(LeaseManager, ClientReads_WhatIsThere) {
  Leased world("model");
  world.leases.memory(world.grant.lease)[9] = std::byte{0x17};
  std::array<std::byte, 1> read{};
  EXPECT_TRUE(world.client.read(9, read)->is_success());
  EXPECT_EQ(read[0], std::byte{0x17});
}

TEST(LeaseManager, RevokeOfAnEarlierEpoch_IsNotFoundWithTheCurrentOne) {
  Leased world("model");
  LeaseName stale = world.grant.lease;
  stale.epoch += 1;
  const RevokeAnswer answer = world.leases.revoke(stale);
  EXPECT_EQ(answer.outcome, Outcome::NotFound);
  EXPECT_EQ(answer.current_epoch, world.grant.lease.epoch);
}

TEST(LeaseManager, DropOnly_IsFencedAndItsMemoryProvedByTheLadder) {
  Leased world("model");
  const RevokeAnswer answer = world.leases.revoke(world.grant.lease, plan("drop-only"));
  EXPECT_EQ(answer.outcome, Outcome::Fenced);
  EXPECT_EQ(answer.memory, MemoryProof::Unmap);
  EXPECT_EQ(world.leases.fenced().size(), 1U);
  EXPECT_THAT(world.leases.fenced().front().text, HasSubstr("outcome=Fenced"));
}

TEST(LeaseManager, TimeToLive_EndsInPollAndIsTold) {
  std::vector<Outcome> told;
  Leased world("model", {.on_outcome = [&told](const LeaseName&, const RevokeAnswer& answer) {
                 told.push_back(answer.outcome);
               }});
  ASSERT_TRUE(world.leases.renew(world.grant.lease, 100));
  ASSERT_TRUE(world.port.wait_ms(200));
  world.leases.poll();
  EXPECT_THAT(told, ElementsAre(Outcome::TornDown));
}

TEST(LeaseManager, SlotsAreOut_GrantSaysSo) {
  Leased world("model", {.slots = 1});
  const auto second = world.leases.grant({.bytes = 4096, .peer = world.client.peer()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::OutOfResources);
}

TEST(LeaseManager, SecondOnOnePort_IsBusyUntilTheFirstIsGone) {
  const Port port = opened("model");
  auto first = std::make_unique<LeaseManager>(*LeaseManager::create(port));
  EXPECT_EQ(LeaseManager::create(port).error().code, Errc::Busy);
  first.reset();
  EXPECT_TRUE(LeaseManager::create(port));
}

TEST(LeaseManager, MtuThatIsNone_IsNamed) {
  const Port port = opened("model");
  const auto leases = LeaseManager::create(port, {.mtu_bytes = 1500});
  ASSERT_FALSE(leases);
  EXPECT_THAT(leases.error().text, HasSubstr("1500"));
}

TEST(LeaseManager, OutlivesItsPort) {
  auto port = std::make_unique<Port>(opened("model"));
  auto leases = *LeaseManager::create(*port);
  port.reset();
  EXPECT_TRUE(leases.tear_down());
}

TEST(LeaseManager, Drained_EveryLeaseIsTornDownAndNothingGranted) {
  Leased world("model");
  EXPECT_EQ(world.leases.drain().value(), 1U);
  EXPECT_EQ(world.leases.revoke(world.grant.lease).outcome, Outcome::TornDown);
  EXPECT_FALSE(world.leases.grant({.bytes = 4096, .peer = world.client.peer()}));
}

TEST(LeaseManager, ResidenceOutOfRange_IsNamed) {
  const Port port = opened("model");
  EXPECT_THAT(LeaseManager::create(port, {.residence_ms = ~std::uint64_t{0}}).error().text,
              HasSubstr("residence_ms"));
}

TEST(LeaseManager, LingerOutOfRange_IsNamedAsTheOptionIs) {
  const Port port = opened("model");
  EXPECT_THAT(LeaseManager::create(port, {.linger_ms = 60'001}).error().text,
              StartsWith("linger_ms 60001"));
}

TEST(LeaseManager, PeerThatNoPacketReaches_IsNamed) {
  Leased world("model");
  const auto refusal = [&world](auto change) {
    Peer peer = world.client.peer();
    change(peer);
    const auto granted = world.leases.grant({.bytes = 4096, .peer = peer});
    return granted ? "granted" : granted.error().text;
  };
  EXPECT_THAT(refusal([](Peer& peer) { peer.gid = {}; }), StartsWith("peer.gid ::;"));
  EXPECT_THAT(refusal([](Peer& peer) { peer.gid = *Gid::parse("fe80::1"); }),
              StartsWith("peer.gid fe80::1, and the port has 192.0.2.1;"));
  EXPECT_THAT(refusal([](Peer& peer) { peer.mac = {}; }), StartsWith("peer.mac 00:00:00:00:00:00"));
  EXPECT_THAT(refusal([](Peer& peer) { peer.qpn = Qpn{1}; }), StartsWith("peer.qpn 1;"));
  EXPECT_THAT(refusal([](Peer& peer) { peer.psn = Psn{1U << 24}; }),
              StartsWith("peer.psn 16777216;"));
}

TEST(LeaseManager, OnADrainedPort_IsRefused) {
  const Port port = opened("model");
  ASSERT_TRUE(LeaseManager::create(port)->drain());
  const auto next = LeaseManager::create(port);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Errc::DeviceFailed);
}

TEST(LeaseManager, TornDown_GrantsNothingMore) {
  Leased world("model");
  ASSERT_TRUE(world.leases.tear_down());
  EXPECT_FALSE(world.leases.grant({.bytes = 4096, .peer = world.client.peer()}));
}

TEST(Requester, BeforeConnect_IsRefused) {
  const Port port = opened("model");
  auto client = *Requester::create(port);
  const auto end = client.write(0, kData);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Errc::InvalidArgument);
}

TEST(Requester, GrantThatIsNone_IsNamedAndTheOldOneServes) {
  Leased world("model");
  Grant odd = world.grant;
  odd.port.qpn = Qpn{1U << 24};
  EXPECT_THAT(world.client.connect(odd).error().text, StartsWith("port.qpn 16777216;"));
  odd = world.grant;
  odd.ack_timeout = 32;
  EXPECT_THAT(world.client.connect(odd).error().text, StartsWith("ack_timeout 32;"));
  odd = world.grant;
  odd.retry_count = 8;
  EXPECT_THAT(world.client.connect(odd).error().text, StartsWith("retry_count 8;"));
  EXPECT_TRUE(world.client.write(0, kData)->is_success());
}

TEST(Requester, RegionThatIsNone_IsNamed) {
  Leased world("model");
  Grant grant = world.grant;
  grant.bytes = 0;
  EXPECT_EQ(world.client.connect(grant).error().text, "bytes 0; 1 or more is accepted");
  grant.bytes = 2;
  grant.address = ~std::uint64_t{0};
  EXPECT_EQ(world.client.connect(grant).error().text,
            "address 18446744073709551615 of 2 bytes; a region that ends below 2^64 is accepted");
}

TEST(LeaseManager, GroupOfNobody_IsNamed) {
  Leased world("model");
  EXPECT_EQ(world.leases.grant_together({}).error().text, "0 leases together; 1 or more expected");
}

TEST(LeaseManager, GroupOfTwoRights_NamesThoseThatAClientHas) {
  Leased world("model");
  std::vector<LeaseRequest> two(2, LeaseRequest{.bytes = 4096, .peer = world.client.peer()});
  two[1].rights.write = false;
  EXPECT_THAT(world.leases.grant_together(two).error().text,
              HasSubstr("rights read; write read expected"));
}

TEST(Requester, AfterADrain_FailsWithoutWaiting) {
  Leased world("model");
  ASSERT_TRUE(world.leases.drain());
  const std::uint64_t before_ns = world.port.now_ns();
  const auto end = world.client.write(0, kData);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Errc::DeviceFailed);
  EXPECT_EQ(world.port.now_ns(), before_ns);
}

TEST(Requester, TooManyBytes_AreNamed) {
  Leased world("model");
  const std::vector<std::byte> data(Requester::kMostBytes + 1);
  const auto end = world.client.write(0, data);
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().text, HasSubstr("4097"));
}

TEST(Requester, BeyondTheRegion_IsTheDevicesToRefuse) {
  Leased world("model");
  EXPECT_EQ(world.client.write(4096, kData)->text, "IBV_WC_REM_ACCESS_ERR (10)");
}

TEST(Recording, OfTheModel_IsReadBackTheSame) {
  const std::string file = ::testing::TempDir() + "front_recording.trace";
  { const Port port = opened("model,trace=" + file); }
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::remove(file.c_str());
  const auto recording = Recording::parse(text.str(), file);
  ASSERT_TRUE(recording) << recording.error().text;
  EXPECT_THAT(recording->commands().front().title, HasSubstr("0x"));
  const auto again = Recording::parse(recording->text(), "again");
  EXPECT_TRUE(compare(*recording, *again, {.is_strict = true}).is_same());
}

TEST(Recording, ThatIsNone_IsRefusedWithFileAndLine) {
  const auto recording = Recording::parse("hello", "a.trace");
  ASSERT_FALSE(recording);
  EXPECT_THAT(recording.error().text, HasSubstr("a.trace:1"));
}

}  // namespace
}  // namespace portcullis
