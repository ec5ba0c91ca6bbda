// SPDX-License-Identifier: BSD-3-Clause
//
// The analyses through the front door: advice, verdicts and bounds are those of the engines, with
// what was not looked at and what has no bound told as such.
#include <portcullis/buffer_cycles.hpp>
#include <portcullis/fabric_runs.hpp>
#include <portcullis/failover.hpp>
#include <portcullis/fence_plan.hpp>
#include <portcullis/port.hpp>
#include <portcullis/protocols.hpp>
#include <portcullis/residence.hpp>
#include <portcullis/trace.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace portcullis {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::Truly;

constexpr std::string_view kTwoRequests = R"({
  "regions": [{"rkey": 1, "environment": "quiet", "consumer": "notified", "fenced": true}],
  "work_requests": [
    {"wr_id": 1, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 1, "remote_addr": 0, "length": 8,
     "qp_num": 1, "status": "IBV_WC_RETRY_EXC_ERR"},
    {"wr_id": 2, "opcode": "IBV_WR_ATOMIC_FETCH_AND_ADD", "rkey": 1, "remote_addr": 64,
     "compare_add": 1, "qp_num": 1, "status": "IBV_WC_WR_FLUSH_ERR"}]})";

Fabric made(std::string_view name) { return *Fabric::make(name); }

constexpr std::string_view kOwnProtocol = R"({
  "protocol": "own", "shared_cells": 1,
  "work_requests": [{"name": "add", "opcode": "FADD", "operand": 1},
                    {"name": "again", "opcode": "FADD", "operand": 1, "qp": 1}],
  "steps": [{"post": "add"}, {"await": "add", "then": "end", "on_timeout": "repost"},
            {"label": "repost", "post": "again"}, {"await": "again", "on_timeout": "end"},
            {"label": "end", "end": true}]})";

TEST(ExploreText, ProtocolOfOnesOwn_HasTheVerdictOfItsLikeAmongTheBuiltIn) {
  const auto own = explore_text(kOwnProtocol, "own.json");
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->ending, ExploreEnding::Refuted);
  EXPECT_EQ(own->violation, "at-most-once");
  EXPECT_EQ(own->depth, explore("blind-fadd")->depth);
  EXPECT_THAT(own->counterexample, HasSubstr("post again"));
}

TEST(ExploreText, TextThatIsWrong_IsRefusedWithFileAndLine) {
  EXPECT_THAT(explore_text("{}", "own.json").error().text, HasSubstr("own.json:1: no"));
  EXPECT_THAT(explore_text(kOwnProtocol, "own.json", "storm").error().text,
              HasSubstr("accepted are quiet"));
}

TEST(Classify, WriteToQuietMemory_MayBeRepostedAndAnAddMayNot) {
  const auto advice = classify(*Dump::parse(kTwoRequests, "dump"));
  ASSERT_TRUE(advice) << advice.error().text;
  ASSERT_THAT(*advice, SizeIs(2));
  EXPECT_EQ((*advice)[0].advice, Advice::Repost);
  EXPECT_THAT((*advice)[0].conditions, Not(IsEmpty()));
  EXPECT_EQ((*advice)[1].advice, Advice::Never);
  EXPECT_THAT((*advice)[1].counterexample, Not(IsEmpty()));
}

TEST(Classify, Stopped_IsNoAdvice) {
  const std::atomic<bool> stop = true;
  const auto advice = classify(*Dump::parse(kTwoRequests, "dump"), &stop);
  ASSERT_TRUE(advice) << advice.error().text;
  EXPECT_THAT(*advice, Each(Field(&RequestAdvice::advice, Advice::NoAdvice)));
}

TEST(Dump, BadField_IsNamedWithFileAndLine) {
  const auto dump = Dump::parse("{\"regions\": [],\n\"work_requests\": 7}", "my.json");
  ASSERT_FALSE(dump);
  EXPECT_EQ(dump.error().code, Errc::Malformed);
  EXPECT_THAT(dump.error().text, HasSubstr("my.json:2"));
}

