// SPDX-License-Identifier: BSD-3-Clause
#include "tools/first_light/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace portcullis::tools::first_light {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<Options> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "first-light");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(FirstLightOptions, WithoutAny_TheModelIsAskedEverything) {
  const auto options = parse({}).value();
  EXPECT_EQ(options.act, Options::Act::Run);
  EXPECT_EQ(options.device, "model,behaviour=data-path-ns=1000");
  EXPECT_TRUE(options.run.steps.empty());
  EXPECT_EQ(options.run.fences, 10'000u);
}

TEST(FirstLightOptions, WhatStandsBeforeTheDashes_IsTheEals) {
  const auto options = parse({"-l", "2-3", "--", "0000:03:00.0", "--steps", "key,end"}).value();
  EXPECT_THAT(options.eal, ElementsAre("first-light", "-l", "2-3"));
  EXPECT_EQ(options.device, "0000:03:00.0");
  EXPECT_THAT(options.run.steps, ElementsAre("key", "end"));
}

TEST(FirstLightOptions, Quick_IsATenthOfWhatIsNotGiven) {
  const auto options = parse({"--quick", "--revokes", "3"}).value();
  EXPECT_EQ(options.run.fences, 1'000u);
  EXPECT_EQ(options.run.revokes, 3u);
}

TEST(FirstLightOptions, ShowAndDiff_TakeBundles) {
  const auto shown = parse({"show", "a.tar.zst", "--html", "a.html"}).value();
  EXPECT_EQ(shown.act, Options::Act::Show);
  EXPECT_THAT(shown.bundles, ElementsAre("a.tar.zst"));
  EXPECT_EQ(shown.html, "a.html");
  const auto compared = parse({"diff", "a.tar.zst", "b.tar.zst"}).value();
  EXPECT_EQ(compared.act, Options::Act::Diff);
  EXPECT_THAT(compared.bundles, ElementsAre("a.tar.zst", "b.tar.zst"));
}

TEST(FirstLightOptions, Peer_HasAPortAndAnAddressIsOurs) {
  const auto options = parse({"--peer", "db2.example", "--address", "192.0.2.1"}).value();
  EXPECT_EQ(options.run.peer.server, "db2.example:7471");
  EXPECT_EQ(options.run.peer.address, pmd::Gid::from_ipv4(192, 0, 2, 1));
  EXPECT_FALSE(options.run.peer.keeps_name);
  EXPECT_EQ(parse({"--peer", "[fe80::1%eth0]"})->run.peer.server, "[fe80::1%eth0]:7471");
  EXPECT_EQ(parse({"--peer", "[fe80::1]:99"})->run.peer.server, "[fe80::1]:99");
  EXPECT_TRUE(parse({"--peer", "h:1", "--keep-identities"})->run.peer.keeps_name);
}

TEST(FirstLightOptions, StepPeerWithoutAPeer_IsRefused) {
  EXPECT_THAT(parse({"--steps", "bring-up,peer"}).error().text, HasSubstr("--peer HOST"));
}

class Mistake : public ::testing::TestWithParam<std::vector<const char*>> {};

TEST_P(Mistake, IsOneLineThatNamesIt) {
  const auto refused = parse(GetParam());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, Not(HasSubstr("\n")));
  EXPECT_THAT(refused.error().text, HasSubstr(GetParam().back()));
}

INSTANTIATE_TEST_SUITE_P(
    Words, Mistake,
    ::testing::Values(std::vector{"--steps", "keys"}, std::vector{"--fences", "0"},
                      std::vector{"--fences", "many"}, std::vector{"model", "another"},
                      std::vector{"--peer", "h:port"}, std::vector{"--peer", "fe80::1"},
                      std::vector{"--peer", "[fe80::1"}, std::vector{"--peer", "a host"},
                      std::vector{"--address", "there"}, std::vector{"--address", "127.0.0.1"},
                      std::vector{"--address", "::"}, std::vector{"--address", "::1"},
                      std::vector{"--address", "ff02::1"}, std::vector{"--address", "0.0.0.0"},
                      std::vector{"--address", "255.255.255.255"},
                      std::vector{"--step-deadline-s", "3601"}, std::vector{"--bundles"}));

}  // namespace
}  // namespace portcullis::tools::first_light
