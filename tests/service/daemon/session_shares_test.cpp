// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions of a node whose tenants have quotas: nothing is granted beyond what etcd has confirmed,
// whoever waits is answered, and nobody else waits.
#include <gmock/gmock.h>

#include "service/daemon/sessions.hpp"
#include "tests/service/daemon/session_world.hpp"

namespace portcullis::service::daemon {
namespace {

using fleet::Amount;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::Code;
using wire::Op;

constexpr std::uint64_t kTenant = 7;
constexpr std::uint64_t kPage = 4'096;
constexpr std::uint64_t kWhile = 10 * kNsPerSecond;

Amount pages(std::uint64_t leases) { return {.leases = leases, .bytes = leases * kPage}; }

class SessionSharesTest : public SessionWorld {
 protected:
  void SetUp() override { begin({}); }
  void begin(const Limits& limits) {
    is_node = true;
    has_room = false;
    start(limits, {});
    greet(1);
    lives();
  }
  void lives() { sessions->hear(FleetLives{.until_ns = now_ns + 1'000 * kNsPerSecond}); }
  void want() { say(1, Op::LeaseAlloc, wanted()); }
  fleet::ShareWanted next_wanted() {
    EXPECT_FALSE(shares_wanted.empty());
    const fleet::ShareWanted wanted = shares_wanted.front();
    shares_wanted.pop_front();
    return wanted;
  }
  /// The quota leaves it that much.
  void refuse(const fleet::ShareWanted& to, const Amount& most) {
    sessions->hear(fleet::ShareIs{.tenant = to.tenant,
                                  .number = to.number,
                                  .most = most,
                                  .has_quota = true,
                                  .why = Error{.code = Errc::OutOfResources, .text = "a quota"}});
  }
  /// A lease under a share of so many.
  lease::LeaseName hold_one_of(std::uint64_t most) {
    want();
    give_share(next_wanted(), pages(most), true);
    grant(5);
    sent[1].clear();
    return name(5);
  }
};

TEST_F(SessionSharesTest, BeforeTheShareIsThere_TheDeviceIsNotAsked) {
  want();

  EXPECT_THAT(asked, IsEmpty());
  EXPECT_THAT(sent[1], IsEmpty());
  EXPECT_EQ(next_wanted().wanted, pages(1));
}

TEST_F(SessionSharesTest, OnceItIsThere_TheLeaseIsGranted) {
  (void)hold_one_of(1);

  EXPECT_THAT(sessions->tally(), SizeIs(1));
}

TEST_F(SessionSharesTest, WithinTheShare_NobodyWaits) {
  (void)hold_one_of(2);
  want();

  EXPECT_THAT(asked, SizeIs(1));
  EXPECT_THAT(shares_wanted, IsEmpty());
}

TEST_F(SessionSharesTest, BeyondTheShare_IsAskedForWithAllThatWait) {
  (void)hold_one_of(1);
  want();
  want();
  (void)next_wanted();
  const auto wanted = next_wanted();

  EXPECT_EQ(wanted.held, pages(1));
  EXPECT_EQ(wanted.wanted, pages(3));
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionSharesTest, AnswerToAnEarlierWish_CountsForNothing) {
  want();
  want();
  give_share(next_wanted(), pages(1));

  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionSharesTest, ShareForSomeOfThem_GrantsThoseInTurn) {
  want();
  want();
  (void)next_wanted();
  refuse(next_wanted(), pages(1));

  EXPECT_THAT(asked, SizeIs(1));
  EXPECT_EQ(refusal(1).code, Code::Limit);
  EXPECT_EQ(refusal_text(1), "a quota");
}

TEST_F(SessionSharesTest, EtcdThatTakesNoShare_IsNotTheTenantsLimit) {
  want();
  const auto to = next_wanted();
  sessions->hear(fleet::ShareIs{.tenant = kTenant,
                                .number = to.number,
                                .why = Error{.code = Errc::System, .text = "etcd is full"}});

  EXPECT_EQ(refusal(1).code, Code::Unavailable);
  EXPECT_EQ(refusal_text(1), "etcd is full");
}

TEST_F(SessionSharesTest, EtcdThatDoesNotAnswer_IsNotWaitedForWithoutEnd) {
  want();
  now_ns += kWhile;
  sessions->look_at_time();

  EXPECT_EQ(refusal(1).code, Code::Unavailable);
  EXPECT_THAT(refusal_text(1), HasSubstr("etcd has not answered"));
}

TEST_F(SessionSharesTest, ShareThatComesAfterThat_GrantsNothing) {
  want();
  const auto late = next_wanted();
  now_ns += kWhile;
  sessions->look_at_time();
  give_share(late, pages(1));

  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(next_wanted().wanted, Amount{});
}

TEST_F(SessionSharesTest, WhileOneWaits_ARevokeIsAskedForAtOnce) {
  const auto held = hold_one_of(1);
  want();
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = held.id, .epoch = held.epoch});

  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(held));
}

TEST_F(SessionSharesTest, BeforeTheOutcome_NothingIsGivenBack) {
  const auto held = hold_one_of(1);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = held.id, .epoch = held.epoch});
  now_ns += kWhile;
  sessions->look_at_time();

  EXPECT_THAT(shares_wanted, IsEmpty());
  want();
  EXPECT_EQ(next_wanted().held, pages(1));
}

