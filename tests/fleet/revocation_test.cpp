// SPDX-License-Identifier: BSD-3-Clause
//
// What a node stands as, for each thing that etcd may have of it: no better than what is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/base64.hpp"
#include "fleet/revocation.hpp"
#include "tests/fleet/fake_gateway.hpp"

namespace portcullis::fleet {
namespace {

constexpr std::uint64_t kTenant = 7;
constexpr std::uint64_t kEpoch = 50;
constexpr std::uint64_t kNode = 0xa;

std::string entry(const std::string& key, const std::string& value) {
  return fmt::format(R"({{"key":"{}","value":"{}"}})", to_base64(key), to_base64(value));
}

std::string found(const std::string& entries) {
  return R"({"response_range":{"kvs":[)" + entries + "]}}";
}

std::string txn_answer(const std::vector<std::string>& responses) {
  std::string all;
  for (const std::string& each : responses) all += (all.empty() ? "" : ",") + each;
  return fmt::format(
      R"({{"header":{{"cluster_id":"1","revision":"{}"}},"succeeded":true,"responses":[{}]}})",
      kEpoch, all);
}

const std::string member_entry = entry(member_key("a"), json_of(Member{.node = kNode}));
const std::string ended_entry =
    entry(member_key("a"), json_of(Member{.node = kNode, .has_ended = true}));
const std::string session_entry =
    entry(session_key("a"), json_of(Registration{.node = kNode, .incarnation = 1}));

std::string outcome(std::uint64_t epoch, std::uint64_t node, std::uint32_t fenced) {
  return entry(
      outcome_key(kTenant, "a"),
      json_of(Outcome{
          .epoch = epoch, .node = node, .incarnation = 1, .torn_down = 3, .fenced = fenced}));
}

/// What etcd has when the epoch is raised, and when it is looked at again.
struct Store {
  std::string members = member_entry;
  std::string sessions = session_entry;
  std::string outcomes = "";
  std::string members_then = member_entry;
  std::string sessions_then = session_entry;
};

/// Node a, as it stands in the end.
NodeStanding standing_of(const Store& store) {
  const FakeGateway gateway([&store](const FakeGateway::Asked& asked) -> FakeGateway::Answer {
    const bool is_raise = asked.body.find("request_put") != std::string::npos;
    return {.body = is_raise ? txn_answer({R"({"response_put":{}})", found(store.members),
                                           found(store.sessions)})
                             : txn_answer({found(store.outcomes), found(store.members_then),
                                           found(store.sessions_then)})};
  });
  auto etcd = *Etcd::create({.endpoints = {gateway.url()}, .deadline_ms = 30'000});
  auto revocation = *Revocation::raise(*etcd, kTenant);
  EXPECT_TRUE(revocation.look());
  EXPECT_EQ(revocation.epoch(), kEpoch);
  EXPECT_EQ(revocation.nodes().size(), 1U);
  return revocation.nodes().at(0);
}

TEST(Standing, OutcomeAtTheEpoch_IsTornDown) {
  const auto node = standing_of({.outcomes = outcome(kEpoch, kNode, 0)});

  EXPECT_EQ(node.standing, Standing::TornDown);
  EXPECT_EQ(node.torn_down, 3U);
}

/// Node a after what its watch has told, and no look; it had no session when the epoch was raised.
NodeStanding standing_by_watch(const std::string& told) {
  const FakeGateway gateway([&told](const FakeGateway::Asked& asked) -> FakeGateway::Answer {
    if (asked.path == "/v3/watch")
      return {.body = fmt::format(R"({{"result":{{"header":{{"cluster_id":"1","revision":"51"}},)"
                                  R"("events":[{{"kv":{}}}]}}}})"
                                  "\n",
                                  told)};
    return {.body = txn_answer({R"({"response_put":{}})", found(member_entry), found("")})};
  });
  auto etcd = *Etcd::create({.endpoints = {gateway.url()}, .deadline_ms = 30'000});
  auto revocation = *Revocation::raise(*etcd, kTenant);
  bool has_news = false;
  for (int i = 0; i < 1'000 && !has_news; ++i) has_news = revocation.wait(30);
  EXPECT_TRUE(has_news);
  return revocation.nodes().at(0);
}

TEST(Standing, OutcomeThatTheWatchTells_NeedsNoLook) {
  const auto node = standing_by_watch(outcome(kEpoch, kNode, 0));

  EXPECT_EQ(node.standing, Standing::TornDown);
  EXPECT_TRUE(node.has_session);  // it has written that under one
}

TEST(Standing, OutcomeBelowTheEpochThatTheWatchTells_IsUnreachable) {
  EXPECT_EQ(standing_by_watch(outcome(kEpoch - 1, kNode, 0)).standing, Standing::Unreachable);
}

/// What node a comes to, and how many transactions that took, where etcd's watch began at a
/// revision and tells nothing, and a look would find the outcome.
std::pair<Standing, std::size_t> standing_by_watch_from(std::uint64_t revision) {
  const FakeGateway gateway([revision](const FakeGateway::Asked& asked) -> FakeGateway::Answer {
    if (asked.path == "/v3/watch")
      return {.body = fmt::format(R"({{"result":{{"header":{{"cluster_id":"1","revision":"{}"}},)"
                                  R"("created":true}}}})"
                                  "\n",
                                  revision)};
    const bool is_raise = asked.body.find("request_put") != std::string::npos;
    return {.body =
                txn_answer({is_raise ? R"({"response_put":{}})" : found(outcome(kEpoch, kNode, 0)),
                            found(member_entry), found(session_entry)})};
  });
  auto etcd = *Etcd::create({.endpoints = {gateway.url()}, .deadline_ms = 30'000});
  auto revocation = *Revocation::raise(*etcd, kTenant);
  bool has_news = false;
  for (int i = 0; i < 50 && !has_news; ++i) has_news = revocation.wait(10);
  const auto asked = gateway.asked();
  return {revocation.nodes().at(0).standing, static_cast<std::size_t>(std::ranges::count(
                                                 asked, "/v3/kv/txn", &FakeGateway::Asked::path))};
}

/// A watch from the epoch on would be told late by etcd, and what follows with it.
TEST(Standing, OutcomeBeforeTheWatchBegan_IsLookedForOnce) {
  EXPECT_EQ(standing_by_watch_from(kEpoch + 1), (std::pair{Standing::TornDown, std::size_t{2}}));
}

TEST(Standing, WatchFromTheEpochOn_NeedsNoLook) {
  EXPECT_EQ(standing_by_watch_from(kEpoch), (std::pair{Standing::Unreachable, std::size_t{1}}));
}

/// leasectl --wait at an etcd that was gone asked for a watch without a pause.
TEST(Standing, WatchThatIsRefused_IsAskedForOnceALook) {
  const FakeGateway gateway([](const FakeGateway::Asked& asked) -> FakeGateway::Answer {
    if (asked.path == "/v3/watch") return {.status = 503};
    return {.body =
                txn_answer({R"({"response_put":{}})", found(member_entry), found(session_entry)})};
  });
  auto etcd = *Etcd::create({.endpoints = {gateway.url()}, .deadline_ms = 30'000});
  auto revocation = *Revocation::raise(*etcd, kTenant);
  const auto watches = [&gateway] {
    return std::ranges::count(gateway.asked(), "/v3/watch", &FakeGateway::Asked::path);
  };
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(revocation.wait(5));
  EXPECT_EQ(watches(), 1);
  EXPECT_TRUE(revocation.look());
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(revocation.wait(5));
  EXPECT_EQ(watches(), 2);
}

TEST(Standing, OutcomeAboveTheEpoch_IsTornDown) {
  EXPECT_EQ(standing_of({.outcomes = outcome(kEpoch + 1, kNode, 0)}).standing, Standing::TornDown);
}

TEST(Standing, OutcomeWithSlotsFenced_IsFenced) {
  const auto node = standing_of({.outcomes = outcome(kEpoch, kNode, 2)});

  EXPECT_EQ(node.standing, Standing::Fenced);
  EXPECT_EQ(node.fenced, 2U);
}

TEST(Standing, OutcomeBelowTheEpoch_IsUnreachable) {
  EXPECT_EQ(standing_of({.outcomes = outcome(kEpoch - 1, kNode, 0)}).standing,
            Standing::Unreachable);
}

TEST(Standing, OutcomeOfAnotherNodeOfThatName_IsUnreachable) {
  EXPECT_EQ(standing_of({.outcomes = outcome(kEpoch, kNode + 1, 0)}).standing,
            Standing::Unreachable);
}

TEST(Standing, OutcomeThatCannotBeRead_IsUnreachable) {
  EXPECT_EQ(standing_of({.outcomes = entry(outcome_key(kTenant, "a"), R"({"epoch":50})")}).standing,
            Standing::Unreachable);
}

TEST(Standing, NoOutcomeWithASession_IsUnreachableYet) {
  const auto node = standing_of({});

  EXPECT_EQ(node.standing, Standing::Unreachable);
  EXPECT_TRUE(node.has_session);
  EXPECT_EQ(node.remark, "it has a session, and has not answered yet");
}

TEST(Standing, NoOutcomeWithoutASession_IsUnreachable) {
  const auto node = standing_of({.sessions_then = ""});

  EXPECT_EQ(node.standing, Standing::Unreachable);
  EXPECT_FALSE(node.has_session);
}

TEST(Standing, SessionOfAnotherNodeOfThatName_IsNotItsOwn) {
  const std::string others =
      entry(session_key("a"), json_of(Registration{.node = kNode + 1, .incarnation = 1}));

  EXPECT_FALSE(standing_of({.sessions_then = others}).has_session);
}

/// Somebody has taken the name away while the node was there: it may hold what it held.
TEST(Standing, SessionWithoutAMember_IsUnreachable) {
  const auto node = standing_of({.members = "", .members_then = ""});

  EXPECT_EQ(node.name, "a");
  EXPECT_EQ(node.standing, Standing::Unreachable);
  EXPECT_TRUE(node.has_session);
}

TEST(Standing, SessionWithoutAMemberThatAnswers_IsTornDown) {
  EXPECT_EQ(standing_of({.members = "", .outcomes = outcome(kEpoch, kNode, 0), .members_then = ""})
                .standing,
            Standing::TornDown);
}

TEST(Standing, SessionWithoutAMemberThatCannotBeRead_IsUnreachable) {
  const std::string garbage = entry(session_key("a"), "garbage");
  const auto node = standing_of({.members = "",
                                 .sessions = garbage,
                                 .outcomes = outcome(kEpoch, kNode, 0),
                                 .members_then = "",
                                 .sessions_then = garbage});

  EXPECT_EQ(node.standing, Standing::Unreachable);
  EXPECT_EQ(node.node, 0U);
}

TEST(Standing, EndOfAnotherNodeThatStandsInItsName_SaysNothingOfASession) {
  const std::string other =
      entry(member_key("a"), json_of(Member{.node = kNode + 1, .has_ended = true}));
  const auto node = standing_of({.members = other, .members_then = other});

  EXPECT_EQ(node.node, kNode);
  EXPECT_EQ(node.standing, Standing::Unreachable);
}

/// Its session stands in the same read: it has not ended, whoever has written that.
TEST(Standing, MemberThatSaysSoAndHasASession_HasNotEnded) {
  EXPECT_EQ(standing_of({.members = ended_entry, .members_then = ended_entry}).standing,
            Standing::Unreachable);
  EXPECT_EQ(standing_of({.members_then = ended_entry}).standing, Standing::Unreachable);
}

TEST(Revocation, NumberThatStandsForEveryTenant_IsRefusedAndNothingIsAsked) {
  const FakeGateway gateway([](const FakeGateway::Asked&) -> FakeGateway::Answer { return {}; });
  auto etcd = *Etcd::create({.endpoints = {gateway.url()}, .deadline_ms = 30'000});
  const auto raised = Revocation::raise(*etcd, ~std::uint64_t{0});

  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().code, Errc::InvalidArgument);
  EXPECT_TRUE(gateway.asked().empty());
}

TEST(Standing, MemberThatHadEnded_IsTornDown) {
  EXPECT_EQ(standing_of({.members = ended_entry, .sessions = "", .sessions_then = ""}).standing,
            Standing::TornDown);
}

TEST(Standing, MemberThatEndsMeanwhile_IsTornDown) {
  EXPECT_EQ(standing_of({.members_then = ended_entry, .sessions_then = ""}).standing,
            Standing::TornDown);
}

TEST(Standing, AnotherNodeOfThatNameThatHasEnded_SaysNothingOfThisOne) {
  const std::string other =
      entry(member_key("a"), json_of(Member{.node = kNode + 1, .has_ended = true}));

  EXPECT_EQ(standing_of({.members_then = other, .sessions_then = ""}).standing,
            Standing::Unreachable);
}

TEST(Standing, MemberThatCannotBeRead_IsUnreachableWhateverItSays) {
  const auto node =
      standing_of({.members = entry(member_key("a"), "?"), .outcomes = outcome(kEpoch, kNode, 0)});

  EXPECT_EQ(node.standing, Standing::Unreachable);
  EXPECT_FALSE(node.remark.empty());
}

// ---- Expired ------------------------------------------------------------------------------------

constexpr Isolation kPromise{.after_s = 60, .stall_s = 10, .tenants = {}};
// 60 s, and three times 10 s, and a hundredth of both.
constexpr std::uint64_t kExpiryNs = 90'900'000'000;

std::string member(std::uint64_t revision, const std::optional<Isolation>& isolation,
                   std::uint64_t node = kNode) {
  const std::string value = json_of(Member{.node = node, .isolation = isolation});
  return fmt::format(R"({{"key":"{}","value":"{}","mod_revision":"{}"}})",
                     to_base64(member_key("a")), to_base64(value), revision);
}

/// One fence, and what etcd has at each look, with a clock that goes on between them alone.
class Expiry : public testing::Test {
 protected:
  NodeStanding begin(const std::string& members, const std::string& sessions = "") {
    members_ = members;
    sessions_ = sessions;
    revocation_ = *Revocation::raise(*etcd_, kTenant, Clock::simulated(&Expiry::now, this));
    return revocation_->nodes().at(0);
  }
  NodeStanding look_after(std::uint64_t ns) {
    now_ns_ += ns;
    EXPECT_TRUE(revocation_->look());
    return revocation_->nodes().at(0);
  }
  void then(const std::string& members, const std::string& sessions = "") {
    members_ = members;
    sessions_ = sessions;
  }
  void has_outcome(const std::string& entry) { outcomes_ = entry; }
  /// Each answer takes so long.
  void answers_take(std::uint64_t ns) { answer_ns_ = ns; }

 private:
  static std::uint64_t now(const void* test) noexcept {
    return static_cast<const Expiry*>(test)->now_ns_;
  }
  FakeGateway::Answer answer(const FakeGateway::Asked& asked) {
    now_ns_ += answer_ns_;
    const bool is_raise = asked.body.find("request_put") != std::string::npos;
    return {.body = txn_answer({is_raise ? R"({"response_put":{}})" : found(outcomes_),
                                found(members_), found(sessions_)})};
  }

  std::atomic<std::uint64_t> now_ns_{1'000'000'000};
  std::atomic<std::uint64_t> answer_ns_{0};
  std::string members_;
  std::string sessions_;
  std::string outcomes_;
  FakeGateway gateway_{[this](const FakeGateway::Asked& asked) { return answer(asked); }};
  std::unique_ptr<Etcd> etcd_ =
      *Etcd::create({.endpoints = {gateway_.url()}, .deadline_ms = 30'000});
  std::optional<Revocation> revocation_;
};

TEST_F(Expiry, NodeThatStaysAway_IsExpiredWhenItsTimeIsOverAndNotBefore) {
  EXPECT_EQ(begin(member(9, kPromise)).standing, Standing::Unreachable);
  EXPECT_EQ(look_after(kExpiryNs - 1).standing, Standing::Unreachable);

  EXPECT_EQ(look_after(1).standing, Standing::Expired);
}

TEST_F(Expiry, UntilThen_ItIsToldHowLongItMayHoldWhatItHeld) {
  (void)begin(member(9, kPromise));

  EXPECT_EQ(look_after(kNsPerSecond).remark,
            "it has had no session for 1 s; it may hold what it held, for 90 s more at most");
}

TEST_F(Expiry, NodeThatPromisesNothing_IsNeverExpired) {
  (void)begin(member(9, std::nullopt));

  EXPECT_EQ(look_after(1000 * kExpiryNs).standing, Standing::Unreachable);
}

TEST_F(Expiry, NodeThatMayStandStillForEver_IsNeverExpired) {
  (void)begin(member(9, Isolation{.after_s = 60}));

  EXPECT_EQ(look_after(1000 * kExpiryNs).standing, Standing::Unreachable);
}

TEST_F(Expiry, TenantThatDidNotAskForIt_IsNeverExpired) {
  (void)begin(member(9, Isolation{.after_s = 60, .stall_s = 10, .tenants = {kTenant + 1}}));

  EXPECT_EQ(look_after(1000 * kExpiryNs).standing, Standing::Unreachable);
}

TEST_F(Expiry, NodeWithASession_IsNotExpired) {
  (void)begin(member(9, kPromise), session_entry);

  EXPECT_EQ(look_after(1000 * kExpiryNs).standing, Standing::Unreachable);
}

TEST_F(Expiry, TimeCountsFromTheFirstLookWithoutASession) {
  (void)begin(member(9, kPromise), session_entry);
  then(member(9, kPromise));
  (void)look_after(kExpiryNs);
  EXPECT_EQ(look_after(kExpiryNs - 1).standing, Standing::Unreachable);

  EXPECT_EQ(look_after(1).standing, Standing::Expired);
}

TEST_F(Expiry, NodeThatComesBackAndGoes_HasItsTimeAnew) {
  (void)begin(member(9, kPromise));
  then(member(11, kPromise), session_entry);
  (void)look_after(kExpiryNs - 1);
  then(member(11, kPromise));
  (void)look_after(1);

  EXPECT_EQ(look_after(kExpiryNs - 1).standing, Standing::Unreachable);
}

TEST_F(Expiry, NodeThatJoinedAndWentBetweenTwoLooks_HasItsTimeAnew) {
  (void)begin(member(9, kPromise));
  then(member(11, kPromise));
  EXPECT_EQ(look_after(kExpiryNs).standing, Standing::Unreachable);
  EXPECT_EQ(look_after(kExpiryNs - 1).standing, Standing::Unreachable);

  EXPECT_EQ(look_after(1).standing, Standing::Expired);
}

TEST_F(Expiry, LaterPromise_IsWhatCounts) {
  (void)begin(member(9, kPromise));
  then(member(11, Isolation{.after_s = 600, .stall_s = 10}));
  (void)look_after(0);

  EXPECT_EQ(look_after(kExpiryNs).standing, Standing::Unreachable);
}

TEST_F(Expiry, NodeThatRenewsNothingAlone_IsExpiredOnceEveryTtlIsOver) {
  const Isolation by_ttl{.after_s = 60, .stall_s = 10, .ends_by_ttl = true};
  (void)begin(member(9, by_ttl));
  EXPECT_EQ(look_after(kExpiryNs - 1).standing, Standing::Unreachable);
  const NodeStanding node = look_after(1);

  EXPECT_EQ(node.standing, Standing::Expired);
  EXPECT_THAT(node.remark, testing::HasSubstr("every lease's TTL is over"));
}

TEST_F(Expiry, NameThatWasTakenAway_IsNotExpired) {
  (void)begin(member(9, kPromise));
  then("");

  EXPECT_EQ(look_after(kExpiryNs).standing, Standing::Unreachable);
}

TEST_F(Expiry, NameOfAnotherNodeNow_IsNotExpired) {
  (void)begin(member(9, kPromise));
  then(member(9, kPromise, kNode + 1));

  EXPECT_EQ(look_after(kExpiryNs).standing, Standing::Unreachable);
}

TEST_F(Expiry, SessionThatCannotBeRead_IsASession) {
  (void)begin(member(9, kPromise));
  then(member(9, kPromise), entry(session_key("a"), "?"));

  EXPECT_EQ(look_after(kExpiryNs).standing, Standing::Unreachable);
}

TEST_F(Expiry, SlowAnswers_PutItOff) {
  answers_take(kNsPerSecond);  // the first says how things are by its end, the last since its start
  (void)begin(member(9, kPromise));
  EXPECT_EQ(look_after(kExpiryNs - 1).standing, Standing::Unreachable);

  EXPECT_EQ(look_after(0).standing, Standing::Expired);
}

TEST_F(Expiry, OutcomeThatComesAllTheSame_SaysMore) {
  (void)begin(member(9, kPromise));
  (void)look_after(kExpiryNs);
  has_outcome(outcome(kEpoch, kNode, 0));

  EXPECT_EQ(look_after(0).standing, Standing::TornDown);
}

}  // namespace
}  // namespace portcullis::fleet