TEST(Explore, BlindAdd_IsRefutedWithARun) {
  const auto verdict = explore("blind-fadd");
  ASSERT_TRUE(verdict) << verdict.error().text;
  EXPECT_EQ(verdict->ending, ExploreEnding::Refuted);
  EXPECT_THAT(verdict->violation, Not(IsEmpty()));
  EXPECT_THAT(verdict->counterexample, Not(IsEmpty()));
}

TEST(Explore, SafeVerdict_NamesTheBoundsItHoldsIn) {
  const auto verdict = explore("blind-fadd", {.late = 0, .timeouts = 0});
  ASSERT_TRUE(verdict) << verdict.error().text;
  EXPECT_EQ(verdict->ending, ExploreEnding::Safe);
  EXPECT_EQ(verdict->bounds.late, 0U);
  EXPECT_EQ(verdict->bounds.timeouts, 0U);
}

TEST(Explore, WhatNoRunComesTo_IsListedWithTheVerdict) {
  const auto verdict = explore("blind-fadd", {.late = 0, .timeouts = 0});
  ASSERT_TRUE(verdict);
  EXPECT_THAT(verdict->unreached, ::testing::Contains("steps[2], post FADD again"));
  EXPECT_THAT(explore("blind-fadd")->unreached, ::testing::IsEmpty());  // refuted
}

TEST(Explore, OutOfMemory_IsNoVerdict) {
  const auto verdict = explore("lease", {.clients = 3}, {.memory_bytes = 1 << 16});
  ASSERT_TRUE(verdict) << verdict.error().text;
  EXPECT_EQ(verdict->ending, ExploreEnding::OutOfMemory);
}

TEST(Explore, NoOperation_IsNotTakenForOne) {
  EXPECT_EQ(explore("blind-fadd", {.operations = 0}).error().text,
            "operations 0; 1 to 4 are accepted");
  EXPECT_EQ(explore("blind-fadd", {.clients = 0}).error().text, "clients 0; 1 to 8 are accepted");
}

TEST(Explore, SurroundingsThatDoNotExist_AreNamed) {
  EXPECT_EQ(explore("blind-fadd", {.surroundings = static_cast<Surroundings>(77)}).error().text,
            "surroundings 77; Quiet, Reuse, OtherWriters and Aba (0 to 3) are accepted");
}

TEST(Explore, UnknownProtocol_IsNamed) {
  const auto verdict = explore("blind");
  ASSERT_FALSE(verdict);
  EXPECT_THAT(verdict.error().text, HasSubstr("blind-fadd"));
}

TEST(Protocols, EveryOneHasAnIdea) {
  EXPECT_THAT(protocols(), Not(IsEmpty()));
  EXPECT_THAT(protocols(), Each(Field(&Protocol::idea, Not(IsEmpty()))));
}

TEST(Fabric, OwnText_IsReadBackTheSame) {
  const Fabric ring = made("ring:3,2");
  const auto again = Fabric::parse(ring.json(), "ring.json");
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->json(), ring.json());
}

TEST(Fabric, BadSetting_IsNamedAndChangesNothing) {
  const Fabric ring = made("ring:3,2");
  const auto changed = ring.with(std::array<std::string, 1>{"xon.nowhere=1"});
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().text, HasSubstr("nowhere"));
}

TEST(Fabric, UnknownName_IsRefusedWithThoseThatThereAre) {
  EXPECT_FALSE(Fabric::make("ring:2"));
  EXPECT_EQ(Fabric::make("torus").error().text,
            "no scenario \"torus\"; seed-1, seed-2, seed-3, seed-4, ring-3, "
            "leaf-spine:LEAVES,SPINES,HOSTS, fat-tree:PORTS, ring:SWITCHES,SPAN, "
            "jellyfish:SWITCHES,PORTS,SEED and dragonfly:GROUPS,ROUTERS,GLOBAL are accepted");
}

TEST(BufferCycles, Ring_HasOneCircleAndSaysWhoMakesIt) {
  const auto found = find_buffer_cycles(made("ring:3,2"));
  ASSERT_TRUE(found) << found.error().text;
  ASSERT_THAT(*found, SizeIs(1));
  ASSERT_THAT(found->front().knots, SizeIs(1));
  const Knot& knot = found->front().knots.front();
  EXPECT_THAT(knot.shortest, ElementsAre("sw0-sw1", "sw1-sw2", "sw2-sw0"));
  EXPECT_THAT(knot.users, SizeIs(3));
  EXPECT_FALSE(knot.has_more_cycles);
  ASSERT_TRUE(knot.leaves);
  EXPECT_THAT(knot.leaves->changes, SizeIs(1));
}

