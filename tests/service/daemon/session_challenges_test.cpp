// SPDX-License-Identifier: BSD-3-Clause
//
// What the holder of a lease is told of its challenge, who else is told nothing, and what becomes
// of the lease meanwhile.
#include <gmock/gmock.h>

#include "tests/service/daemon/session_world.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::Op;

class SessionChallengesTest : public SessionWorld {
 protected:
  void SetUp() override {
    start({.challenge_ms = 1'000}, {});
    greet(1);
  }
  wire::ChallengeAnswer ask(ConnectionId id, lease::LeaseName of) {
    say(id, Op::LeaseChallenge, wire::ChallengeRequest{.id = of.id, .epoch = of.epoch});
    return last<wire::ChallengeAnswer>(id);
  }
  wire::Code refused(ConnectionId id, lease::LeaseName of) {
    say(id, Op::LeaseChallenge, wire::ChallengeRequest{.id = of.id, .epoch = of.epoch});
    return refusal(id).code;
  }
};

TEST_F(SessionChallengesTest, GrantThatIsTold_DeviceIsAskedForTheNonceThatTheHolderIsTold) {
  const auto lease = holds(1, 5);
  const auto set = next_asked<Challenge>();
  EXPECT_EQ(set.name, lease);
  EXPECT_EQ(set.within_ms, 1'000u);
  const auto told = ask(1, lease);
  EXPECT_EQ(told.nonce, set.nonce);
  EXPECT_NE(told.nonce, wire::ByteArray<8>{});
  EXPECT_EQ(told.challenge, wire::Challenge::Open);
  EXPECT_EQ(told.left_ms, 1'000u);
}

TEST_F(SessionChallengesTest, EachLease_HasANonceOfItsOwn) {
  holds(1, 5);
  const auto first = next_asked<Challenge>();
  holds(1, 6);
  EXPECT_NE(next_asked<Challenge>().nonce, first.nonce);
}

TEST_F(SessionChallengesTest, JournalThatIsSlow_TakesNothingOfTheTime) {
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  hear_granted(alloc, 5);
  now_ns += 30 * kNsPerSecond;
  EXPECT_THAT(asked, IsEmpty());
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});
  EXPECT_EQ(next_asked<Challenge>().name, name(5));
  EXPECT_EQ(ask(1, name(5)).left_ms, 1'000u);
}

TEST_F(SessionChallengesTest, GrantThatCannotBeRecorded_HasNone) {
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  hear_granted(alloc, 5);
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = fail(Errc::System, "disk full")});
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(name(5)));
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(refused(1, name(5)), wire::Code::NotFound);
}

TEST_F(SessionChallengesTest, TimeThatPasses_IsTakenOfWhatIsLeft) {
  const auto lease = holds(1, 5);
  now_ns += 400 * kNsPerMs;
  EXPECT_EQ(ask(1, lease).left_ms, 600u);
  now_ns += 700 * kNsPerMs;  // over; the device's thread looks once more
  EXPECT_EQ(ask(1, lease).left_ms, 0u);
  EXPECT_EQ(ask(1, lease).challenge, wire::Challenge::Open);
}

TEST_F(SessionChallengesTest, NonceThatWasSeen_IsMetAndNotToldAgain) {
  const auto lease = holds(1, 5);
  sessions->hear(ChallengeMet{.name = lease});
  const auto told = ask(1, lease);
  EXPECT_EQ(told.challenge, wire::Challenge::Met);
  EXPECT_EQ(told.nonce, wire::ByteArray<8>{});
  EXPECT_EQ(told.left_ms, 0u);
}

TEST_F(SessionChallengesTest, NobodyButTheHolder_IsToldOfIt) {
  greet(2);                           // of the same tenant
  greet(3, 8);                        // of another
  greet(4, 9, wire::Role::Operator);  // sees every lease
  greet(6, 7, wire::Role::Observer);
  const auto lease = holds(1, 5);
  EXPECT_EQ(refused(2, lease), wire::Code::NotFound);
  const auto same = refusal_text(2);
  EXPECT_EQ(refused(3, lease), wire::Code::NotFound);
  EXPECT_EQ(refusal_text(3), same);  // as of a lease that there is not
  EXPECT_EQ(refused(3, name(77)), wire::Code::NotFound);
  EXPECT_EQ(refusal_text(3), same);
  EXPECT_EQ(refused(4, lease), wire::Code::NotFound);
  EXPECT_EQ(refused(6, lease), wire::Code::NotFound);
}

