// SPDX-License-Identifier: BSD-3-Clause
//
// Messages: where they come from, and how long they take.
#include "pfc/packet/workload.hpp"

#include <gmock/gmock.h>

#include <map>

#include "pfc/packet/completion.hpp"
#include "tests/pfc/packet/fabrics.hpp"

namespace portcullis::pfc::packet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Topology clos() { return *cbd::by_name("leaf-spine:4,2,4"); }

std::string error_of(std::string_view text) {
  const auto read = read_messages(text, "w.csv", clos());
  return read ? "" : read.error().text;
}

TEST(Workload, File_IsReadLineByLine) {
  const auto messages = *read_messages(
      "from,to,bytes,start_us,priority\nhost0,host5,1500,2.5,3\n# none\n\nhost1,host0,1,0\r\n",
      "w.csv", clos());
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].bytes, 1500u);
  EXPECT_EQ(messages[0].start, 2'500'000);
  EXPECT_EQ(messages[0].priority, 3u);
  EXPECT_EQ(messages[1].priority, 0u);
}

/// As spreadsheets write it, with names that need quotes.
TEST(Workload, ByteOrderMarkAndQuotes_AreNoPartOfNames) {
  Topology fabric = clos();
  fabric.nodes[*TopologyIndex(fabric).node("host0")].name = "rack 1, \"left\"";
  const auto messages = read_messages(
      "\xef\xbb\xbf"
      "\"from\",\"to\",\"bytes\",\"start_us\"\r\n\"rack 1, \"\"left\"\"\",\"host5\", 1500 ,0\r\n  "
      "\r\n",
      "w.csv", fabric);
  ASSERT_TRUE(messages.has_value()) << messages.error().text;
  ASSERT_EQ(messages->size(), 1u);
  EXPECT_EQ(messages->front().bytes, 1500u);
}

TEST(Workload, FileWithAMistake_IsNamedWithLineAndField) {
  EXPECT_THAT(error_of("host0,host1,5,0\nhost0,nobody,5,0\n"),
              HasSubstr("w.csv:2: to: \"nobody\""));
  EXPECT_THAT(error_of("host0,host0,5,0"), HasSubstr("w.csv:1: to: \"host0\""));
  EXPECT_THAT(error_of("host0,host1,0,0"), HasSubstr("bytes: \"0\""));
  EXPECT_THAT(error_of("host0,host1,1.5,0"), HasSubstr("bytes: \"1.5\""));
  EXPECT_THAT(error_of("host0,host1,5,-1"), HasSubstr("start_us: \"-1\""));
  EXPECT_THAT(error_of("host0,host1,5,nan"), HasSubstr("start_us: \"nan\""));
  EXPECT_THAT(error_of("host0,host1,5,0,8"), HasSubstr("priority: \"8\""));
  EXPECT_THAT(error_of("host0,host1,5"), HasSubstr("w.csv:1: line"));
  EXPECT_THAT(error_of("host0,\"host1,5,0\nhost0,host1,5,0"), HasSubstr("w.csv:1: a quote"));
  EXPECT_THAT(error_of(""), HasSubstr("no message"));
}

