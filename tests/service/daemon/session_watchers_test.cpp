// SPDX-License-Identifier: BSD-3-Clause
//
// Who watches hears of every end, once and in order; and a thousand who do keep nobody waiting.
#include <gmock/gmock.h>

#include <algorithm>

#include "service/daemon/sessions.hpp"
#include "tests/service/daemon/session_world.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::Op;

constexpr std::uint16_t kRevoked = wire::number(wire::Notice::Revoked);
constexpr std::uint16_t kExpired = wire::number(wire::Notice::Expired);

using SessionWatchers = SessionWorld;

class SessionsWithWatchers : public SessionWatchers {
 protected:
  static constexpr ConnectionId kFirst = 100;
  static constexpr std::size_t kWatchers = 1'000;

  void SetUp() override {
    SessionWatchers::SetUp();
    for (std::size_t i = 0; i < kWatchers; ++i) {
      greet(kFirst + i, 7, wire::Role::Operator);
      say(kFirst + i, Op::LeaseWatch, wire::WatchRequest{.tenant = wire::kEveryTenant});
      sent[kFirst + i].clear();
    }
  }
  std::size_t told_times(std::size_t notices) {
    return static_cast<std::size_t>(
        std::count_if(sent.begin(), sent.end(), [notices](const auto& each) {
          return each.first >= kFirst && each.second.size() == notices;
        }));
  }
  void tell_all() {
    for (std::size_t i = 0; i < 2 * kWatchers && sessions->tell_watchers(); ++i) {
    }
  }
};

TEST_F(SessionsWithWatchers, HolderAndRevoker_DoNotWaitForThemAll) {
  greet(1);
  const auto lease = holds(1, 5);
  say(1, Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  end(lease);
  EXPECT_THAT(ops(1), ElementsAre(kRevoked, wire::answer_to(Op::LeaseRevoke)));
  EXPECT_EQ(told_times(1), 64u);
  tell_all();
  EXPECT_EQ(told_times(1), kWatchers);
}

TEST_F(SessionsWithWatchers, ManyEnds_EachWatcherHearsOfEachInTheirOrder) {
  greet(1);
  const auto first = holds(1, 5);
  const auto second = holds(1, 6);
  end(first);
  end(second);
  tell_all();
  EXPECT_EQ(told_times(2), kWatchers);
  EXPECT_EQ(wire::read_body<wire::EndedNotice>(*wire::read_frame(sent[kFirst + 900][0]))->id,
            first.id);
}

TEST_F(SessionsWithWatchers, WatcherWhoHolds_HearsOfItOnce) {
  const auto lease = holds(kFirst + 900, 5);
  end(lease);
  tell_all();
  EXPECT_EQ(told_times(1), kWatchers);
}

TEST_F(SessionsWithWatchers, WhoBeginsBehindAnEnd_HearsNothingOfIt) {
  greet(1);
  const auto lease = holds(1, 5);
  end(lease);
  greet(9'000, 7, wire::Role::Operator);
  say(9'000, Op::LeaseWatch, wire::WatchRequest{.tenant = wire::kEveryTenant});
  tell_all();
  EXPECT_THAT(ops(9'000), ElementsAre(wire::answer_to(Op::LeaseWatch)));
}

TEST_F(SessionsWithWatchers, WhoWatchesSomethingElseBehindAnEnd_HearsOfItAllTheSame) {
  greet(1);
  const auto lease = holds(1, 5);
  end(lease);
  say(kFirst + 900, Op::LeaseWatch, wire::WatchRequest{.tenant = 8});
  tell_all();
  EXPECT_THAT(ops(kFirst + 900), ElementsAre(kRevoked, wire::answer_to(Op::LeaseWatch)));
  const auto other = holds(1, 6);
  end(other);
  tell_all();
  EXPECT_THAT(sent[kFirst + 900], SizeIs(2));
}

TEST_F(SessionsWithWatchers, WatcherThatGoes_IsNotSpokenTo) {
  greet(1);
  const auto lease = holds(1, 5);
  end(lease);
  sessions->closed(kFirst + 900);
  tell_all();
  EXPECT_THAT(sent[kFirst + 900], IsEmpty());
  EXPECT_EQ(told_times(1), kWatchers - 1);
}

TEST_F(SessionWatchers, WhoWatchesAgain_HearsOfTheLastAlone) {
  greet(1);
  greet(2, 7, wire::Role::Operator);
  say(2, Op::LeaseWatch, wire::WatchRequest{.tenant = 7});
  say(2, Op::LeaseWatch, wire::WatchRequest{.tenant = 8});
  sent[2].clear();
  end(holds(1, 5));
  EXPECT_THAT(sent[2], IsEmpty());
}

TEST_F(SessionWatchers, WhoWatches_HearsOfItsTenantAlone) {
  greet(1);
  greet(2);
  greet(3, 8);
  greet(4, 9, wire::Role::Observer);
  say(2, Op::LeaseWatch, wire::WatchRequest{.tenant = 7});
  say(3, Op::LeaseWatch, wire::WatchRequest{.tenant = 8});
  say(4, Op::LeaseWatch, wire::WatchRequest{.tenant = wire::kEveryTenant});
  const auto lease = holds(1, 5);
  end(lease, 7, wire::Outcome::TornDown, wire::Cause::Expired);
  EXPECT_THAT(ops(2), ElementsAre(wire::answer_to(Op::LeaseWatch), kExpired));
  EXPECT_THAT(ops(3), ElementsAre(wire::answer_to(Op::LeaseWatch)));
  EXPECT_THAT(ops(4), ElementsAre(wire::answer_to(Op::LeaseWatch), kExpired));
}

}  // namespace
}  // namespace portcullis::service::daemon
