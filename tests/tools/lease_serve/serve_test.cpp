// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a lease as lease-serve runs it, on the model, with a scripted peer: its line comes
// from a script, its writes from a QP on a second address of the same port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "tests/tools/lease_serve/remote_client.hpp"
#include "tools/lease_serve/program.hpp"

namespace portcullis::tools::lease_serve {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kOurs;
using testing::ScriptedChannel;
using ::testing::StartsWith;
using testing::Writer;

class LeaseServe : public ::testing::Test {
 protected:
  LeaseServe() {
    port = service::ServedPort::open(attach::parse_device("model").value(), {.address = kOurs})
               .value();
    writer.emplace(port->driver().context(), port->address().mac);
    channel.on_hold = [this] {
      if (!connected) writer->connect(service::exchange::parse_grant(channel.sent.back()).value());
      connected = true;
      writer->go_on();
      return false;
    };
    options.watch_ms = 3'000;  // the client's budget at timeout 14 is shorter
  }
  void TearDown() override {
    writer.reset();
    port.reset();
  }

  Result<Served> serve() {
    // Asked in every round of the watch too: the client never stops on its own.
    const auto never = [this] {
      if (connected) writer->go_on();
      return false;
    };
    return lease_serve::serve(options,
                              {never, [this] { return connected && writer->written >= revoke_at; },
                               [this](const std::string& line) { printed.push_back(line); }},
                              *port, channel);
  }

