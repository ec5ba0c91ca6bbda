// SPDX-License-Identifier: BSD-3-Clause
//
// What one WRITE meets, and that whatever stopped it is taken away again, come what may.
#include "steering/self_test.hpp"

#include <gtest/gtest.h>

#include "pmd/fence_commands.hpp"
#include "prm/flow_commands.hpp"
#include "prm/opcodes.hpp"
#include "tests/steering/noted_world.hpp"

namespace portcullis::testing {
namespace {

using prm::Opcode;

class Trials : public SteeringWorld {
 protected:
  void SetUp() override {
    start(in_path());
    connect();
  }
  Result<steering::Trial> try_with(const Result<void>& putting) {
    const steering::Stop stop{[putting] { return putting; },
                              [this]() -> Result<void> {
                                ++taken;
                                return {};
                              }};
    return steering::try_write(*pair, stop, 1, {.loopback = path});
  }
  /// The QP that WRITEs go to is in error: it answers nothing.
  Result<void> break_responder() {
    return pmd::error_qp_command(pair->target(0).qpn).run(*hca->context().commands);
  }
  int taken = 0;
};

TEST_F(Trials, StopThatStopsNothing_IsNoSilence) {
  EXPECT_FALSE(try_with({})->silenced);
  EXPECT_EQ(taken, 1);
}

TEST_F(Trials, StopThatCouldNotBePutThere_IsTakenAwayAndTold) {
  EXPECT_EQ(try_with(fail(Errc::Timeout, "half way through")).error().text, "half way through");
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(pair->word(), 0U);
}

TEST_F(Trials, StopThatCannotBeTakenAway_IsTold) {
  const steering::Stop stop{[]() -> Result<void> { return {}; },
                            []() -> Result<void> { return fail(Errc::Timeout, "it stays"); }};
  EXPECT_EQ(steering::try_write(*pair, stop, 1, {.loopback = path}).error().text, "it stays");
}

TEST_F(Trials, WriteThatEndsInAnError_IsNeitherSilenceNorSuccess) {
  const steering::Stop stop{[this] { return break_responder(); },
                            []() -> Result<void> { return {}; }};
  EXPECT_EQ(steering::try_write(*pair, stop, 1, {.loopback = path, .quiet_ms = 2'000}).error().text,
            "a WRITE over loopback ended with IBV_WC_RETRY_EXC_ERR");
}

/// The word changed, and nobody ever heard so: that is no recovery.
TEST_F(Trials, WriteWhoseAnswerIsLost_HasNotRecovered) {
  constexpr std::uint8_t kAcknowledge = 0x11;  // IB_OPCODE_RC_ACKNOWLEDGE of ib_pack.h
  auto group = steering::DropGroup::create(hca->context(), {}).value();
  const auto target = pair->target(0);
  const steering::Stop stop{[&] { return group.set(target, prm::FlowAction::DROP, deadline_ns()); },
                            [&] {
                              model->inject({.bth_opcode = kAcknowledge, .repeat = true});
                              return group.remove(0, deadline_ns());
                            }};
  const auto trial = steering::try_write(*pair, stop, 7, {.loopback = path}).value();
  EXPECT_TRUE(trial.silenced);
  EXPECT_EQ(pair->word(), 7U);
  EXPECT_FALSE(trial.recovered);
}

TEST(Verdicts, EachInItsOwnWords) {
  EXPECT_EQ(steering::describe({}), "unverified: a WRITE over loopback passed the entry");
  EXPECT_EQ(steering::describe({.stops_new = true}),
            "unverified: nothing passed once the entry was gone either");
  EXPECT_EQ(steering::describe({.stops_new = true, .recovers = true}),
            "verified: stops new connections, not running ones");
  EXPECT_EQ(steering::describe({.stops_new = true, .stops_running = true, .recovers = true}),
            "verified: stops new and running connections");
}

// ---- what a shape is put to ----

class SelfTests : public NotedSteering {
 protected:
  void SetUp() override { start_noted(in_path()); }
  /// Of a group of four entries at index 3.
  steering::SelfTestVerdict verdict(std::uint64_t quiet_ms = 20) {
    auto group = steering::DropGroup::create(*context, {.entries = 4}).value();
    return steering::self_test(*context, group,
                               {.loopback = path, .index = 3, .quiet_ms = quiet_ms})
        .value();
  }
  std::size_t entries_sent() const { return channel->count(Opcode::SET_FLOW_TABLE_ENTRY); }
};

TEST_F(SelfTests, EntryThatStops_IsTriedOnANewConnectionAndOnARunningOne) {
  const auto found = verdict();
  EXPECT_TRUE(found.stops_new && found.stops_running && found.recovers);
  EXPECT_EQ(entries_sent(), 2U);
  EXPECT_EQ(channel->told<prm::set_fte_in>(Opcode::SET_FLOW_TABLE_ENTRY).get<"flow_index">(), 3U);
}

TEST_F(SelfTests, EntryThatStopsNothing_IsNotTriedOnARunningConnection) {
  start_noted({});
  EXPECT_FALSE(verdict().stops_new);
  EXPECT_EQ(entries_sent(), 1U);
}

TEST_F(SelfTests, ConnectionThatNeverRecovers_IsUnverified) {
  kill_qp_at(Opcode::DELETE_FLOW_TABLE_ENTRY, 1);
  const auto found = verdict();
  EXPECT_TRUE(found.stops_new);
  EXPECT_FALSE(found.recovers);
  EXPECT_EQ(entries_sent(), 1U);
}

TEST_F(SelfTests, RunningConnectionThatNeverRecovers_IsUnverified) {
  kill_qp_at(Opcode::DELETE_FLOW_TABLE_ENTRY, 2);
  const auto found = verdict();
  EXPECT_TRUE(found.stops_new && found.stops_running);
  EXPECT_FALSE(found.recovers);
}

TEST_F(SelfTests, Silence_LastsAsLongAsWasAsked) {
  const std::uint64_t before_ns = now_ns();
  EXPECT_TRUE(verdict(300).verified());
  EXPECT_GE(now_ns() - before_ns, 600 * kMs);
}

}  // namespace
}  // namespace portcullis::testing