TEST(SizeDistribution, MeansAreThoseOfTheirPoints) {
  EXPECT_NEAR(SizeDistribution::web_search().mean(), 1'711'250, 1);
  EXPECT_NEAR(SizeDistribution::storage().mean(), 40'870, 1);
}

TEST(SizeDistribution, SizesAreLinearBetweenPoints) {
  const SizeDistribution sizes = SizeDistribution::web_search();
  EXPECT_EQ(sizes.size(0), 1u);
  EXPECT_EQ(sizes.size(0.15), 10'000u);
  EXPECT_EQ(sizes.size(0.25), 25'000u);
  EXPECT_EQ(sizes.size(1), 30'000'000u);
}

TEST(SizeDistribution, File_IsThatOfTheHpccRepository) {
  const auto sizes = *SizeDistribution::parse("0 0\n1000 50\n3000 100\n", "sizes");
  EXPECT_EQ(sizes.mean(), 250 + 1000);
  EXPECT_THAT(SizeDistribution::parse("0 0\n1000 50\n500 100\n", "s").error().text,
              HasSubstr("s:3: \"500 100\""));
  EXPECT_THAT(SizeDistribution::parse("0 0\n1000 50\n", "s").error().text,
              HasSubstr("100 percent"));
}

TEST(Workload, Permutation_HasEveryHostSendAndReceiveOnce) {
  const auto messages = *permutation(clos(), 5000, {.priority = 0, .seed = 7, .until = 1});
  std::map<NodeId, int> sends;
  std::map<NodeId, int> receives;
  for (const Message& message : messages) {
    ++sends[message.from];
    ++receives[message.to];
    EXPECT_NE(message.from, message.to);
  }
  EXPECT_EQ(sends.size(), 16u);
  EXPECT_EQ(receives.size(), 16u);
}

TEST(Workload, RandomMessages_OfferTheLoad) {
  const Picoseconds until = 20'000 * kTheta;
  const auto messages = *random_messages(clos(), SizeDistribution::storage(), 0.5,
                                         {.priority = 0, .seed = 3, .until = until});
  double bytes = 0;
  for (const Message& message : messages) bytes += static_cast<double>(message.bytes);
  EXPECT_NEAR(bytes / (16 * 20'000.0 * kThreshold), 0.5, 0.02);
}

RunOptions sending(std::vector<Message> messages, double time) {
  RunOptions options = until(time);
  options.messages = std::move(messages);
  return options;
}

TEST(Messages, AloneInTheFabric_TakeTheLeastTimeToThePicosecond) {
  for (const std::uint64_t bytes : {1U, 999U, 1000U, 1001U, 12'345U, 1'000'000U}) {
    Topology topology = bottleneck(delayed(0.3));
    topology.flows.clear();
    topology.links[0].xoff = topology.links[0].xon = 1000;
    const RunReport report = run(topology, sending({{0, 2, bytes, 5, 0}}, 100));
    EXPECT_EQ(report.messages[0].took, report.messages[0].at_least) << bytes;
    EXPECT_EQ(report.messages[0].arrived, bytes);
  }
}

TEST(Messages, OfOneHost_ShareItsLinkPacketByPacket) {
  Topology topology = bottleneck();
  topology.flows.clear();
  topology.links[0].capacity = 1;
  const RunReport report = run(topology, sending({{0, 2, 40'000, 0, 0}, {0, 2, 4'000, 0, 0}}, 100));
  // The short one ends after eight packets of both and the one behind.
  EXPECT_EQ(report.messages[1].took, 9 * kPacket);
  EXPECT_EQ(report.messages[0].took, 45 * kPacket);
}

TEST(Messages, BesideAFlow_HaveHalfOfTheLink) {
  Topology topology = bottleneck();
  topology.links[0].capacity = 1;
  const RunReport report = run(topology, sending({{0, 2, 1'000'000, 0, 0}}, 100));
  EXPECT_NEAR(static_cast<double>(report.messages[0].took), 2000.0 * kPacket, 5.0 * kPacket);
}

TEST(Messages, Incast_LosesNothingAndAccountsForAll) {
  const auto messages =
      *incast(clos(), 8, 100'000, 100 * kTheta, {.priority = 3, .seed = 2, .until = 400 * kTheta});
  const RunReport report = run(clos(), sending(messages, 500));
  EXPECT_EQ(report.messages.size(), 32u);
  EXPECT_EQ(report.of_messages.overflowed, 0u);
  EXPECT_EQ(report.of_messages.sent, report.of_messages.delivered);
  for (const MessageReport& message : report.messages) EXPECT_GE(message.took, message.at_least);
}

TEST(Messages, OfNoWay_AreRefused) {
  Topology topology = clos();
  topology.routes.clear();
  const auto result = simulate(topology, sending({{0, 1, 5, 0, 0}}, 1));
  EXPECT_THAT(result.error().text, HasSubstr("no way on at"));
}

TEST(Completions, PercentilesAreToldOfEnoughMessagesOnly) {
  std::vector<Message> messages;
  for (int i = 0; i < 19; ++i) messages.push_back({0, 2, 100, i * kTheta, 0});
  Topology topology = bottleneck();
  topology.flows.clear();
  RunOptions options = sending(messages, 100);
  const std::string few = completions_text(options, run(topology, options));
  EXPECT_THAT(few, HasSubstr("p50"));
  EXPECT_THAT(few, Not(HasSubstr("p95")));
  options.messages.push_back({0, 2, 100, 30 * kTheta, 0});
  EXPECT_THAT(completions_text(options, run(topology, options)), HasSubstr("p95"));
}

TEST(Completions, MessageThatLostAPacket_NeverArrivesAndThatIsSaid) {
  Topology topology = bottleneck();
  topology.flows.clear();
  for (Link& link : topology.links) link.xoff = link.xon = kUnlimited;
  topology.links[0].buffer = 1;
  RunOptions options = sending({{0, 2, 1'000'000, 0, 0}, {0, 2, 100, 90 * kTheta, 0}}, 100);
  const RunReport report = run(topology, options);
  EXPECT_EQ(report.messages[0].took, -1);
  EXPECT_THAT(completions_text(options, report), HasSubstr("never arrives whole"));
  EXPECT_THAT(completions_text(options, report), HasSubstr("are in no percentile"));
}

}  // namespace
}  // namespace portcullis::pfc::packet