  std::unique_ptr<service::ServedPort> port;
  std::optional<Writer> writer;
  ScriptedChannel channel;
  Options options;
  bool connected = false;
  std::uint64_t revoke_at = 3;
  std::vector<std::string> printed;
};

TEST_F(LeaseServe, SeedPlan_ClientMeetsSilenceAndNoByteChangesAfterwards) {
  channel.lines.emplace_back(writer->request());

  const auto good = serve();

  EXPECT_TRUE(good->good);
  EXPECT_EQ(writer->failure, prm::WcStatus::RETRY_EXC_ERR);
  EXPECT_THAT(printed, Contains(HasSubstr("on command, plan seed: outcome=TornDown")));
  EXPECT_THAT(printed, Contains(HasSubstr("no byte of 65536 changed in 3000 ms")));
}

TEST_F(LeaseServe, NakFirstPlan_ClientIsRefusedAtOnce) {
  channel.lines.emplace_back(writer->request());
  options.plan = lease::nak_first_plan();

  const auto good = serve();

  EXPECT_TRUE(good->good);
  EXPECT_EQ(writer->failure, prm::WcStatus::REM_ACCESS_ERR);
}

TEST_F(LeaseServe, IndirectPlan_ClientLosesTheKeyOfItsTenant) {
  channel.lines.emplace_back(writer->request());
  options.plan = lease::indirect_plan();

  const auto served = serve();

  EXPECT_TRUE(served->good);
  EXPECT_EQ(writer->failure, prm::WcStatus::REM_ACCESS_ERR);
  EXPECT_THAT(served->json, HasSubstr("memory=proved by DESTROY_MKEY of the tenant"));
}

TEST_F(LeaseServe, UmrPlan_FreesTheKeyByItsQueue) {
  channel.lines.emplace_back(writer->request());
  options.plan = lease::umr_plan();

  EXPECT_THAT(serve()->json, HasSubstr("memory=proved by UMR"));
}

TEST_F(LeaseServe, LegacyPlan_RegionIsGivenBackAndNotWatched) {
  channel.lines.emplace_back(writer->request());
  options.plan = lease::legacy_plan();

  const auto served = serve();

  EXPECT_TRUE(served->good);
  EXPECT_THAT(printed, Contains(HasSubstr("not watched: the plan gave the region back")));
  EXPECT_EQ(nlohmann::json::parse(served->json)["watched_after_outcome"], false);
}

/// Above what the manager keeps of regions that are free, so that it goes to the system.
TEST_F(LeaseServe, LegacyPlanWithALargeRegion_TouchesItNoMore) {
  channel.lines.emplace_back(writer->request());
  options.plan = lease::legacy_plan();
  options.terms.bytes = std::uint64_t{80} << 20;

  EXPECT_TRUE(serve()->good);
}

TEST_F(LeaseServe, DropOnlyPlan_IsNotGoodAndToldAllTheSame) {
  channel.lines.emplace_back(writer->request());
  options.plan = lease::drop_only_plan();

  const auto served = serve();

  ASSERT_TRUE(served) << served.error().text;
  EXPECT_FALSE(served->good);
  EXPECT_THAT(served->json, HasSubstr("\"outcome\":\"Fenced\""));
  EXPECT_THAT(printed, Contains(HasSubstr("1 leases stay FENCED")));
}

TEST_F(LeaseServe, WatchedBeyondGrace_TheRegionIsNotScrubbedUnderIt) {
  channel.lines.emplace_back(writer->request());
  options.watch_ms = 12'000;

  EXPECT_TRUE(serve()->good);
  EXPECT_THAT(printed, Contains(HasSubstr("no byte of 65536 changed in 12000 ms")));
}

TEST_F(LeaseServe, FabricThatHoldsPacketsBack_IsWaitedOutBeforeTheQueuePairEnds) {
  channel.lines.emplace_back(writer->request());
  options.residence_ms = 7'000;

  EXPECT_TRUE(serve()->good);
  // Twice that, and what the client may send by its grant.
  EXPECT_THAT(printed, Contains(HasSubstr("no byte of 65536 changed in 15880 ms")));
}

TEST(LeaseServeRun, LegacyPlanInAFabric_IsRefusedForItsQueuePairDoesNotRest) {
  Options options;
  options.plan = lease::legacy_plan();
  options.fabric.told_ms = 100;
  const auto never = [] { return false; };
  EXPECT_THAT(run(options, {never, never, [](const std::string&) {}}).error().text,
              HasSubstr("--plan legacy: its queue pair ends at once"));
}

TEST(LeaseServeRun, FabricThatIsNotThere_IsRefusedBeforeTheDeviceIsOpened) {
  Options options;
  options.fabric.file = "/nowhere/fabric.json";
  const auto never = [] { return false; };
  EXPECT_EQ(run(options, {never, never, [](const std::string&) {}}).error().text,
            "--fabric /nowhere/fabric.json cannot be read: No such file or directory");
}

TEST_F(LeaseServe, OverlappedPlan_IsNamedInFull) {
  channel.lines.emplace_back(writer->request());
  options.plan = lease::seed_plan().overlapped().value();

  EXPECT_THAT(serve()->json, HasSubstr("\"plan\":\"seed+overlap\""));
  EXPECT_THAT(printed, Contains(HasSubstr("plan seed+overlap: ")));
}

TEST_F(LeaseServe, UnderlayOnAnEthernetPort_IsRefusedBeforeAnybodyIsServed) {
  options.plan = lease::parse_plan("underlay").value();
  EXPECT_EQ(serve().error().text,
            "steering: no underlay here: port_type is 1 (Ethernet), and Linux sets a root with "
            "underlay_qpn on InfiniBand ports (0) alone; --steering=try asks the device all the "
            "same");
}

TEST_F(LeaseServe, AllowModifyPlan_BringsItsSteeringWithIt) {
  channel.lines.emplace_back(writer->request());
  options.plan = lease::parse_plan("allow-modify").value();
  const auto good = serve();
  ASSERT_TRUE(good) << good.error().text;
  EXPECT_THAT(good->json, HasSubstr("steering=ok"));
}

TEST_F(LeaseServe, ChangesOfTheFirstWordAreSeen) {
  channel.lines.emplace_back(writer->request());
  revoke_at = 10;

  ASSERT_TRUE(serve());

  EXPECT_THAT(printed, Contains(HasSubstr("the first word was seen to change")));
}

TEST_F(LeaseServe, BadLines_AreAnsweredAndTheNextPeerIsServed) {
  channel.lines.emplace_back("GET / HTTP/1.0");
  channel.lines.emplace_back(fail(Errc::Malformed, "it hung up"));
  channel.lines.emplace_back(writer->request());

  const auto good = serve();

  EXPECT_TRUE(good->good);
  EXPECT_EQ(channel.dropped, 3);  // the third when its lease had ended
  EXPECT_THAT(channel.sent, ElementsAre(StartsWith("lease-refused"), StartsWith("lease-refused"),
                                        StartsWith("lease-grant")));
}

TEST_F(LeaseServe, GrantThatFails_IsToldAndTheNextPeerIsServed) {
  port->model()->inject({.opcode = prm::number(prm::Opcode::CREATE_QP),
                         .kind = model::CommandFaultRule::Kind::Status,
                         .status = prm::number(prm::CommandStatus::NO_RES_ERR)});
  channel.lines.emplace_back(writer->request());
  channel.lines.emplace_back(writer->request());

  const auto served = serve();

  ASSERT_TRUE(served) << served.error().text;
  EXPECT_TRUE(served->good);
  EXPECT_TRUE(served->counts);
  EXPECT_THAT(channel.sent, ElementsAre(HasSubstr("CREATE_QP"), StartsWith("lease-grant")));
}

TEST_F(LeaseServe, PeerThatIsGoneBeforeItIsServed_GetsNoLease) {
  channel.is_gone_early = true;
  channel.lines.emplace_back(writer->request());
  channel.lines.emplace_back(writer->request());

  const auto served = serve();

  EXPECT_TRUE(served->good);
  EXPECT_THAT(printed, Contains(HasSubstr("hung up before it could be granted a lease")));
  EXPECT_THAT(channel.sent, ElementsAre(StartsWith("lease-refused"), StartsWith("lease-grant")));
}

TEST_F(LeaseServe, PeerThatNamesOurAddressAsItsOwn_IsRefused) {
  auto lie = service::exchange::parse_request(writer->request()).value();
  lie.client.gid = kOurs;
  channel.lines.emplace_back(to_line(lie));
  channel.lines.emplace_back(writer->request());

  ASSERT_TRUE(serve());

  EXPECT_THAT(channel.sent.front(), HasSubstr("gid=192.0.2.1 is this port's own"));
}

TEST_F(LeaseServe, PeerOfAnotherFamily_IsRefused) {
  auto other = service::exchange::parse_request(writer->request()).value();
  other.client.gid = pmd::Gid::parse("fe80::1").value();
  channel.lines.emplace_back(to_line(other));
  channel.lines.emplace_back(writer->request());

  ASSERT_TRUE(serve());

  EXPECT_THAT(channel.sent.front(), HasSubstr("an address of that family"));
}

TEST_F(LeaseServe, ClientThatHangsUp_LosesItsLease) {
  channel.lines.emplace_back(writer->request());
  channel.on_hold = [] { return true; };

  EXPECT_TRUE(serve()->good);
  EXPECT_THAT(printed, Contains(HasSubstr("the client has hung up, plan seed")));
}

TEST_F(LeaseServe, ClientThatHangsUpBeforeItsGrant_LosesItsLeaseAndEndsNothingElse) {
  channel.lines.emplace_back(writer->request());
  channel.on_send = fail(Errc::System, "script: the line was not taken: broken pipe");
  channel.on_hold = [] { return true; };

  const auto served = serve();

  EXPECT_TRUE(served->good);
  EXPECT_FALSE(served->counts);
  EXPECT_THAT(printed, Contains(HasSubstr("broken pipe")));
  EXPECT_THAT(printed, Contains(HasSubstr("before it was told, plan seed: outcome=TornDown")));
}

TEST_F(LeaseServe, GrantThatCannotBeWritten_IsTakenBackAndEndsTheProgram) {
  channel.lines.emplace_back(writer->request());
  channel.on_send = fail(Errc::System, "grant cannot be written");
  channel.on_hold = [] { return false; };

  EXPECT_THAT(serve().error().text, HasSubstr("cannot be written"));
  EXPECT_THAT(printed, Contains(HasSubstr("cannot be written, plan seed: outcome=TornDown")));
}

TEST_F(LeaseServe, DeviceThatFailsWhileALeaseIsHeld_HasItsOutcomeTold) {
  channel.lines.emplace_back(writer->request());
  channel.on_hold = [this] {
    port->model()->surprise_remove();
    return false;
  };

  EXPECT_FALSE(serve());
  EXPECT_THAT(printed, Contains(HasSubstr("outcome=Fenced")));
}

TEST_F(LeaseServe, WatchThatIsCutShort_ClaimsNoMoreThanItSaw) {
  channel.lines.emplace_back(writer->request());
  channel.on_hold = [] { return true; };
  options.watch_ms = 3'000;
  const auto has_outcome = [this] {
    return std::ranges::any_of(printed,
                               [](const auto& line) { return line.starts_with("outcome"); });
  };

  const auto served =
      lease_serve::serve(options,
                         {has_outcome, [] { return false; },
                          [this](const std::string& line) { printed.push_back(line); }},
                         *port, channel);

  EXPECT_EQ(nlohmann::json::parse(served->json)["watched_ms"], 0);
  EXPECT_THAT(printed, Contains(HasSubstr("no byte of 65536 changed in 0 ms")));
}

TEST_F(LeaseServe, AfterItsTime_TheLeaseIsRevoked) {
  channel.lines.emplace_back(writer->request());
  revoke_at = std::numeric_limits<std::uint64_t>::max();
  options.revoke_after_ms = 250;

  EXPECT_TRUE(serve()->good);
  EXPECT_THAT(printed, Contains(HasSubstr("after 250 ms, plan seed")));
}

TEST_F(LeaseServe, SmallerMtuOfTheClient_IsGranted) {
  auto small = service::exchange::parse_request(writer->request()).value();
  small.mtu = 512;
  channel.lines.emplace_back(to_line(small));
  channel.on_hold = [] { return true; };

  ASSERT_TRUE(serve());

  EXPECT_EQ(service::exchange::parse_grant(channel.sent.back())->mtu, 512U);
}

TEST_F(LeaseServe, RegionHoldsItsContentsBeforeTheClientKnowsOfIt) {
  channel.lines.emplace_back(writer->request());
  options.contents = std::string(16, '\x5a');
  options.dump_file = ::testing::TempDir() + "lease_serve_contents";
  revoke_at = 1;  // which wrote the first word

  ASSERT_TRUE(serve());

  std::ifstream file(options.dump_file, std::ios::binary);
  const std::string region{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(options.dump_file);
  EXPECT_EQ(region.substr(8, 16), std::string(8, '\x5a') + std::string(8, '\0'));
}

TEST_F(LeaseServe, JsonSaysWhatBecameOfTheLease) {
  channel.lines.emplace_back(writer->request());

  const auto served = serve();

  const auto json = nlohmann::json::parse(served->json);
  EXPECT_EQ(json["outcome"], "TornDown");
  EXPECT_EQ(json["plan"], "seed");
  EXPECT_EQ(json["changed_after_outcome"], false);
  EXPECT_GE(json["outcome_ns"], json["revoke_ns"]);
}

TEST_F(LeaseServe, TheNextLeaseIsServedOnTheSameFunction) {
  channel.on_hold = [] { return true; };
  channel.lines.emplace_back(writer->request());
  ASSERT_TRUE(serve());
  channel.lines.emplace_back(writer->request());

  EXPECT_TRUE(serve()->good);
  EXPECT_THAT(channel.sent, ElementsAre(StartsWith("lease-grant"), StartsWith("lease-grant")));
}

/// Of the frames in a pcap file, how many are IPv4 from `source` with this traffic class and these
/// bytes behind the addresses: a VLAN tag, or nothing. (A global header of 24 bytes; each frame
/// behind 16, its length in the third word.)
std::size_t count_frames(const std::string& path, const pmd::Gid& source, std::uint8_t tos,
                         const std::string& tag = {}) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string address(std::bit_cast<std::array<char, 16>>(source.bytes).data() + 12, 4);
  std::size_t count = 0;
  for (std::size_t at = 24; at + 16 < bytes.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at + 8, sizeof length);
    const std::string_view frame = std::string_view(bytes).substr(at + 16, length);
    const std::string before = tag + std::string("\x08\x00\x45", 3) + static_cast<char>(tos);
    count += frame.size() > 38 && frame.substr(12, before.size()) == before &&
                     frame.substr(26 + tag.size(), 4) == address
                 ? 1
                 : 0;
    at += 16 + length;
  }
  return count;
}