TEST_F(SessionSharesTest, AfterTheOutcome_ItIsGivenBack) {
  const auto held = hold_one_of(1);
  end(held);
  now_ns += kWhile;
  sessions->look_at_time();
  const auto wanted = next_wanted();

  EXPECT_EQ(wanted.held, Amount{});
  EXPECT_EQ(wanted.wanted, Amount{});
}

TEST_F(SessionSharesTest, AfterTheOutcome_TheNextOneTakesItsPlace) {
  end(hold_one_of(1));
  want();

  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(SessionSharesTest, FencedWithoutAProof_StaysTheTenants) {
  const auto held = hold_one_of(1);
  sessions->hear(Ended{{.name = held,
                        .tenant = kTenant,
                        .outcome = wire::Outcome::Fenced,
                        .memory = wire::Memory::Unproved}});
  want();

  EXPECT_EQ(next_wanted().held, pages(1));
}

TEST_F(SessionSharesTest, FencedWithAProof_IsNot) {
  end(hold_one_of(1), kTenant, wire::Outcome::Fenced);
  want();

  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(SessionSharesTest, GrantThatTheDeviceRefuses_IsNotHeld) {
  want();
  give_share(next_wanted(), pages(1));
  const auto alloc = next_asked<Alloc>();
  sessions->hear(
      NotGranted{.ticket = alloc.ticket, .why = {.code = Errc::OutOfResources, .text = "no"}});
  want();

  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(SessionSharesTest, WhatIsSpared_IsGivenBackAfterAWhile) {
  (void)hold_one_of(3);
  now_ns += kWhile;
  sessions->look_at_time();

  EXPECT_EQ(next_wanted().wanted, pages(1));
}

TEST_F(SessionSharesTest, WhatIsBeingGivenBack_IsNotGranted) {
  (void)hold_one_of(3);
  now_ns += kWhile;
  sessions->look_at_time();
  want();

  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionSharesTest, WithoutAQuota_WhatIsSparedStays) {
  want();
  give_share(next_wanted(), pages(9), false);
  grant(5);
  now_ns += kWhile;
  sessions->look_at_time();

  EXPECT_THAT(shares_wanted, IsEmpty());
}

TEST_F(SessionSharesTest, AnotherQuota_EndsWhatIsSpared) {
  (void)hold_one_of(3);
  sessions->hear(QuotaChanged{kTenant});
  const auto wanted = next_wanted();
  want();

  EXPECT_EQ(wanted.wanted, pages(1));
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionSharesTest, QuotaBelowWhatIsHeld_EndsNothing) {
  (void)hold_one_of(3);
  sessions->hear(QuotaChanged{kTenant});
  refuse(next_wanted(), pages(1));

  EXPECT_THAT(asked, IsEmpty());
  EXPECT_THAT(sessions->tally(), SizeIs(1));
}

TEST_F(SessionSharesTest, QuotaOfATenantThatIsNotHere_IsLookedAt) {
  sessions->hear(QuotaChanged{kTenant + 1});

  EXPECT_EQ(next_wanted().wanted, Amount{});  // a server before this one may have left a share
}

TEST_F(SessionSharesTest, QuotaThatIsHeardOfBeforeTheSession_IsLookedAtWithIt) {
  start({}, {});
  sessions->hear(QuotaChanged{kTenant});
  EXPECT_THAT(shares_wanted, IsEmpty());
  lives();

  EXPECT_EQ(next_wanted().tenant, kTenant);
}

TEST_F(SessionSharesTest, WithTheSession_WhoeverWaitsIsRefused) {
  want();
  sessions->hear(FleetIsOut{});

  EXPECT_EQ(refusal(1).code, Code::Unavailable);
  EXPECT_THAT(refusal_text(1), HasSubstr("no session with etcd"));
}

TEST_F(SessionSharesTest, NextSession_IsAskedForWhatIsHeld) {
  (void)hold_one_of(3);
  sessions->hear(FleetIsOut{});
  lives();
  const auto wanted = next_wanted();
  want();

  EXPECT_EQ(wanted.wanted, pages(1));
  EXPECT_THAT(asked, IsEmpty());  // what was spared is not relied on
}

TEST_F(SessionSharesTest, FenceOfTheTenant_RefusesWhoeverWaits) {
  want();
  sessions->hear(FenceTenant{.tenant = kTenant, .epoch = 30});

  EXPECT_EQ(refusal(1).code, Code::Busy);
  EXPECT_THAT(fenced, SizeIs(1));  // it waits for nothing that the device has not been asked for
}

TEST_F(SessionSharesTest, EndOfTheServer_RefusesWhoeverWaits) {
  want();
  sessions->end();

  EXPECT_EQ(refusal(1).code, Code::Ending);
  EXPECT_TRUE(sessions->has_ended());
}

TEST_F(SessionSharesTest, WhoeverHasGone_GetsNothing) {
  want();
  sessions->closed(1);
  give_share(next_wanted(), pages(1));

  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionSharesTest, NodesOwnLimit_IsAllThatIsTaken) {
  begin({.tenant_leases = 2});
  want();
  want();
  want();
  (void)next_wanted();
  (void)next_wanted();
  const auto wanted = next_wanted();

  EXPECT_EQ(wanted.wanted.leases, 2U);
  EXPECT_EQ(wanted.most.leases, 2U);
}

TEST_F(SessionSharesTest, Left_IsWhatOthersMayBeTold) {
  sessions->set_counts({.slots = 9, .resting = 1, .out = 2});
  (void)hold_one_of(1);

  EXPECT_EQ(sessions->left().leases, 5U);
}

}  // namespace
}  // namespace portcullis::service::daemon
