// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock headroom: what it says is what the formula of docs/pfc.md says, and a fabric that
// has it loses nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/pfc/console.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using portcullis::testing::Outcome;
using portcullis::testing::run_pfc_deadlock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Two hosts, the second of which takes a fiftieth of what the first sends, over a switch whose
/// ingress has so many bytes in all.
std::string fabric_of(double buffer_bytes) {
  const std::string path = ::testing::TempDir() + "headroom_" +
                           ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                           ".json";
  std::ofstream(path) << fmt::format(
      R"({{"units": {{"time_s": 1e-6, "data_bytes": 1}}, "priorities": [0],
          "defaults": {{"capacity": 5000, "delay": 1, "xoff": 40000}},
          "nodes": [{{"name": "a", "kind": "host"}}, {{"name": "s"}},
                    {{"name": "b", "kind": "host"}}],
          "links": [{{"from": "a", "to": "s", "buffer": {}}}, {{"from": "s", "to": "a"}},
                    {{"from": "s", "to": "b", "capacity": 100}},
                    {{"from": "b", "to": "s"}}],
          "routes": {{"s": {{"a": ["a"], "b": ["b"]}}}},
          "flows": [{{"name": "f", "path": ["a", "s", "b"]}},
                    {{"name": "g", "path": ["b", "s", "a"]}}]}})",
      buffer_bytes);
  return path;
}

/// Bytes above XOFF that the first link needs.
double needed(const std::string& fabric) {
  const Outcome outcome = run_pfc_deadlock({"headroom", fabric, "--json"});
  return nlohmann::json::parse(outcome.out)["links"][0]["headroom_bytes"].get<double>();
}

TEST(HeadroomCommand, OfAFabric_IsTheFormulaOfWholePackets) {
  // floor((2 + (1000 + 84) / 5000) / 0.2) + 1 packets of 1000 bytes above 40 whole ones.
  EXPECT_EQ(needed(fabric_of(80'000)), 12'000);
}

TEST(HeadroomCommand, FabricThatHasIt_IsFineAndLosesNothing) {
  const std::string fabric = fabric_of(40'000 + needed(fabric_of(80'000)));
  const Outcome outcome = run_pfc_deadlock({"headroom", fabric});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, StartsWith("all of 2 ingresses with a threshold have the headroom"));
  const auto run = nlohmann::json::parse(
      run_pfc_deadlock({"packet", fabric, "--until", "3000", "--format", "json"}).out);
  EXPECT_EQ(run["flows"][0]["overflowed"], 0);
  EXPECT_GT(run["flows"][0]["delivered"], 200);
}

TEST(HeadroomCommand, FabricThatIsAByteShort_IsToldByHowMuch) {
  const Outcome outcome = run_pfc_deadlock({"headroom", fabric_of(40'000 + 11'999)});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("link,links,xoff_bytes,headroom_bytes,has_bytes,short_bytes\n"),
                    HasSubstr("a-s,1,40000,12000,11999,1\n")));
  EXPECT_THAT(
      outcome.err,
      StartsWith("1 of 2 ingresses with a threshold are short of headroom, a-s by 1 bytes"));
}

TEST(HeadroomCommand, LinksThatAreAlike_AreOneLine) {
  const Outcome outcome = run_pfc_deadlock({"headroom", "leaf-spine:2,2,2"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("host0-leaf0,12,40000,"));
  EXPECT_THAT(outcome.err, HasSubstr("data in priorities 0, 1, 2, 3, 4, 5, 6, 7"));
}

TEST(HeadroomCommand, FramesThatFillTheLinkBack_LeaveNoneThatIsEnough) {
  const Outcome outcome = run_pfc_deadlock({"headroom", "--gbps", "100", "--packet-bytes", "100"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "unlimited\n");
}

/// 2 MTU + C (2 d + response + (MTU + 84) / C'), less than a packet of rounding.
TEST(HeadroomCommand, OfACable_IsWithinTheSumOfItsParts) {
  const Outcome outcome =
      run_pfc_deadlock({"headroom", "--gbps", "40", "--cable-m", "200", "--packet-bytes", "9000",
                        "--response-us", "1", "--priorities", "3"});
  EXPECT_EQ(outcome.status, 0);
  const double parts = 2 * 9000 + 5000 * (2 * 1 + 1) + 9000 + 84;
  EXPECT_LE(std::stod(outcome.out), parts);
  EXPECT_GT(std::stod(outcome.out), parts - 9000);
  EXPECT_THAT(outcome.err, HasSubstr("data in 1 priorities"));
}

TEST(HeadroomCommand, NothingToLookAt_IsRefused) {
  EXPECT_THAT(run_pfc_deadlock({"headroom"}).err, HasSubstr("SCENARIO or --gbps is needed"));
  EXPECT_EQ(run_pfc_deadlock({"headroom"}).status, 2);
  EXPECT_EQ(run_pfc_deadlock({"headroom", "--cable-m", "3"}).status, 2);
  EXPECT_EQ(run_pfc_deadlock({"headroom", "seed-2", "--gbps", "3"}).status, 2);
}

}  // namespace
}  // namespace portcullis::tools::pfc_deadlock
