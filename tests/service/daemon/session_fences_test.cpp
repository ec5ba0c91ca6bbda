// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions of a node: when it grants at all, and what has to end before a fence is answered.
#include <gmock/gmock.h>

#include "service/daemon/sessions.hpp"
#include "tests/service/daemon/session_world.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::Op;

constexpr std::uint64_t kTenant = 7;

class SessionFencesTest : public SessionWorld {
 protected:
  void SetUp() override {
    is_node = true;
    start({}, {});
    greet(1);
    lives();
  }
  void lives() { sessions->hear(FleetLives{.until_ns = now_ns + kNsPerSecond}); }
  void fence(std::uint64_t epoch, std::uint64_t tenant = kTenant) {
    sessions->hear(FenceTenant{.tenant = tenant, .epoch = epoch});
  }
  /// What the device is asked for a lease is refused by, or nothing.
  wire::Refusal refusal_of_a_grant() {
    say(1, Op::LeaseAlloc, wanted());
    return refusal(1);
  }
};

TEST_F(SessionFencesTest, BeforeTheSession_NothingIsGranted) {
  start({}, {});
  greet(1);

  EXPECT_EQ(refusal_of_a_grant().code, wire::Code::Unavailable);
  EXPECT_THAT(refusal_text(1), HasSubstr("no session with etcd"));
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionFencesTest, WithASession_ALeaseIsGranted) {
  (void)holds(1, 5);

  EXPECT_THAT(sessions->tally(), SizeIs(1));
}

TEST_F(SessionFencesTest, WhenTheSessionsTimeIsOver_NothingIsGranted) {
  now_ns += kNsPerSecond;

  EXPECT_EQ(refusal_of_a_grant().code, wire::Code::Unavailable);
}

TEST_F(SessionFencesTest, OnceItIsLost_NothingIsGranted) {
  sessions->hear(FleetIsOut{});

  EXPECT_EQ(refusal_of_a_grant().code, wire::Code::Unavailable);
}

TEST_F(SessionFencesTest, OnceItIsLost_ALeaseIsStillRevoked) {
  const auto lease = holds(1, 5);
  sessions->hear(FleetIsOut{});
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});

  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(lease));
}

TEST_F(SessionFencesTest, ServerOfNoFleet_GrantsWithoutASession) {
  is_node = false;
  start({}, {});
  greet(1);
  say(1, Op::LeaseAlloc, wanted());

  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(SessionFencesTest, FenceOfATenantWithNothing_IsAnsweredAtOnce) {
  fence(30);

  ASSERT_THAT(fenced, SizeIs(1));
  EXPECT_EQ(fenced[0].tenant, kTenant);
  EXPECT_EQ(fenced[0].epoch, 30U);
  EXPECT_EQ(fenced[0].torn_down, 0U);
  EXPECT_EQ(fenced[0].fenced, 0U);
}

TEST_F(SessionFencesTest, Fence_RevokesAllOfTheTenantAndIsAnsweredBehindTheLast) {
  const auto first = holds(1, 5);
  const auto second = holds(1, 6);
  fence(30);

  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(first, second));
  end(first);
  EXPECT_THAT(fenced, IsEmpty());
  end(second);
  ASSERT_THAT(fenced, SizeIs(1));
  EXPECT_EQ(fenced[0].torn_down, 2U);
}

TEST_F(SessionFencesTest, FenceOfATenant_LeavesOthers) {
  (void)holds(1, 5);
  fence(30, kTenant + 1);

  EXPECT_THAT(asked, IsEmpty());
  EXPECT_THAT(fenced, SizeIs(1));
}

TEST_F(SessionFencesTest, LeaseThatIsBeingRevoked_IsWaitedForAndNotAskedForTwice) {
  const auto lease = holds(1, 5);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  asked.clear();
  fence(30);

  EXPECT_THAT(asked, IsEmpty());
  EXPECT_THAT(fenced, IsEmpty());
  end(lease);
  EXPECT_THAT(fenced, SizeIs(1));
}

TEST_F(SessionFencesTest, LeaseThatEndsFenced_IsNoTornDown) {
  const auto lease = holds(1, 5);
  fence(30);
  end(lease, kTenant, wire::Outcome::Fenced);

  ASSERT_THAT(fenced, SizeIs(1));
  EXPECT_EQ(fenced[0].torn_down, 0U);
  EXPECT_EQ(fenced[0].fenced, 1U);
}

TEST_F(SessionFencesTest, LeaseThatEndedFencedLongBefore_IsToldWithTheNextFence) {
  end(holds(1, 5), kTenant, wire::Outcome::Fenced);
  fence(30);

  ASSERT_THAT(fenced, SizeIs(1));
  EXPECT_EQ(fenced[0].fenced, 1U);
}

