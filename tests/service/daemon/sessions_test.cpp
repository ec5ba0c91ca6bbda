// SPDX-License-Identifier: BSD-3-Clause
//
// What each peer may say and is answered, and in which order it hears of what happens.
#include "service/daemon/sessions.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "lease/fence_step.hpp"
#include "tests/service/daemon/session_world.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::Op;

constexpr std::uint16_t kRevoked = wire::number(wire::Notice::Revoked);
constexpr std::uint16_t kExpired = wire::number(wire::Notice::Expired);

using SessionsTest = SessionWorld;

TEST_F(SessionsTest, Hello_SaysWhoTheAskerIsAndWhatItMay) {
  open(1, 9, wire::Role::Observer);
  say(1, Op::Hello, wire::HelloRequest{});
  const auto answer = last<wire::HelloAnswer>(1);
  EXPECT_EQ(answer.incarnation, kIncarnation);
  EXPECT_EQ(answer.tenant, 9u);
  EXPECT_EQ(answer.role, wire::Role::Observer);
  EXPECT_EQ(answer.most_bytes, Limits{}.lease_bytes);
}

TEST_F(SessionsTest, AnythingBeforeHello_IsRefused) {
  open(1);
  say(1, Op::Status, wire::StatusRequest{});
  EXPECT_EQ(refusal(1).code, wire::Code::HelloFirst);
  EXPECT_EQ(refusal(1).op, wire::number(Op::Status));
  EXPECT_THAT(hung_up, IsEmpty());
}

TEST_F(SessionsTest, SecondHello_IsRefused) {
  greet(1);
  say(1, Op::Hello, wire::HelloRequest{});
  EXPECT_EQ(refusal(1).code, wire::Code::HelloFirst);
}

TEST_F(SessionsTest, OpNobodyKnows_IsRefusedAndTheConnectionGoesOn) {
  greet(1);
  sessions->received(1, wire::make_frame(0x0299, 5, wire::StatusRequest{}));
  EXPECT_EQ(refusal(1).code, wire::Code::UnknownOp);
  EXPECT_EQ(refusal_text(1), "op 0x0299 is no request");
  EXPECT_THAT(hung_up, IsEmpty());
}

TEST_F(SessionsTest, FrameThatIsNone_EndsTheConnection) {
  greet(1);
  const std::vector<std::byte> bytes(7);
  sessions->received(1, bytes);
  EXPECT_EQ(refusal(1).code, wire::Code::Malformed);
  EXPECT_THAT(hung_up, ElementsAre(1));
}

TEST_F(SessionsTest, BodyOfAnotherLength_EndsTheConnection) {
  greet(1);
  sessions->received(1, wire::make_frame(wire::number(Op::LeaseRevoke), 5, wire::StatusRequest{}));
  EXPECT_EQ(refusal(1).code, wire::Code::Malformed);
  EXPECT_THAT(hung_up, ElementsAre(1));
}

TEST_F(SessionsTest, Grant_IsAnsweredOnceItIsOnRecord) {
  greet(1);
  const auto request = say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  EXPECT_EQ(alloc.wanted.tenant, 7u);
  EXPECT_EQ(alloc.wanted.ttl_ms, Limits{}.default_ttl_ms);
  hear_granted(alloc, 5);
  EXPECT_THAT(sent[1], IsEmpty());
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});
  const auto answer = last<wire::AllocAnswer>(1);
  EXPECT_EQ(answer.id, 5u);
  EXPECT_EQ(answer.rkey, 0xabcdef01u);
  EXPECT_EQ(wire::read_frame(sent[1].back())->header.request_id, request);
}

TEST_F(SessionsTest, GrantThatCannotBeRecorded_IsTakenBackAndNeverTold) {
  greet(1);
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  hear_granted(alloc, 5);
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = fail(Errc::System, "disk full")});
  EXPECT_EQ(refusal(1).code, wire::Code::Unavailable);
  EXPECT_THAT(refusal_text(1), HasSubstr("the journal cannot be written"));
  const Revoke back = next_asked<Revoke>();
  EXPECT_THAT(back.names, ElementsAre(name(5)));
  EXPECT_EQ(back.cause, wire::Cause::Server);
  end(name(5));
  EXPECT_THAT(sent[1], SizeIs(1));
}

TEST_F(SessionsTest, GrantOfAClientThatHasGone_IsTakenBack) {
  greet(1);
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  hear_granted(alloc, 5);
  sessions->closed(1);
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(name(5)));
  EXPECT_THAT(sent[1], IsEmpty());
}