TEST_F(SessionChallengesTest, HolderThatComesBack_IsToldOnceItHasRenewed) {
  const auto lease = holds(1, 5);
  const auto set = next_asked<Challenge>();
  greet(2);
  say(2, Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});
  sessions->hear(Renewed{.ticket = next_asked<Renew>().ticket, .done = {}});
  EXPECT_EQ(ask(2, lease).nonce, set.nonce);
}

TEST_F(SessionChallengesTest, OperatorOfAnotherTenantThatRenews_IsToldNothing) {
  greet(4, 9, wire::Role::Operator);
  const auto lease = holds(1, 5);
  next_asked<Challenge>();
  say(4, Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});
  sessions->hear(Renewed{.ticket = next_asked<Renew>().ticket, .done = {}});
  EXPECT_EQ(refused(4, lease), wire::Code::NotFound);
}

TEST_F(SessionChallengesTest, RenewalMeanwhile_IsAnsweredAndPutsNothingOff) {
  const auto lease = holds(1, 5);
  next_asked<Challenge>();
  now_ns += 400 * kNsPerMs;
  say(1, Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch, .ttl_ms = 9'000});
  sessions->hear(Renewed{.ticket = next_asked<Renew>().ticket, .done = {}});
  EXPECT_EQ(last<wire::RenewAnswer>(1).ttl_ms, 9'000u);
  EXPECT_EQ(ask(1, lease).left_ms, 600u);
  EXPECT_EQ(ask(1, lease).challenge, wire::Challenge::Open);
}

TEST_F(SessionChallengesTest, RevokeMeanwhile_EndsIt) {
  const auto lease = holds(1, 5);
  next_asked<Challenge>();
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(next_asked<Revoke>().cause, wire::Cause::Holder);
  EXPECT_EQ(refused(1, lease), wire::Code::NotFound);
  sessions->hear(ChallengeMet{.name = lease});  // it was written behind the revoke
  end(lease);
  EXPECT_EQ(last<wire::RevokeAnswer>(1).cause, wire::Cause::Holder);
}

TEST_F(SessionChallengesTest, LeaseThatEndedForIt_HolderAndWatcherHearTheCause) {
  greet(2, 9, wire::Role::Observer);
  say(2, Op::LeaseWatch, wire::WatchRequest{.tenant = wire::kEveryTenant});
  const auto lease = holds(1, 5);
  end(lease, 7, wire::Outcome::TornDown, wire::Cause::Challenge);
  EXPECT_THAT(ops(1), ElementsAre(wire::number(wire::Notice::Revoked)));
  EXPECT_EQ(last<wire::EndedNotice>(1).cause, wire::Cause::Challenge);
  EXPECT_EQ(last<wire::EndedNotice>(2).cause, wire::Cause::Challenge);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(last<wire::RevokeAnswer>(1).cause, wire::Cause::Challenge);
}

TEST_F(SessionChallengesTest, AccessWithoutWrite_IsRefusedBeforeTheDevice) {
  auto read_alone = wanted();
  read_alone.access = wire::kMayRead;
  say(1, Op::LeaseAlloc, read_alone);
  EXPECT_EQ(refusal(1).code, wire::Code::InvalidValue);
  EXPECT_THAT(refusal_text(1), HasSubstr("access 0x2"));
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionChallengesTest, LimitsReadAgain_CountForGrantsToldFromThenOn) {
  const auto challenged = holds(1, 5);
  next_asked<Challenge>();
  sessions->set_limits({});
  const auto free = holds(1, 6);
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(ask(1, free).challenge, wire::Challenge::None);
  EXPECT_EQ(ask(1, challenged).challenge, wire::Challenge::Open);
}

TEST_F(SessionChallengesTest,
       LimitsReadWhileALeaseWithoutWriteIsUnderWay_LeaveItWithoutAChallenge) {
  start({}, {});
  greet(1);
  auto read_alone = wanted();
  read_alone.access = wire::kMayRead;
  say(1, Op::LeaseAlloc, read_alone);
  const Alloc alloc = next_asked<Alloc>();
  sessions->set_limits({.challenge_ms = 1'000});
  hear_granted(alloc, 5);
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(ask(1, name(5)).challenge, wire::Challenge::None);
}

TEST_F(SessionChallengesTest, ServerWithoutChallenges_SaysThatThereIsNone) {
  start({}, {});
  greet(1);
  const auto lease = holds(1, 5);
  EXPECT_THAT(asked, IsEmpty());
  const auto told = ask(1, lease);
  EXPECT_EQ(told.challenge, wire::Challenge::None);
  EXPECT_EQ(told.nonce, wire::ByteArray<8>{});
  EXPECT_EQ(told.left_ms, 0u);
}

}  // namespace
}  // namespace portcullis::service::daemon