TEST_F(SessionFencesTest, WhileItIsFenced_TheTenantIsRefusedAndAnotherIsNot) {
  (void)holds(1, 5);
  greet(2, kTenant + 1);
  fence(30);
  asked.clear();

  EXPECT_EQ(refusal_of_a_grant().code, wire::Code::Busy);
  EXPECT_THAT(asked, IsEmpty());
  say(2, Op::LeaseAlloc, wanted());
  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(SessionFencesTest, OnceItIsFenced_TheTenantIsGrantedAgain) {
  end(holds(1, 5));
  fence(30);
  (void)holds(1, 6);
  fence(30);  // heard again, as after a lost watch

  EXPECT_THAT(asked, IsEmpty());
  EXPECT_THAT(fenced, SizeIs(1));
}

TEST_F(SessionFencesTest, GrantUnderWay_EndsUntoldAndIsWaitedFor) {
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  fence(30);
  EXPECT_THAT(fenced, IsEmpty());
  hear_granted(alloc, 5);
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(name(5)));
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});

  EXPECT_EQ(refusal(1).code, wire::Code::Busy);
  EXPECT_THAT(fenced, IsEmpty());
  end(name(5));
  ASSERT_THAT(fenced, SizeIs(1));
  EXPECT_EQ(fenced[0].torn_down, 1U);
  EXPECT_THAT(sent[1], SizeIs(1));  // no notice of a lease that nobody was told of
}

TEST_F(SessionFencesTest, GrantUnderWayThatTheDeviceRefuses_IsWaitedFor) {
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  fence(30);
  sessions->hear(NotGranted{.ticket = alloc.ticket, .why = {.code = Errc::Busy, .text = "x"}});

  EXPECT_THAT(fenced, SizeIs(1));
}

TEST_F(SessionFencesTest, GrantThatIsBeingRecorded_EndsUntold) {
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  hear_granted(alloc, 5);
  fence(30);
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(name(5)));
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});

  EXPECT_EQ(refusal(1).code, wire::Code::Busy);
  end(name(5));
  EXPECT_THAT(fenced, SizeIs(1));
}

TEST_F(SessionFencesTest, SecondFenceBeforeTheFirstIsDone_IsAnsweredOnceForBoth) {
  const auto lease = holds(1, 5);
  fence(30);
  fence(40);
  end(lease);

  ASSERT_THAT(fenced, SizeIs(1));
  EXPECT_EQ(fenced[0].epoch, 40U);
  EXPECT_EQ(fenced[0].torn_down, 1U);
}

TEST_F(SessionFencesTest, LowerEpoch_IsPassedOver) {
  fence(30);
  fence(20);

  EXPECT_THAT(fenced, SizeIs(1));
}

PastEnding unproved_past() {
  return {.incarnation = 41,
          .ending = {.name = {.id = 3, .epoch = 4},
                     .tenant = kTenant,
                     .unix_ms = 5,
                     .outcome = wire::Outcome::Fenced,
                     .memory = wire::Memory::Unproved,
                     .cause = wire::Cause::Restart}};
}

TEST_F(SessionFencesTest, UnprovedPastOfAFunctionThatWasNotReset_IsFenced) {
  start({}, {unproved_past()});
  fence(30);

  EXPECT_EQ(fenced.at(0).fenced, 1U);
  EXPECT_FALSE(sessions->has_proved_all());
}

TEST_F(SessionFencesTest, UnprovedPastOfAFunctionThatWasReset_IsProvedByIt) {
  PastEnding past = unproved_past();
  past.is_proved_since = true;
  start({}, {past});
  fence(30);

  EXPECT_EQ(fenced.at(0).fenced, 0U);
  EXPECT_TRUE(sessions->has_proved_all());
}

class IsolationTest : public SessionFencesTest {
 protected:
  static constexpr std::uint64_t kAfterNs = 20 * kNsPerSecond;
  static constexpr std::uint64_t kStallNs = 5 * kNsPerSecond;

  void SetUp() override {
    is_node = true;
    isolation = {.after_s = 20, .stall_s = 5, .tenants = {kTenant}};
    start({}, {});
    greet(1);
    greet(2, kTenant + 1);
    lives_since(now_ns);
  }
  void lives_since(std::uint64_t asked_ns) {
    sessions->hear(FleetLives{.until_ns = asked_ns + kNsPerSecond, .asked_ns = asked_ns});
  }
  void pass(std::uint64_t ns) {
    now_ns += ns;
    sessions->look_at_time();
  }
};

TEST_F(IsolationTest, BeforeItsTime_NothingIsRevoked) {
  (void)holds(1, 5);
  pass(kAfterNs - 1);

  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(IsolationTest, OnceItIsAlone_TheTenantsLeasesAreRevokedAndOthersAreNot) {
  const auto lease = holds(1, 5);
  (void)holds(2, 6);
  pass(kAfterNs);

  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(lease));
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(IsolationTest, OfEverybodyUnlessTenantsAreNamed_AllIsRevoked) {
  isolation->tenants.clear();
  start({}, {});
  greet(1);
  lives_since(now_ns);
  const auto lease = holds(1, 5);
  pass(kAfterNs);

  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(lease));
}

TEST_F(IsolationTest, TimeCountsFromWhenTheSessionWasAskedFor) {
  const auto lease = holds(1, 5);
  now_ns += 2 * kNsPerSecond;
  lives_since(now_ns - kNsPerSecond);
  pass(kAfterNs - kNsPerSecond);

  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(lease));
}