TEST_F(SessionsTest, LeaseThatEndsBeforeItWasTold_IsRefusedInstead) {
  greet(1);
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  hear_granted(alloc, 5);
  end(name(5), 7, wire::Outcome::TornDown, wire::Cause::Server);
  EXPECT_THAT(sent[1], IsEmpty());
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});
  EXPECT_EQ(refusal(1).code, wire::Code::Busy);
}

TEST_F(SessionsTest, HolderHearsOfTheEnd_BeforeWhoAskedForIt) {
  greet(1);
  greet(2, 8, wire::Role::Operator);
  const auto lease = holds(1, 5);
  say(2, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(next_asked<Revoke>().cause, wire::Cause::Operator);
  std::vector<ConnectionId> order;
  now_ns += 3'000;
  end(lease, 7, wire::Outcome::TornDown, wire::Cause::Operator);
  EXPECT_THAT(ops(1), ElementsAre(kRevoked));
  EXPECT_THAT(ops(2), ElementsAre(wire::answer_to(Op::LeaseRevoke)));
  const auto answer = last<wire::RevokeAnswer>(2);
  EXPECT_EQ(answer.outcome, wire::Outcome::TornDown);
  EXPECT_EQ(answer.revoke_us, 3u);
  EXPECT_EQ(last<wire::EndedNotice>(1).unix_ms, 99u);
}

TEST_F(SessionsTest, TwoWhoRevokeOneLease_OneFenceAndTwoAnswers) {
  greet(1);
  const auto lease = holds(1, 5);
  const wire::RevokeRequest revoke{.id = lease.id, .epoch = lease.epoch};
  const std::uint64_t first = say(1, Op::LeaseRevoke, revoke);
  const std::uint64_t second = say(1, Op::LeaseRevoke, revoke);
  EXPECT_THAT(asked, SizeIs(1));
  end(lease);
  EXPECT_THAT(ops(1), ElementsAre(kRevoked, wire::answer_to(Op::LeaseRevoke),
                                  wire::answer_to(Op::LeaseRevoke)));
  EXPECT_EQ(wire::read_frame(sent[1].at(1))->header.request_id, first);
  EXPECT_EQ(wire::read_frame(sent[1].at(2))->header.request_id, second);
}

TEST_F(SessionsTest, RevokeOfALeaseThatEnded_RepeatsItsOutcome) {
  greet(1);
  const auto lease = holds(1, 5);
  end(lease, 7, wire::Outcome::TornDown, wire::Cause::Expired);
  EXPECT_THAT(ops(1), ElementsAre(kExpired));
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(last<wire::RevokeAnswer>(1).outcome, wire::Outcome::TornDown);
  EXPECT_EQ(last<wire::RevokeAnswer>(1).cause, wire::Cause::Expired);
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionsTest, LeaseOfAnotherTenant_IsNotThereForAnyOp) {
  greet(1);
  greet(2, 8);
  const auto lease = holds(1, 5);
  say(2, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  const auto foreign = last<wire::RevokeAnswer>(2);
  say(2, Op::LeaseRevoke, wire::RevokeRequest{.id = 999, .epoch = 1999});
  const auto unknown = last<wire::RevokeAnswer>(2);
  EXPECT_EQ(foreign.outcome, wire::Outcome::NotFound);
  EXPECT_EQ(unknown.outcome, wire::Outcome::NotFound);
  EXPECT_EQ(foreign.failed_mask, unknown.failed_mask);
  say(2, Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(refusal(2).code, wire::Code::NotFound);
  say(2, Op::LeaseList, wire::ListRequest{.tenant = 7});
  EXPECT_EQ(refusal(2).code, wire::Code::NotAllowed);
  say(2, Op::LeaseList, wire::ListRequest{.tenant = 8});
  EXPECT_THAT(wire::read_list(*wire::read_frame(sent[2].back()))->rows, IsEmpty());
  say(2, Op::RevokeTenant, wire::RevokeTenantRequest{.tenant = 7});
  EXPECT_EQ(refusal(2).code, wire::Code::NotAllowed);
  say(2, Op::LeaseWatch, wire::WatchRequest{.tenant = wire::kEveryTenant});
  EXPECT_EQ(refusal(2).code, wire::Code::NotAllowed);
  end(lease);
  sent[2].clear();
  say(2, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(last<wire::RevokeAnswer>(2).outcome, wire::Outcome::NotFound);
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionsTest, Observer_LooksAtEverythingAndChangesNothing) {
  greet(1);
  greet(2, 8, wire::Role::Observer);
  const auto lease = holds(1, 5);
  say(2, Op::LeaseList, wire::ListRequest{.tenant = wire::kEveryTenant});
  EXPECT_THAT(wire::read_list(*wire::read_frame(sent[2].back()))->rows, SizeIs(1));
  say(2, Op::LeaseAlloc, wanted());
  EXPECT_EQ(refusal(2).code, wire::Code::NotAllowed);
  say(2, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(refusal(2).code, wire::Code::NotAllowed);
  say(2, Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(refusal(2).code, wire::Code::NotAllowed);
  say(2, Op::RevokeTenant, wire::RevokeTenantRequest{.tenant = 7});
  EXPECT_EQ(refusal(2).code, wire::Code::NotAllowed);
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionsTest, RevokeTenant_IsAnsweredWhenTheLastHasItsOutcome) {
  greet(1);
  greet(2, 8, wire::Role::Operator);
  const auto first = holds(1, 5);
  const auto second = holds(1, 6);
  say(2, Op::RevokeTenant, wire::RevokeTenantRequest{.tenant = 7});
  EXPECT_THAT(next_asked<Revoke>().names, testing::UnorderedElementsAre(first, second));
  end(first);
  EXPECT_THAT(sent[2], IsEmpty());
  end(second, 7, wire::Outcome::Fenced);
  const auto answer = last<wire::RevokeTenantAnswer>(2);
  EXPECT_EQ(answer.torn_down, 1u);
  EXPECT_EQ(answer.fenced, 1u);
}

TEST_F(SessionsTest, RevokeTenantThatJoinsARevoke_AsksForEachLeaseOnce) {
  greet(1);
  const auto first = holds(1, 5);
  const auto second = holds(1, 6);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = first.id, .epoch = first.epoch});
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(first));
  say(1, Op::RevokeTenant, wire::RevokeTenantRequest{.tenant = 7});
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(second));
  end(second);
  end(first);
  EXPECT_EQ(last<wire::RevokeTenantAnswer>(1).torn_down, 2u);
}

TEST_F(SessionsTest, RevokeTenantWithoutLeases_IsAnsweredAtOnce) {
  greet(1);
  say(1, Op::RevokeTenant, wire::RevokeTenantRequest{.tenant = 7});
  EXPECT_EQ(last<wire::RevokeTenantAnswer>(1).torn_down, 0u);
}

TEST_F(SessionsTest, HolderThatGoes_LeavesItsLeasesForOrphanMsAtMost) {
  greet(1);
  const auto lease = holds(1, 5);
  sessions->closed(1);
  const Renew shortened = next_asked<Renew>();
  EXPECT_EQ(shortened.name, lease);
  EXPECT_EQ(shortened.ttl_ms, Limits{}.orphan_ms);
}

TEST_F(SessionsTest, HolderThatGoesNearTheEnd_ChangesNothing) {
  greet(1);
  holds(1, 5);
  now_ns += (Limits{}.default_ttl_ms - 1'000) * kNsPerMs;
  sessions->closed(1);
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionsTest, TenantThatComesBackAndRenews_HoldsTheLeaseAgain) {
  greet(1);
  const auto lease = holds(1, 5);
  sessions->closed(1);
  asked.clear();
  greet(2);
  say(2, Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});
  const Renew renew = next_asked<Renew>();
  EXPECT_EQ(renew.ttl_ms, Limits{}.default_ttl_ms);
  sessions->hear(Renewed{.ticket = renew.ticket, .done = {}});
  EXPECT_EQ(last<wire::RenewAnswer>(2).ttl_ms, Limits{}.default_ttl_ms);
  end(lease, 7, wire::Outcome::TornDown, wire::Cause::Operator);
  EXPECT_EQ(ops(2).back(), kRevoked);
}

TEST_F(SessionsTest, RenewalThatTheDeviceRefuses_IsNotFound) {
  greet(1);
  const auto lease = holds(1, 5);
  say(1, Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});
  sessions->hear(
      Renewed{.ticket = next_asked<Renew>().ticket, .done = fail(Errc::NotFound, "gone")});
  EXPECT_EQ(refusal(1).code, wire::Code::NotFound);
}

TEST_F(SessionsTest, ServerThatWasAnother_TellsWhatBecameOfTheLeases) {
  const Ending mine{.name = name(3), .tenant = 7, .cause = wire::Cause::Restart};
  const Ending other{.name = name(4), .tenant = 8, .cause = wire::Cause::Restart};
  start({}, {{.incarnation = 41, .ending = mine}, {.incarnation = 41, .ending = other}});
  open(1);
  say(1, Op::Hello, wire::HelloRequest{.known_incarnation = 41});
  EXPECT_THAT(ops(1), ElementsAre(wire::answer_to(Op::Hello),
                                  wire::number(wire::Notice::ServerRestarted), kRevoked));
  EXPECT_EQ(last<wire::EndedNotice>(1).id, 3u);
  EXPECT_EQ(last<wire::EndedNotice>(1).cause, wire::Cause::Restart);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = 3, .epoch = 1003});
  EXPECT_EQ(last<wire::RevokeAnswer>(1).cause, wire::Cause::Restart);
}