TEST(BufferCycles, Clos_HasNone) {
  const auto found = find_buffer_cycles(made("leaf-spine:4,2,2"));
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_THAT(found->front().knots, IsEmpty());
  EXPECT_GT(found->front().destinations, 0U);
}

TEST(BufferCycles, PriorityThatDoesNotExist_IsNotCalledFreeOfCycles) {
  const auto found = find_buffer_cycles(made("leaf-spine:4,2,2"), {.priorities = {8}});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text, HasSubstr("priority 8; 0 to 7"));
}

TEST(BufferCycles, PriorityWithoutTraffic_IsRefusedAndNotCalledFree) {
  EXPECT_FALSE(find_buffer_cycles(made("ring:3,2"), {.priorities = {5}}));
}

TEST(Residence, RingThatCanLock_HasNoBoundAndTheReason) {
  const auto bound = bound_residence(made("ring:3,2"));
  ASSERT_TRUE(bound) << bound.error().text;
  EXPECT_FALSE(bound->most_us);
  EXPECT_THAT(bound->reason, Not(IsEmpty()));
  EXPECT_THAT(bound->circle, SizeIs(3));
  EXPECT_FALSE(bound->routes);
}

TEST(Residence, Clos_HasABoundAndNoReason) {
  const auto bound = bound_residence(made("leaf-spine:4,2,2"));
  ASSERT_TRUE(bound) << bound.error().text;
  ASSERT_TRUE(bound->most_us);
  EXPECT_THAT(bound->reason, IsEmpty());
  ASSERT_TRUE(bound->routes);
  EXPECT_EQ(bound->routes->us, bound->most_us);
}

TEST(Residence, PacketOfNoBytes_IsNamed) {
  EXPECT_FALSE(bound_residence(made("ring:3,2"), {.packet_bytes = 0}));
}

TEST(Residence, WatchdogThatNeverComes_IsNamed) {
  EXPECT_EQ(bound_residence(made("ring:3,2"), {.watchdog_ms = 1e308}).error().text,
            "watchdog_ms 1e+308; 0 to 1e+09 is accepted");
}

TEST(Residence, Stopped_IsNoBound) {
  const std::atomic<bool> stop = true;
  const auto bound = bound_residence(made("ring:3,2"), {.stop = &stop});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code, Errc::Timeout);
}

TEST(Runs, RingLocks_InBothKinds) {
  const Fabric ring = *made("ring:3,2").with(std::array<std::string, 1>{"d=0.5"});
  const auto fluid = run_fluid(ring);
  const auto packets = run_packets(ring);
  ASSERT_TRUE(fluid) << fluid.error().text;
  ASSERT_TRUE(packets) << packets.error().text;
  ASSERT_TRUE(fluid->deadlock);
  ASSERT_TRUE(packets->deadlock);
  EXPECT_THAT(fluid->deadlock->cycle, SizeIs(3));
  EXPECT_THAT(packets->deadlock->cycle, SizeIs(3));
  EXPECT_THAT(fluid->flows, SizeIs(3));
  EXPECT_GT(fluid->flows.front().inside_bytes, 0);
  EXPECT_FALSE(fluid->flows.front().packets_lost);
  EXPECT_TRUE(packets->flows.front().packets_lost);
}

TEST(Runs, TimeThatIsNone_IsNamed) {
  EXPECT_FALSE(run_packets(made("ring:3,2"), {.until_us = -1}));
  EXPECT_FALSE(run_fluid(made("ring:3,2"), {.until_us = -1}));
  EXPECT_EQ(run_fluid(made("ring:3,2"), {.until_us = 1e308}).error().text,
            "until_us 1e+308; above 0 and at most 8.64e+10 is accepted");
}

TEST(Runs, Stopped_SaysSo) {
  const std::atomic<bool> stop = true;
  const auto run = run_fluid(made("ring:3,2"), {.stop = &stop});
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_TRUE(run->is_stopped);
}