TEST_F(IsolationTest, SessionThatLivesOn_PutsItOff) {
  (void)holds(1, 5);
  pass(kAfterNs - 1);
  lives_since(now_ns);
  pass(kAfterNs - 1);

  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(IsolationTest, ServerThatHasNeverJoined_IsNotAlone) {
  start({}, {});
  pass(kAfterNs);

  EXPECT_FALSE(sessions->is_overdue());
}

TEST_F(IsolationTest, ItIsDoneOnce) {
  (void)holds(1, 5);
  pass(kAfterNs);
  asked.clear();
  pass(kNsPerSecond);

  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(IsolationTest, LeaseThatIsRevoked_IsNotRenewed) {
  const auto lease = holds(1, 5);
  pass(kAfterNs);
  asked.clear();
  say(1, Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});

  EXPECT_EQ(refusal(1).code, wire::Code::NotFound);
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(IsolationTest, GrantUnderWay_EndsUntold) {
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  pass(kAfterNs);
  hear_granted(alloc, 5);
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(name(5)));
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});

  EXPECT_EQ(refusal(1).code, wire::Code::Busy);
}

TEST_F(IsolationTest, GrantOfAnotherTenantUnderWay_IsTold) {
  say(2, Op::LeaseAlloc, wanted());
  pass(kAfterNs);
  grant(5);

  EXPECT_THAT(ops(2), ElementsAre(wire::answer_to(Op::LeaseAlloc)));
}

TEST_F(IsolationTest, LeaseThatDoesNotEndInTime_IsOverdue) {
  (void)holds(1, 5);
  pass(kAfterNs);
  pass(kStallNs - 1);
  EXPECT_FALSE(sessions->is_overdue());
  pass(1);

  EXPECT_TRUE(sessions->is_overdue());
}

TEST_F(IsolationTest, GrantThatDoesNotComeBackInTime_IsOverdue) {
  say(1, Op::LeaseAlloc, wanted());
  pass(kAfterNs);
  pass(kStallNs);

  EXPECT_TRUE(sessions->is_overdue());
}

TEST_F(IsolationTest, LeaseThatHasEnded_IsNotOverdue) {
  const auto lease = holds(1, 5);
  pass(kAfterNs);
  end(lease, kTenant, wire::Outcome::Fenced);  // its memory is proved
  pass(kStallNs);

  EXPECT_FALSE(sessions->is_overdue());
}

TEST_F(IsolationTest, LeaseThatEndsWithoutAProof_IsOverdue) {
  const auto lease = holds(1, 5);
  pass(kAfterNs);
  sessions->hear(Ended{{.name = lease, .tenant = kTenant, .outcome = wire::Outcome::Fenced}});
  pass(kStallNs);

  EXPECT_TRUE(sessions->is_overdue());
}

TEST_F(IsolationTest, LeaseOfAnotherTenant_IsNotOverdue) {
  (void)holds(2, 6);
  pass(kAfterNs);
  pass(kStallNs);

  EXPECT_FALSE(sessions->is_overdue());
}

TEST_F(IsolationTest, WhereNobodySaysHowLongItMayStandStill_NothingIsOverdue) {
  isolation->stall_s = 0;
  start({}, {});
  greet(1);
  lives_since(now_ns);
  (void)holds(1, 5);
  pass(kAfterNs);
  pass(1000 * kStallNs);

  EXPECT_FALSE(sessions->is_overdue());
}

class RenewalAloneTest : public IsolationTest {
 protected:
  void SetUp() override {
    IsolationTest::SetUp();
    lease_ = holds(1, 5);
  }
  void renew() {
    say(1, Op::LeaseRenew, wire::RenewRequest{.id = lease_.id, .epoch = lease_.epoch});
  }
  void ends_by_ttl() {
    isolation->ends_by_ttl = true;
    start({}, {});
    greet(1);
    lives_since(now_ns);
    lease_ = holds(1, 5);
  }
  lease::LeaseName lease_;
};

TEST_F(RenewalAloneTest, UnlessThatWasPromised_ALeaseIsRenewed) {
  sessions->hear(FleetIsOut{});
  renew();

  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(RenewalAloneTest, WithASession_ALeaseIsRenewed) {
  ends_by_ttl();
  renew();

  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(RenewalAloneTest, WhenTheSessionsTimeIsOver_NothingIsRenewed) {
  ends_by_ttl();
  now_ns += kNsPerSecond;
  renew();

  EXPECT_EQ(refusal(1).code, wire::Code::Unavailable);
  EXPECT_THAT(refusal_text(1), HasSubstr("nothing is renewed"));
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(RenewalAloneTest, OnceItHasJoinedAgain_ALeaseIsRenewed) {
  ends_by_ttl();
  sessions->hear(FleetIsOut{});
  lives_since(now_ns);
  renew();

  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(RenewalAloneTest, WhatIsLeftOnceItIsAlone_IsRevokedAllTheSame) {
  ends_by_ttl();
  pass(kAfterNs);

  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(lease_));
}

}  // namespace
}  // namespace portcullis::service::daemon