TEST_F(SessionsTest, ServerThatIsTheSame_TellsNothingMore) {
  open(1);
  say(1, Op::Hello, wire::HelloRequest{.known_incarnation = kIncarnation});
  EXPECT_THAT(sent[1], SizeIs(1));
}

TEST_F(SessionsTest, LeasesOfATenant_AreLimited) {
  start({.tenant_leases = 2}, {});
  greet(1);
  say(1, Op::LeaseAlloc, wanted());
  say(1, Op::LeaseAlloc, wanted());
  EXPECT_THAT(sent[1], IsEmpty());
  say(1, Op::LeaseAlloc, wanted());
  EXPECT_EQ(refusal(1).code, wire::Code::Limit);
  EXPECT_EQ(refusal_text(1), "2 leases of the tenant are held or rest; at most 2 are accepted");
  sessions->hear(
      NotGranted{.ticket = next_asked<Alloc>().ticket, .why = {Errc::OutOfResources, "full", {}}});
  EXPECT_EQ(refusal(1).code, wire::Code::NoResources);
  EXPECT_EQ(refusal_text(1), "the server has no slot or no memory left");
  say(1, Op::LeaseAlloc, wanted());
  EXPECT_THAT(asked, SizeIs(2));
}

TEST_F(SessionsTest, SlotThatRests_IsChargedUntilItHasRested) {
  start({.tenant_leases = 1}, {});
  greet(1);
  const auto lease = holds(1, 5);
  end(lease);
  say(1, Op::LeaseAlloc, wanted());
  EXPECT_EQ(refusal(1).code, wire::Code::Limit);
  now_ns += 5 * kNsPerSecond;  // above 4 x 4.096 us x 2^14 x 7
  say(1, Op::LeaseAlloc, wanted());
  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(SessionsTest, PlanLegacy_IsForOperators) {
  greet(1);
  greet(2, 8, wire::Role::Operator);
  const auto lease = holds(1, 5);
  const wire::RevokeRequest revoke{
      .id = lease.id, .epoch = lease.epoch, .plan = wire::Plan::Legacy};
  say(1, Op::LeaseRevoke, revoke);
  EXPECT_EQ(refusal(1).code, wire::Code::NotAllowed);
  EXPECT_THAT(asked, IsEmpty());
  say(2, Op::LeaseRevoke, revoke);
  EXPECT_EQ(next_asked<Revoke>().plan, wire::Plan::Legacy);
}

TEST_F(SessionsTest, LeaseRenewedOnASecondConnection_OutlivesTheFirst) {
  greet(1);
  greet(2);
  const auto lease = holds(1, 100);
  say(2, wire::Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});
  sessions->hear(Renewed{.ticket = next_asked<Renew>().ticket, .done = {}});
  sessions->closed(1);
  EXPECT_TRUE(asked.empty());
  sessions->closed(2);
  EXPECT_EQ(next_asked<Renew>().ttl_ms, Limits{}.orphan_ms);
}