TEST(Runs, StoppedBeforeItBegins_SaysSoAndHasNoEvent) {
  const std::atomic<bool> stop = true;
  const auto run = run_packets(made("ring:3,2"), {.stop = &stop});
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_TRUE(run->is_stopped);
  EXPECT_EQ(run->events, 0U);
}

TEST(BufferCycles, TrafficThatDoesNotExist_IsNamed) {
  const auto found = find_buffer_cycles(made("ring:3,2"), {.traffic = static_cast<Traffic>(9)});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().text, "traffic 9; All, Flows and Routes (0 to 2) are accepted");
}

TEST(Explore, TooManyOperations_AreNamedAsTheOptionIs) {
  EXPECT_THAT(explore("blind-fadd", {.operations = 5}).error().text,
              HasSubstr("operations is 5, accepted are 1 to 4"));
}

TEST(Fabric, Generated_HasTheNameThatItWasAskedForBy) {
  const Fabric fabric = made("ring:4,2");
  EXPECT_EQ(fabric.name(), "ring:4,2");
  EXPECT_EQ(Fabric::parse(fabric.json(), "own")->name(), "ring:4,2");
}

TEST(Recording, Empty_IsRefusedAtItsFirstLine) {
  EXPECT_THAT(Recording::parse("", "t").error().text, StartsWith("t:1: empty; "));
}

// ---- what was moved from ----

TEST(MovedFrom, Fabric_IsTheSameStill) {
  Fabric fabric = made("ring-3");
  const Fabric other = std::move(fabric);
  EXPECT_EQ(fabric.name(), other.name());  // NOLINT(bugprone-use-after-move): that is the promise
}

TEST(MovedFrom, Dump_IsTheSameStill) {
  Dump dump = *Dump::parse(R"({"regions": [], "work_requests": []})", "d");
  const Dump other = std::move(dump);
  EXPECT_EQ(dump.size(), other.size());  // NOLINT(bugprone-use-after-move): that is the promise
}

TEST(MovedFrom, Recording_IsTheSameStill) {
  Recording recording = *Recording::parse("portcullis-trace 1\nsource here\n", "t");
  const Recording other = std::move(recording);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is the promise
  EXPECT_EQ(recording.source(), other.source());
}

// ---- errors ----

template <class T>
std::string text_of(const Result<T>& result) {
  return result ? "accepted" : result.error().text;
}

constexpr std::string_view kEvil{"a\n\0\x1b[31mb", 9};

/// What refuses a value that would be more than a line.
class Refusal : public ::testing::TestWithParam<std::string (*)(std::string_view)> {};

TEST_P(Refusal, IsOneLine) {
  const std::string text = GetParam()(kEvil);
  EXPECT_NE(text, "accepted");
  EXPECT_THAT(text, Each(Truly([](char c) { return c >= ' ' && c != 0x7f; })));
}

std::string quoted(std::string_view value) { return std::string(value); }

constexpr std::string (*kRefusing[])(std::string_view) = {
    [](std::string_view v) { return text_of(DeviceSpec::parse(v)); },
    [](std::string_view v) { return text_of(DeviceSpec::parse("model," + quoted(v))); },
    [](std::string_view v) {
      return text_of(Port::open(*DeviceSpec::parse("shm:/nowhere/" + quoted(v))));
    },
    [](std::string_view v) { return text_of(Gid::parse(v)); },
    [](std::string_view v) { return text_of(Mac::parse(v)); },
    [](std::string_view v) { return text_of(FencePlan::parse(v)); },
    [](std::string_view v) { return text_of(Fabric::make(v)); },
    [](std::string_view v) { return text_of(Fabric::parse("{", v)); },
    [](std::string_view v) {
      return text_of(made("ring-3").with(std::vector<std::string>{quoted(v) + "=1"}));
    },
    [](std::string_view v) { return text_of(Dump::parse("{", v)); },
    [](std::string_view v) { return text_of(Recording::parse(v, v)); },
    [](std::string_view v) { return text_of(explore(v)); },
    [](std::string_view v) { return text_of(explore_text("{", v)); },
};

INSTANTIATE_TEST_SUITE_P(OfWhateverTakesAText, Refusal, ::testing::ValuesIn(kRefusing));

}  // namespace
}  // namespace portcullis