TEST_F(LeaseServe, Dscp_StandsInEveryFrameOfTheLease) {
  writer.reset();
  port.reset();
  const std::string file = ::testing::TempDir() + "lease_serve_dscp.pcap";
  port = service::ServedPort::open(attach::parse_device("model,pcap=" + file).value(),
                                   {.address = kOurs})
             .value();
  writer.emplace(port->driver().context(), port->address().mac);
  channel.lines.emplace_back(writer->request());
  options.dscp = 26;

  ASSERT_TRUE(serve());

  writer.reset();
  port.reset();
  EXPECT_GE(count_frames(file, kOurs, 26 << 2), 3U);
  EXPECT_EQ(count_frames(file, kOurs, 0), 0U);
  std::filesystem::remove(file);
}

TEST_F(LeaseServe, Vlan_TagsEveryFrameOfTheLeaseWithItsPriority) {
  writer.reset();
  port.reset();
  const std::string file = ::testing::TempDir() + "lease_serve_vlan.pcap";
  port = service::ServedPort::open(attach::parse_device("model,pcap=" + file).value(),
                                   {.address = kOurs, .vlan = 100})
             .value();
  writer.emplace(port->driver().context(), port->address().mac, 1, 0, 100);
  channel.lines.emplace_back(writer->request());
  options.vlan = 100;
  options.priority = 3;

  ASSERT_TRUE(serve());

  writer.reset();
  port.reset();
  EXPECT_GE(count_frames(file, kOurs, 0, std::string("\x81\x00\x60\x64", 4)), 3U);
  EXPECT_GE(count_frames(file, testing::kTheirs, 0, std::string("\x81\x00\x00\x64", 4)), 3U);
  EXPECT_EQ(count_frames(file, kOurs, 0), 0U);
  std::filesystem::remove(file);
}

TEST(PathText, SaysThatPfcIsNotSupported) {
  EXPECT_EQ(path_text({}),
            "DSCP 0, priority 0, no VLAN; PFC: not supported, the port keeps what was set before "
            "it was bound to VFIO (mlnx_qos, dcb)");
}

}  // namespace
}  // namespace portcullis::tools::lease_serve