TEST_F(SessionsTest, LeaseHeldOnTwoConnections_BothHearOfItsEnd) {
  greet(1);
  greet(2);
  const auto lease = holds(1, 100);
  say(2, wire::Op::LeaseRenew, wire::RenewRequest{.id = lease.id, .epoch = lease.epoch});
  sessions->hear(Renewed{.ticket = next_asked<Renew>().ticket, .done = {}});
  sent[2].clear();
  end(lease);
  EXPECT_THAT(ops(1), ElementsAre(wire::number(wire::Notice::Revoked)));
  EXPECT_THAT(ops(2), ElementsAre(wire::number(wire::Notice::Revoked)));
}

TEST_F(SessionsTest, StatusWithFlagsThatNobodyKnows_Refused) {
  greet(1);
  say(1, wire::Op::Status, wire::StatusRequest{.flags = 1});
  EXPECT_EQ(refusal_text(1), "flags 0x1; 0 is accepted");
}

TEST_F(SessionsTest, HolderThatRenewsAndGoes_LeavesItForOrphanMsAllTheSame) {
  greet(1);
  const auto lease = holds(1, 5);
  say(1, Op::LeaseRenew,
      wire::RenewRequest{.id = lease.id, .epoch = lease.epoch, .ttl_ms = 86'400'000});
  const Renew renew = next_asked<Renew>();
  sessions->closed(1);
  asked.clear();
  sessions->hear(Renewed{.ticket = renew.ticket, .done = {}});
  EXPECT_EQ(next_asked<Renew>().ttl_ms, Limits{}.orphan_ms);
}

