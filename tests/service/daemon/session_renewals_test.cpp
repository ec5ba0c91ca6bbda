// SPDX-License-Identifier: BSD-3-Clause
//
// Renewals that cross with the ends of connections: whatever comes first, what was answered holds
// as long as somebody does who was answered, and orphan_ms begins when nobody does.
#include <gmock/gmock.h>

#include "tests/service/daemon/session_world.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::Op;

constexpr std::uint64_t kLongMs = 60'000;
constexpr std::uint16_t kRenewed = wire::answer_to(Op::LeaseRenew);
constexpr std::uint16_t kRevoked = wire::number(wire::Notice::Revoked);

class SessionRenewalsTest : public SessionWorld {
 protected:
  /// 1 holds the lease; 2 is of its tenant, and 3 an operator of another.
  void SetUp() override {
    SessionWorld::SetUp();
    greet(1);
    greet(2);
    greet(3, 0, wire::Role::Operator);
    lease = holds(1, 5);
  }
  /// What the device was asked for.
  Renew ask_to_renew(ConnectionId id) {
    say(id, Op::LeaseRenew,
        wire::RenewRequest{.id = lease.id, .epoch = lease.epoch, .ttl_ms = kLongMs});
    return next_asked<Renew>();
  }
  void answer(const Renew& renew) { sessions->hear(Renewed{.ticket = renew.ticket, .done = {}}); }
  void refuse(const Renew& renew) {
    sessions->hear(Renewed{.ticket = renew.ticket, .done = fail(Errc::NotFound, "gone")});
  }
  std::uint64_t left_ms() {
    say(2, Op::LeaseList, wire::ListRequest{.tenant = 7});
    return wire::read_list(*wire::read_frame(sent[2].back()))->rows.at(0).left_ms;
  }
  /// The device was told that the lease has orphan_ms, and nothing else.
  void expect_orphaned() {
    ASSERT_THAT(asked, SizeIs(1));
    const Renew shortened = next_asked<Renew>();
    EXPECT_EQ(shortened.ticket, 0u);
    EXPECT_EQ(shortened.ttl_ms, Limits{}.orphan_ms);
  }

  lease::LeaseName lease;
};

TEST_F(SessionRenewalsTest, HolderThatGoesBeforeTheAnswer_LeavesTheLeaseToWhoRenews) {
  const Renew renew = ask_to_renew(2);
  sessions->closed(1);
  answer(renew);
  EXPECT_EQ(last<wire::RenewAnswer>(2).ttl_ms, kLongMs);
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(left_ms(), kLongMs);
}

TEST_F(SessionRenewalsTest, RenewerThatGoesAfterThat_LeavesItForOrphanMs) {
  const Renew renew = ask_to_renew(2);
  sessions->closed(1);
  answer(renew);
  sessions->closed(2);
  expect_orphaned();
}

TEST_F(SessionRenewalsTest, BothGoBeforeTheAnswer_OrphanMsIsLeftBehindIt) {
  const Renew renew = ask_to_renew(2);
  sessions->closed(1);
  sessions->closed(2);
  asked.clear();
  answer(renew);
  expect_orphaned();
}

TEST_F(SessionRenewalsTest, BothGoTheRenewerFirst_OrphanMsIsLeftBehindIt) {
  const Renew renew = ask_to_renew(2);
  sessions->closed(2);
  EXPECT_THAT(asked, IsEmpty());  // 1 holds it
  sessions->closed(1);
  expect_orphaned();
  answer(renew);
  expect_orphaned();
}

TEST_F(SessionRenewalsTest, OneOfTwoRenewalsUnderWay_IsEnoughToHold) {
  const Renew first = ask_to_renew(2);
  const Renew second = ask_to_renew(2);
  sessions->closed(1);
  answer(first);
  refuse(second);
  EXPECT_THAT(asked, IsEmpty());
  sessions->closed(2);
  expect_orphaned();
}

TEST_F(SessionRenewalsTest, RenewalThatIsRefusedBehindTheHoldersEnd_LeavesOrphanMs) {
  const Renew renew = ask_to_renew(2);
  sessions->closed(1);
  refuse(renew);
  EXPECT_EQ(refusal(2).code, wire::Code::NotFound);
  expect_orphaned();
}

TEST_F(SessionRenewalsTest, HolderThatIsRefusedARenewal_HoldsAsBefore) {
  refuse(ask_to_renew(1));
  EXPECT_THAT(asked, IsEmpty());
  sessions->closed(1);
  expect_orphaned();
}

TEST_F(SessionRenewalsTest, RevokedBetweenTheHoldersEndAndTheAnswer_AskerIsToldNotFound) {
  const Renew renew = ask_to_renew(2);
  sessions->closed(1);
  say(3, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  EXPECT_THAT(next_asked<Revoke>().names, ElementsAre(lease));
  end(lease, 7, wire::Outcome::TornDown, wire::Cause::Operator);
  refuse(renew);
  EXPECT_EQ(refusal(2).code, wire::Code::NotFound);
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionRenewalsTest, RevokedBehindTheRenewalBeforeItsAnswer_AskerHearsOfTheEnd) {
  const Renew renew = ask_to_renew(2);
  sessions->closed(1);
  say(3, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  asked.clear();
  answer(renew);
  end(lease, 7, wire::Outcome::TornDown, wire::Cause::Operator);
  EXPECT_THAT(ops(2), ElementsAre(kRenewed, kRevoked));
  sessions->closed(2);
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(SessionRenewalsTest, OperatorOfAnotherTenantThatRenewsAnOrphan_PutsItsEndOff) {
  sessions->closed(1);
  expect_orphaned();
  answer(ask_to_renew(3));
  EXPECT_EQ(last<wire::RenewAnswer>(3).ttl_ms, kLongMs);
  sessions->closed(3);  // it holds nothing
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(left_ms(), kLongMs);
}

TEST_F(SessionRenewalsTest, HolderThatGoesBehindTheOperatorsRenewal_LeavesOrphanMs) {
  answer(ask_to_renew(3));
  sessions->closed(1);
  expect_orphaned();
}

TEST_F(SessionRenewalsTest, HolderThatGoesBeforeTheOperatorIsAnswered_UndoesNothingOfIt) {
  const Renew renew = ask_to_renew(3);
  sessions->closed(1);
  sessions->closed(3);
  answer(renew);
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(left_ms(), kLongMs);
}

TEST_F(SessionRenewalsTest, OperatorThatIsRefusedBehindTheHoldersEnd_LeavesOrphanMs) {
  const Renew renew = ask_to_renew(3);
  sessions->closed(1);
  refuse(renew);
  expect_orphaned();
}

}  // namespace
}  // namespace portcullis::service::daemon
