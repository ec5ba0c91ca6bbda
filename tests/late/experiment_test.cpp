// SPDX-License-Identifier: BSD-3-Clause
//
// Runs of the experiment: what a WRITE that was held back meets, by what of the rules is kept, and
// that a run without what it is about is told from one with it.
#include "late/experiment.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace portcullis::late {
namespace {

using Kind = proof::adversary::Violation::Kind;

/// Loads that end, long after what they hold back has come: a run with GRACE takes no longer.
Setup usual() {
  Setup setup;
  setup.ring.until_us = 50'000;
  return setup;
}

double bound_us() { return residence_bound_us(make_ring(usual().ring).value()).value(); }
std::uint64_t bound_ms() { return static_cast<std::uint64_t>(std::ceil(bound_us() / 1000)); }

Seen seen_of(const Setup& setup, const Trial& trial) {
  auto seen = run(setup, trial);
  EXPECT_TRUE(seen) << seen.error().text;
  return std::move(seen).value();
}

Trial bare(std::uint64_t rest_ms) {
  return {.grace_ms = rest_ms, .has_fresh_key_byte = false, .has_fresh_psn = false};
}

void expect_held_back(const Seen& seen) {
  EXPECT_TRUE(seen.is_held_back());
  EXPECT_GT(seen.late.paused_ns, 0U);
  EXPECT_GT(seen.lateness_us(), 10 * seen.first_us);
  EXPECT_LE(seen.lateness_us(), bound_us());
  EXPECT_EQ(seen.client_status, prm::WcStatus::RETRY_EXC_ERR);
  EXPECT_TRUE(seen.is_other_undisturbed);
}

void expect_untouched(const Seen& seen) {
  EXPECT_EQ(seen.changed_before, 0U);
  EXPECT_EQ(seen.changed_next, 0U);
  EXPECT_FALSE(seen.violation);
}

TEST(LateWrite, WithEveryRule_FindsItsQpInErrorAndChangesNothing) {
  const Seen seen = seen_of(usual(), {.residence_ms = bound_ms()});
  expect_held_back(seen);
  expect_untouched(seen);
  EXPECT_EQ(seen.met, Met::Error);
  EXPECT_GE(seen.next_us, 5e6);  // GRACE
  EXPECT_EQ(seen.own, OwnWrite::Written);
}

TEST(LateWrite, WithNoRuleAndAShortRest_ChangesTheNextTenantsBytes) {
  const Seen seen = seen_of(usual(), bare(1));
  expect_held_back(seen);
  ASSERT_TRUE(seen.same_number);
  ASSERT_TRUE(seen.same_key);
  EXPECT_LT(seen.next_us, seen.arrived_us);
  EXPECT_EQ(seen.met, Met::LiveKey);
  EXPECT_EQ(seen.changed_next, 64U);
  ASSERT_TRUE(seen.violation);
  EXPECT_EQ(seen.violation->kind, Kind::ForeignWrite);
}

/// The stale packet took its place in the sequence: what it costs beside the bytes that it changed.
TEST(LateWrite, ThatTookTheNextTenantsPsn_MakesItsOwnWriteADuplicate) {
  EXPECT_EQ(seen_of(usual(), bare(1)).own, OwnWrite::Unwritten);
}

TEST(LateWrite, WithARestOfTheBoundAlone_ChangesNothing) {
  const Seen seen = seen_of(usual(), bare(bound_ms()));
  expect_held_back(seen);
  expect_untouched(seen);
  ASSERT_TRUE(seen.same_number);
  ASSERT_TRUE(seen.same_key);
  EXPECT_EQ(seen.met, Met::Error);  // GRACE, which makes it rest here
  EXPECT_GE(seen.next_us, bound_us());
  EXPECT_EQ(seen.own, OwnWrite::Written);
}

/// Both ways of the fabric, and the time of the client's one try.
TEST(LateWrite, WithTheBoundAsResidence_RestsForTwiceIt) {
  Trial trial = bare(0);
  trial.residence_ms = bound_ms();
  EXPECT_EQ(trial.rest_ms(), 2 * bound_ms() + 1);
  const Seen seen = seen_of(usual(), trial);
  expect_untouched(seen);
  EXPECT_EQ(seen.met, Met::Reset);
  EXPECT_GE(seen.next_us, 2'000.0 * static_cast<double>(bound_ms()));
}

TEST(LateWrite, WithAFreshKeyByteAlone_FindsADeadKeyAndChangesNothing) {
  Trial trial = bare(1);
  trial.has_fresh_key_byte = true;
  const Seen seen = seen_of(usual(), trial);
  expect_held_back(seen);
  expect_untouched(seen);
  ASSERT_TRUE(seen.same_number);
  EXPECT_FALSE(seen.same_key);
  EXPECT_EQ(seen.met, Met::DeadKey);
  EXPECT_EQ(seen.own, OwnWrite::Failed);  // the NAK was for its connection
}

TEST(LateWrite, WithAFreshPsnAlone_IsTakenForAnothersAndChangesNothing) {
  Trial trial = bare(1);
  trial.has_fresh_psn = true;
  const Seen seen = seen_of(usual(), trial);
  expect_held_back(seen);
  expect_untouched(seen);
  ASSERT_TRUE(seen.same_number);
  ASSERT_TRUE(seen.same_key);
  EXPECT_EQ(seen.met, Met::WrongPsn);
}

TEST(LateWrite, WithoutLoad_IsNotLateAndNothingWasHeldBack) {
  auto setup = usual();
  setup.ring.has_loads = false;
  const Seen seen = seen_of(setup, bare(1));
  EXPECT_FALSE(seen.is_held_back());
  EXPECT_EQ(seen.met, Met::LiveLease);
  EXPECT_LT(seen.arrived_us, 0);
  EXPECT_EQ(seen.late.paused_ns, 0U);
}

TEST(LateWrite, WhereSwitchesDoNotPause_IsNotHeldBackByAPause) {
  auto setup = usual();
  setup.ring.pauses = false;
  const Seen seen = seen_of(setup, bare(1));
  EXPECT_FALSE(seen.is_held_back());
  EXPECT_EQ(seen.late.paused_ns, 0U);
}

TEST(LateWrite, OfTheSameArguments_IsTheSameRun) {
  const Seen one = seen_of(usual(), bare(1));
  const Seen other = seen_of(usual(), bare(1));
  EXPECT_EQ(one.fenced_ns, other.fenced_ns);
  EXPECT_EQ(one.late.ended_ns, other.late.ended_ns);
  EXPECT_EQ(one.late.psn, other.late.psn);
  EXPECT_EQ(one.fabric.events, other.fabric.events);
}

}  // namespace
}  // namespace portcullis::late