TEST_F(SessionsTest, RefusalOfABadFrame_NamesTheRequest) {
  greet(1);
  auto frame = wire::make_frame(wire::number(Op::Status), 77, wire::StatusRequest{});
  frame[6] = std::byte{2};
  sessions->received(1, frame);
  EXPECT_EQ(refusal(1).code, wire::Code::UnknownVersion);
  EXPECT_EQ(wire::read_frame(sent[1].back())->header.request_id, 77u);
  EXPECT_THAT(hung_up, ElementsAre(1));
}

TEST_F(SessionsTest, RevokeOfEveryTenant_IsRefused) {
  greet(1, 7, wire::Role::Operator);
  say(1, Op::RevokeTenant, wire::RevokeTenantRequest{.tenant = wire::kEveryTenant});
  EXPECT_EQ(refusal(1).code, wire::Code::InvalidValue);
}

TEST_F(SessionsTest, StatusOfAClient_IsOfItsTenantAlone) {
  greet(1, 7);
  greet(2, 8);
  holds(1, 5);
  holds(2, 6);
  end(holds(2, 7), 8);
  say(1, Op::Status, wire::StatusRequest{});
  const auto status = last<wire::StatusAnswer>(1);
  EXPECT_EQ(status.held, 1u);
  EXPECT_EQ(status.granted, 0u);
  EXPECT_EQ(status.torn_down, 0u);
  EXPECT_EQ(status.connections, 0u);
  EXPECT_EQ(status.slots, Limits{}.tenant_leases);
}

TEST_F(SessionsTest, LeaseThatNobodyCouldBeToldOf_IsGrantedAsMuchAsItIsTornDown) {
  greet(1);
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  sessions->closed(1);
  hear_granted(alloc, 5);
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});
  end(name(5), 7, wire::Outcome::TornDown, wire::Cause::Server);
  greet(2, 7, wire::Role::Operator);
  say(2, Op::Status, wire::StatusRequest{});
  const auto status = last<wire::StatusAnswer>(2);
  EXPECT_EQ(status.granted, 1u);
  EXPECT_EQ(status.torn_down, 1u);
}

TEST_F(SessionsTest, ClientNameThatIsNoText_IsRefusedAndMaySayHelloAgain) {
  open(1, 7, wire::Role::Client);
  for (const std::string& bad : {std::string("caf\xc3\xa9"), std::string("a\nb"),
                                 std::string("a\0b", 3), std::string("\x7f")}) {
    wire::HelloRequest hello;
    wire::put_text(hello.client_name, bad);
    say(1, Op::Hello, hello);
    EXPECT_EQ(refusal(1).code, wire::Code::InvalidValue) << bad;
  }
  EXPECT_THAT(hung_up, IsEmpty());
  wire::HelloRequest whole;
  wire::put_text(whole.client_name, std::string(whole.client_name.size(), '~'));
  say(1, Op::Hello, whole);
  EXPECT_EQ(ops(1).back(), wire::answer_to(Op::Hello));
}

TEST_F(SessionsTest, FencedLeaseThatWasNotToldOf_IsListedOnceItIsOnRecord) {
  greet(1);
  say(1, Op::LeaseAlloc, wanted());
  const Alloc alloc = next_asked<Alloc>();
  hear_granted(alloc, 5);
  end(name(5), 7, wire::Outcome::Fenced, wire::Cause::Server);
  sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});
  EXPECT_EQ(refusal(1).code, wire::Code::Busy);
  say(1, Op::LeaseList, wire::ListRequest{.tenant = 7});
  EXPECT_THAT(wire::read_list(*wire::read_frame(sent[1].back()))->rows, SizeIs(1));
}

TEST_F(SessionsTest, BytesOfATenant_AreLimited) {
  start({.tenant_bytes = 8192}, {});
  greet(1);
  auto request = wanted();
  request.bytes = 1;  // a page
  say(1, Op::LeaseAlloc, request);
  say(1, Op::LeaseAlloc, request);
  EXPECT_THAT(asked, SizeIs(2));
  say(1, Op::LeaseAlloc, request);
  EXPECT_EQ(refusal(1).code, wire::Code::Limit);
  EXPECT_EQ(refusal_text(1), "8192 bytes of the tenant and 4096 more; at most 8192 are accepted");
}

TEST_F(SessionsTest, RequestsUnderWay_AreLimited) {
  start({.requests = 2}, {});
  greet(1);
  say(1, Op::LeaseAlloc, wanted());
  say(1, Op::LeaseAlloc, wanted());
  say(1, Op::Status, wire::StatusRequest{});
  EXPECT_EQ(refusal(1).code, wire::Code::Busy);
  grant(5);
  say(1, Op::Status, wire::StatusRequest{});
  EXPECT_EQ(ops(1).back(), wire::answer_to(Op::Status));
}

TEST_F(SessionsTest, GrantsThatAreRefusedUnheard_AreCountedToo) {
  start({.requests = 1}, {});
  open(1);
  say(1, Op::LeaseAlloc, wanted());
  greet(2);
  say(2, Op::LeaseAlloc, wanted());
  say(2, Op::LeaseAlloc, wanted());
  say(2, Op::Status, wire::StatusRequest{});
  greet(3, 7, wire::Role::Observer);
  say(3, Op::LeaseAlloc, wanted());
  EXPECT_THAT(refused_grants,
              ElementsAre(wire::Code::HelloFirst, wire::Code::Busy, wire::Code::NotAllowed));
}

TEST_F(SessionsTest, GrantThatIsMalformed_IsCountedAsRefused) {
  greet(1);
  say(1, Op::LeaseAlloc, wire::RenewRequest{});
  EXPECT_THAT(refused_grants, ElementsAre(wire::Code::Malformed));
}

TEST_F(SessionsTest, WhoAsksNothingMore_IsHungUpOnBehindTheLastAnswer) {
  greet(1);
  const auto lease = holds(1, 5);
  say(1, Op::LeaseHistory, wire::HistoryRequest{.tenant = 7});
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  sessions->finished(1);
  end(lease);
  EXPECT_THAT(ops(1), ElementsAre(kRevoked, wire::answer_to(Op::LeaseRevoke)));
  EXPECT_THAT(hung_up, IsEmpty());
  sessions->hear(Looked{.ticket = looked_up.at(0).ticket, .found = wire::History{}});
  EXPECT_EQ(ops(1).back(), wire::answer_to(Op::LeaseHistory));
  EXPECT_THAT(hung_up, ElementsAre(1));
}

TEST_F(SessionsTest, WhoAsksNothingMoreAndWaitsForNothing_IsHungUpOnAtOnce) {
  greet(1);
  sessions->finished(1);
  EXPECT_THAT(hung_up, ElementsAre(1));
}

TEST_F(SessionsTest, JournalThatCannotBeWritten_GrantsNothingAndRevokes) {
  greet(1);
  const auto lease = holds(1, 5);
  sessions->set_journal_lost(true);
  say(1, Op::LeaseAlloc, wanted());
  EXPECT_EQ(refusal(1).code, wire::Code::Unavailable);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(lease));
}

TEST_F(SessionsTest, DeviceThatIsLost_GrantsNothing) {
  greet(1);
  sessions->set_counts({.is_lost = true});
  say(1, Op::LeaseAlloc, wanted());
  EXPECT_EQ(refusal_text(1), "the device is lost; nothing is granted");
}

TEST_F(SessionsTest, End_RevokesWhatIsHeldAndGrantsNothingMore) {
  greet(1);
  const auto lease = holds(1, 5);
  say(1, Op::LeaseAlloc, wanted());
  const Alloc late = next_asked<Alloc>();
  sessions->end();
  EXPECT_EQ(next_asked<Revoke>().cause, wire::Cause::Server);
  EXPECT_FALSE(sessions->has_ended());
  hear_granted(late, 6);  // the device had begun with it
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(name(6)));
  end(lease);
  end(name(6));
  sessions->hear(Recorded{.ticket = late.ticket, .done = {}});
  EXPECT_TRUE(sessions->has_ended());
  say(1, Op::LeaseAlloc, wanted());
  EXPECT_EQ(refusal(1).code, wire::Code::Ending);
}

TEST_F(SessionsTest, LeaseThatIsFenced_IsListedWithItsReason) {
  greet(1);
  const auto lease = holds(1, 5);
  end(lease, 7, wire::Outcome::Fenced);
  say(1, Op::LeaseList, wire::ListRequest{.tenant = 7});
  const auto list = *wire::read_list(*wire::read_frame(sent[1].back()));
  ASSERT_THAT(list.rows, SizeIs(1));
  EXPECT_EQ(list.rows[0].state, wire::State::Fenced);
  EXPECT_EQ(list.rows[0].outcome, wire::Outcome::Fenced);
  EXPECT_EQ(list.rows[0].memory, wire::Memory::Mkey);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_EQ(last<wire::RevokeAnswer>(1).outcome, wire::Outcome::Fenced);
}

TEST_F(SessionsTest, ListLongerThanAFrame_GoesOnWhereItsCursorSays) {
  greet(1);
  for (std::uint64_t id = 1; id <= 100; ++id) holds(1, id);
  say(1, Op::LeaseList, wire::ListRequest{.tenant = 7});
  const auto first = *wire::read_list(*wire::read_frame(sent[1].back()));
  EXPECT_THAT(first.rows, SizeIs(wire::kMostRows));
  say(1, Op::LeaseList, wire::ListRequest{.tenant = 7, .cursor = first.next_cursor});
  const auto rest = *wire::read_list(*wire::read_frame(sent[1].back()));
  EXPECT_THAT(rest.rows, SizeIs(100 - wire::kMostRows));
  EXPECT_EQ(rest.rows.front().id, first.rows.back().id + 1);
  EXPECT_EQ(rest.next_cursor, 0u);
}

TEST_F(SessionsTest, History_IsWhatTheJournalHas) {
  greet(1);
  const auto request = say(1, Op::LeaseHistory, wire::HistoryRequest{.tenant = 7});
  ASSERT_THAT(looked_up, SizeIs(1));
  EXPECT_THAT(sent[1], IsEmpty());
  sessions->hear(Looked{.ticket = looked_up[0].ticket,
                        .found = wire::History{.from_unix_ms = 3, .rows = {{.id = 11}}}});
  const auto frame = wire::read_frame(sent[1].back());
  EXPECT_EQ(frame->header.request_id, request);
  const auto history = wire::read_history(*frame);
  EXPECT_EQ(history->from_unix_ms, 3u);
  EXPECT_EQ(history->rows.at(0).id, 11u);
}

TEST_F(SessionsTest, HistoryOfAnotherTenant_IsForWhoLooksAtEverything) {
  greet(1);
  greet(2, 9, wire::Role::Observer);
  say(1, Op::LeaseHistory, wire::HistoryRequest{.tenant = wire::kEveryTenant});
  EXPECT_EQ(refusal(1).code, wire::Code::NotAllowed);
  EXPECT_THAT(looked_up, IsEmpty());
  say(2, Op::LeaseHistory, wire::HistoryRequest{.tenant = wire::kEveryTenant});
  EXPECT_THAT(looked_up, SizeIs(1));
}

TEST_F(SessionsTest, JournalThatCannotBeRead_RefusesAndNamesNoFile) {
  greet(1);
  say(1, Op::LeaseHistory, wire::HistoryRequest{.tenant = 7});
  sessions->hear(Looked{.ticket = looked_up.at(0).ticket,
                        .found = fail(Errc::System, "journal /var/lib/x: disk")});
  EXPECT_EQ(refusal(1).code, wire::Code::Unavailable);
  EXPECT_THAT(refusal_text(1), testing::Not(HasSubstr("/var")));
}

TEST_F(SessionsTest, LooksAtAPastThatNobodyKeeps_DoNotFillTheLog) {
  greet(1);
  for (int i = 0; i < 1001; ++i) {
    say(1, Op::LeaseHistory, wire::HistoryRequest{.tenant = 7});
    sessions->hear(Looked{.ticket = looked_up.back().ticket,
                          .found = fail(Errc::Unsupported, "the server keeps no journal")});
  }
  EXPECT_THAT(
      logged,
      ElementsAre("a look at the past was refused (1 so far): the server keeps no journal",
                  "a look at the past was refused (1001 so far): the server keeps no journal"));
}

TEST_F(SessionsTest, HistoriesUnderWay_CountAsRequests) {
  greet(1);
  for (std::uint32_t i = 0; i <= Limits{}.requests; ++i)
    say(1, Op::LeaseHistory, wire::HistoryRequest{.tenant = 7});
  EXPECT_EQ(refusal(1).code, wire::Code::Busy);
  EXPECT_THAT(looked_up, SizeIs(Limits{}.requests));
  sessions->hear(Looked{.ticket = looked_up[0].ticket, .found = wire::History{}});
  say(1, Op::LeaseHistory, wire::HistoryRequest{.tenant = 7});
  EXPECT_THAT(looked_up, SizeIs(Limits{}.requests + 1));
}

TEST_F(SessionsTest, HistoryForAFlagThatNobodyKnows_Refused) {
  greet(1);
  say(1, Op::LeaseHistory, wire::HistoryRequest{.tenant = 7, .fenced_only = 2});
  EXPECT_EQ(refusal(1).code, wire::Code::InvalidValue);
}

/// The wire names steps without the driver: who prints them needs no DPDK.
TEST(Steps, NamesOnTheWire_AreThoseOfTheFence) {
  for (unsigned i = 0; i < lease::kSteps; ++i)
    EXPECT_EQ(wire::steps_text(1U << i), lease::name(static_cast<lease::Step>(i)));
  EXPECT_EQ(wire::steps_text(3), "2ERR_QP|DESTROY_MKEY");
  EXPECT_EQ(wire::steps_text(1U << 20), "bit 20");
  EXPECT_EQ(wire::steps_text(0), "none");
}

TEST_F(SessionsTest, StatusOfAnOperator_CountsWhatThereWas) {
  greet(1, 7, wire::Role::Operator);
  const auto lease = holds(1, 5);
  holds(1, 6);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  now_ns += 5'000'000;
  end(lease);
  say(1, Op::Status, wire::StatusRequest{});
  const auto status = last<wire::StatusAnswer>(1);
  EXPECT_EQ(status.granted, 2u);
  EXPECT_EQ(status.torn_down, 1u);
  EXPECT_EQ(status.held, 1u);
  EXPECT_EQ(status.longest_revoke_us, 5000u);
  EXPECT_EQ(status.flags, wire::kEmulated);
  EXPECT_EQ(wire::text_of(status.device), "a device");
}

// ---- values that no lease can have -------------------------------------------------------------

struct BadAlloc {
  const char* about;
  std::function<void(wire::AllocRequest&)> change;
  const char* text;
};
void PrintTo(const BadAlloc& bad, std::ostream* to) { *to << bad.about; }

class SessionsBadAlloc : public SessionWorld, public testing::WithParamInterface<BadAlloc> {};

TEST_P(SessionsBadAlloc, IsRefusedByItsName) {
  greet(1);
  auto request = wanted();
  GetParam().change(request);
  say(1, Op::LeaseAlloc, request);
  EXPECT_EQ(refusal(1).code, wire::Code::InvalidValue);
  EXPECT_THAT(refusal_text(1), HasSubstr(GetParam().text));
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_THAT(hung_up, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Values, SessionsBadAlloc,
    testing::Values(
        BadAlloc{"bytes0", [](auto& r) { r.bytes = 0; }, "bytes 0; 1 to 67108864"},
        BadAlloc{"bytesMost", [](auto& r) { r.bytes = ~0ULL; }, "bytes 18446744073709551615;"},
        BadAlloc{"ttl", [](auto& r) { r.ttl_ms = ~0ULL; }, "ttl_ms 18446744073709551615;"},
        BadAlloc{"qpn0", [](auto& r) { r.qpn = 0; }, "qpn 0; 2 to 16777215"},
        BadAlloc{"SpecialQpn", [](auto& r) { r.qpn = 1; }, "qpn 1; 2 to 16777215"},
        BadAlloc{"qpn25", [](auto& r) { r.qpn = 1U << 24; }, "qpn 16777216;"},
        BadAlloc{"psn", [](auto& r) { r.psn = 1U << 24; }, "psn 16777216; 0 to"},
        BadAlloc{"timeout0", [](auto& r) { r.ack_timeout = 0; }, "ack_timeout 0; 1 to 31"},
        BadAlloc{"timeout32", [](auto& r) { r.ack_timeout = 32; }, "ack_timeout 32;"},
        BadAlloc{"retry", [](auto& r) { r.retry_count = 8; }, "retry_count 8; 0 to 7"},
        BadAlloc{"rest", [](auto& r) { r.ack_timeout = 31; }, "let a number rest for 246290"},
        BadAlloc{"mtu", [](auto& r) { r.mtu = 1500; }, "mtu 1500; 256, 512,"},
        BadAlloc{"access0", [](auto& r) { r.access = 0; }, "access 0x0;"},
        BadAlloc{"access8", [](auto& r) { r.access = 9; }, "access 0x9;"},
        BadAlloc{"gid0", [](auto& r) { r.gid = {}; }, "a unicast address is accepted"},
        BadAlloc{"gidOwn", [](auto& r) { r.gid[15] = 1; }, "is the server's own"},
        BadAlloc{"gidFamily",
                 [](auto& r) {
                   r.gid = {0xfe, 0x80}, r.gid[15] = 1;
                 },
                 "of that family"},
        BadAlloc{"mac0", [](auto& r) { r.mac = {}; }, "mac 00:00:00:00:00:00;"},
        BadAlloc{"macGroup", [](auto& r) { r.mac[0] = 1; }, "mac 01:"}),
    [](const auto& info) { return std::string(info.param.about); });

}  // namespace
}  // namespace portcullis::service::daemon
