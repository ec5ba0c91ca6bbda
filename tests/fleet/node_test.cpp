// SPDX-License-Identifier: BSD-3-Clause
//
// A node whose session ends: what it relied on in that session it relies on no more.
#include "fleet/node.hpp"

#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "tests/fleet/fake_store.hpp"

namespace portcullis::fleet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kTenant = 7;
constexpr std::uint64_t kOther = 0xb;
constexpr std::uint64_t kQuota = 10;

class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    store.put(quota_key(kTenant), json_of(Quota{.most = {.leases = kQuota, .bytes = kNoLimit}}));
    start();
  }
  void start(const std::string& name = "a") {
    NodeListener listener;
    listener.lives = [this](std::uint64_t, std::uint64_t until) {
      lives = true;
      until_ns = until;
    };
    listener.is_out = [this](const std::string& text) {
      lives = false;
      why = text;
    };
    listener.log = [this](std::string_view line) {
      if (log) log(line);
    };
    listener.fence = [this](std::uint64_t tenant, std::uint64_t) {
      told.insert(tenant);
      now_ns += tell_ns;
    };
    listener.share = [this](const ShareIs& is) { share = is; };
    node = *Node::create(store.client(others), *NodeMemory::open(folder + "/node"), {.name = name},
                         std::move(listener), Clock::simulated(&NodeTest::now, this));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static std::uint64_t now(const void* test) noexcept {
    return static_cast<const NodeTest*>(test)->now_ns;
  }
  /// Whatever is due by then, one thing at a time.
  void pass(std::uint64_t seconds) {
    for (std::uint64_t i = 0; i < 2 * seconds; ++i) {
      now_ns += kNsPerSecond / 2;
      node->work(wake.get());
    }
  }
  /// What the node may hold, once etcd has it.
  std::optional<ShareIs> want(std::uint64_t leases) {
    share.reset();
    node->want({.tenant = kTenant,
                .number = leases,
                .wanted = {.leases = leases, .bytes = leases},
                .most = {.leases = 100, .bytes = 100}});
    pass(20);
    return share;
  }
  /// As whoever finds it Expired does it, and another node then.
  void give_all_to_another() {
    const auto own = read_share(store.get(share_key(kTenant, "a"))->value);
    store.put(share_key(kTenant, "a"), json_of(Share{.node = own->node}));
    store.put(member_key("b"), json_of(Member{.node = kOther}));
    store.put(share_key(kTenant, "b"),
              json_of(Share{.node = kOther, .taken = {.leases = kQuota, .bytes = kQuota}}));
  }

  std::string folder = "/tmp/portcullis-XXXXXX";
  std::uint64_t now_ns = kNsPerSecond;
  UniqueFd wake{::eventfd(1, EFD_CLOEXEC)};  // readable: no wait takes time
  FakeStore store;
  std::vector<std::string> others;  // endpoints
  bool lives = false;
  std::uint64_t until_ns = 0;  // it lives
  std::uint64_t tell_ns = 0;   // that each tenant takes
  std::string why;
  std::set<std::uint64_t> told;  // tenants to be fenced
  LogSink log;
  std::optional<ShareIs> share;
  std::unique_ptr<Node> node;
};

TEST_F(NodeTest, ShareOfASessionThatHasEnded_IsNotReliedOnInTheNext) {
  pass(1);
  ASSERT_TRUE(want(8));
  ASSERT_GE(share->most.leases, 8U);

  store.end_leases();
  give_all_to_another();
  pass(20);

  ASSERT_TRUE(lives);  // again
  const auto is = want(4);
  EXPECT_EQ(is.value_or(ShareIs{}).most.leases, 0U);
  const auto stored = store.get(share_key(kTenant, "a"));
  EXPECT_EQ(stored ? read_share(stored->value)->taken.leases : 0U, 0U);
}

/// etcd has its session, and it does not know.
TEST_F(NodeTest, NodeThatEndsWhileItJoins_LeavesNoSession) {
  store.next_write(FakeStore::Fate::Unanswered);
  node->work(wake.get());
  ASSERT_FALSE(lives);
  ASSERT_TRUE(store.get(session_key("a")));

  node->end(true);
  EXPECT_FALSE(store.get(session_key("a")));
}

TEST_F(NodeTest, NodeThatIsToEnd_SaysNothingOfWhatItAskedForInVain) {
  std::vector<std::string> lines;
  log = [&](std::string_view line) { lines.emplace_back(line); };
  store.next_write(FakeStore::Fate::Unanswered);
  node->end_soon();
  node->work(wake.get());

  EXPECT_FALSE(lives);
  EXPECT_THAT(lines, testing::IsEmpty());
}

TEST_F(NodeTest, NameThatEtcdHasNoMore_ItDoesNotJoinAgain) {
  pass(1);
  ASSERT_TRUE(lives);

  store.erase(member_key("a"));  // by an operator, or with whatever a backup does not have
  store.end_leases();
  pass(40);

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr("the name of node a no more"));
  EXPECT_FALSE(store.get(member_key("a")));
}

/// Whoever fences sees its session, and nobody else can have the name.
TEST_F(NodeTest, NameThatIsTakenAwayWhileItIsThere_ItWritesAgain) {
  std::vector<std::string> lines;
  log = [&](std::string_view line) { lines.emplace_back(line); };
  pass(1);
  store.erase(member_key("a"));
  pass(5);

  EXPECT_TRUE(lives);
  ASSERT_TRUE(store.get(member_key("a")));
  EXPECT_FALSE(read_member(store.get(member_key("a"))->value)->has_ended);
  EXPECT_THAT(lines, Contains(HasSubstr("/portcullis/members/a in etcd was deleted")).Times(1));
}

TEST_F(NodeTest, NameThatIsGivenToAnotherWhileItIsThere_ItWritesAgain) {
  pass(1);
  const std::string own = store.get(member_key("a"))->value;
  store.put(member_key("a"), json_of(Member{.node = kOther, .has_ended = true}));
  pass(5);

  EXPECT_TRUE(lives);
  EXPECT_EQ(store.get(member_key("a"))->value, own);
}

TEST_F(NodeTest, OutcomeBehindANameThatWasTakenAway_IsWritten) {
  pass(1);
  store.erase(member_key("a"));
  node->fenced(kTenant, store.put(epoch_key(kTenant), "x"), 1, 0);
  pass(5);

  EXPECT_TRUE(store.get(outcome_key(kTenant, "a")));
  EXPECT_TRUE(store.get(member_key("a")));
}

TEST_F(NodeTest, SessionThatIsOverwritten_IsItsOwnNoMore) {
  std::vector<std::string> lines;
  log = [&](std::string_view line) { lines.emplace_back(line); };
  pass(1);
  store.put(session_key("a"), "garbage");
  pass(5);

  EXPECT_FALSE(lives);
  EXPECT_THAT(lines, Contains(HasSubstr("somebody else has written /portcullis/sessions/a")));
  EXPECT_FALSE(want(1));
}

/// The backup has the name and the session as they are, and what was written since is lost.
TEST_F(NodeTest, StoreThatWasPutBackWithoutItsShare_IsNotBelievedHoweverFarItHasGoneOn) {
  pass(1);
  const FakeStore::Backup backup = store.backup();
  ASSERT_TRUE(want(8));
  store.restore(backup);
  for (int i = 0; i < 40; ++i) store.put("/other", "x");
  pass(5);

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr("gone back: it has /portcullis/shares/7/a no more"));
}

TEST_F(NodeTest, StoreThatWasPutBackWhileItWasOut_IsNotBelieved) {
  pass(1);
  const FakeStore::Backup backup = store.backup();
  node->fenced(kTenant, store.put(epoch_key(kTenant), "x"), 1, 0);
  pass(1);
  ASSERT_TRUE(store.get(outcome_key(kTenant, "a")));
  store.restore(backup);
  store.end_leases();
  for (int i = 0; i < 40; ++i) store.put("/other", "x");
  const std::uint64_t name_before = store.get(member_key("a"))->mod_revision;
  pass(20);

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr("gone back: it has /portcullis/outcomes/7/a no more"));
  EXPECT_EQ(store.get(member_key("a"))->mod_revision, name_before);
}

/// A node that has nothing to write is in a backup as it is; but not in one that is old.
TEST_F(NodeTest, NodeThatWritesNothing_WritesItsNameOnceInTenMinutes) {
  pass(1);
  const std::uint64_t joined = store.get(member_key("a"))->mod_revision;
  pass(590);
  EXPECT_EQ(store.get(member_key("a"))->mod_revision, joined);
  const FakeStore::Backup backup = store.backup();
  pass(20);
  EXPECT_GT(store.get(member_key("a"))->mod_revision, joined);
  ASSERT_TRUE(lives);
  store.restore(backup);
  store.end_leases();
  for (int i = 0; i < 40; ++i) store.put("/other", "x");
  pass(20);

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr("as of revision"));
}

TEST_F(NodeTest, NameThatWasWrittenAndNotAnswered_IsNoChange) {
  std::vector<std::string> lines;
  log = [&](std::string_view line) { lines.emplace_back(line); };
  pass(595);
  store.next_write(FakeStore::Fate::Unanswered);
  pass(20);

  EXPECT_TRUE(lives);
  EXPECT_THAT(lines, Not(Contains(HasSubstr("in etcd was"))));
}

TEST_F(NodeTest, NodeThatIsRenamed_IsToldWhoseJournalItHas) {
  pass(1);
  node.reset();
  store.end_leases();
  lives = false;
  start("z");
  pass(5);

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr("node z was renamed: in etcd its journal is that of node a"));
  EXPECT_FALSE(store.get(member_key("z")));
}

/// A store that was restored and has caught up with what the node remembers.
TEST_F(NodeTest, NameOlderThanTheNodeHasWrittenIt_ItDoesNotJoin) {
  pass(1);
  node.reset();
  store.end_leases();
  auto memory = *NodeMemory::open(folder + "/node");
  const std::uint64_t written = store.get(member_key("a"))->mod_revision;
  ASSERT_TRUE(memory.remember(memory.cluster(), written + 5));
  for (int i = 0; i < 20; ++i) store.put("/other", "x");
  lives = false;
  start();
  pass(40);

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr("as of revision"));
}

/// Its session is there still: it does not live on until that is over.
TEST_F(NodeTest, StoreThatGoesBackInASession_EndsItAtTheNextKeepalive) {
  pass(1);
  for (int i = 0; i < 20; ++i) store.put("/other", "x");
  pass(5);
  ASSERT_TRUE(lives);
  store.go_back_to(store.get(member_key("a"))->mod_revision);
  pass(4);  // a third of the session's 10 s and a bit

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr("gone back"));
}

TEST_F(NodeTest, NodeThatComesBack_JoinsUnderItsName) {
  pass(1);
  node.reset();
  store.end_leases();
  for (int i = 0; i < 20; ++i) store.put("/other", "x");
  lives = false;
  start();
  pass(40);

  EXPECT_TRUE(lives) << why;
}

TEST_F(NodeTest, SessionKeyThatIsNone_IsNamed) {
  node.reset();
  store.put(session_key("a"), "x");
  start();
  pass(5);

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr(session_key("a") + " in etcd: the JSON object is missing"));
}

TEST_F(NodeTest, KeysThatAreNoTenants_AreOneLine) {
  std::vector<std::string> lines;
  log = [&](std::string_view line) { lines.emplace_back(line); };
  pass(1);
  for (int i = 0; i < 5; ++i) store.put(std::string(kEpochs) + "x\ny\x1b", "x");
  pass(20);

  EXPECT_THAT(lines, Contains(HasSubstr("/portcullis/epochs/x y  that is no")).Times(1));
}

TEST_F(NodeTest, NumberThatStandsForEveryTenant_FencesNobodyAndIsOneLine) {
  std::vector<std::string> lines;
  log = [&](std::string_view line) { lines.emplace_back(line); };
  store.put(std::string(kEpochs) + "18446744073709551615", "x");
  store.put(epoch_key(kTenant), "x");
  pass(20);

  EXPECT_THAT(told, ElementsAre(kTenant));
  EXPECT_THAT(lines, Contains(HasSubstr("18446744073709551615 that is no")).Times(1));
}

TEST_F(NodeTest, EndpointOfAnotherCluster_NothingIsGranted) {
  const FakeGateway other([](const FakeGateway::Asked&) -> FakeGateway::Answer {
    return {.body = R"({"header":{"cluster_id":"99","revision":"5"}})"};
  });
  others = {other.url()};
  start();
  pass(20);

  EXPECT_FALSE(lives);
  EXPECT_THAT(why, HasSubstr("endpoints of one cluster are accepted"));
  EXPECT_FALSE(store.get(session_key("a")));
}

TEST_F(NodeTest, BacklogOfOutcomes_IsWrittenManyAtATimeAndKeepsNothingWaiting) {
  pass(1);
  for (std::uint64_t tenant = 100; tenant < 300; ++tenant) node->fenced(tenant, 10, 1, 0);
  const std::uint64_t before = store.writes();
  node->work(wake.get());
  EXPECT_EQ(store.writes(), before + 1);
  node->fenced(50, 20, 1, 0);  // a fence that comes meanwhile
  node->work(wake.get());
  EXPECT_TRUE(store.get(outcome_key(50, "a")));
  EXPECT_FALSE(store.get(outcome_key(100, "a")));
  pass(5);

  EXPECT_TRUE(store.get(outcome_key(100, "a")));
  EXPECT_TRUE(store.get(outcome_key(299, "a")));
  EXPECT_LE(store.writes(), before + 5);
}

/// --max-txn-ops, which nobody can be asked: what is refused is tried with half as many.
TEST_F(NodeTest, MoreOutcomesThanEtcdTakesAtOnce_AreWrittenInSmallerTransactions) {
  store.limit_operations(5);
  pass(1);
  for (std::uint64_t tenant = 100; tenant < 130; ++tenant) node->fenced(tenant, 10, 1, 0);
  pass(15);

  EXPECT_TRUE(lives);
  EXPECT_TRUE(store.get(outcome_key(100, "a")));
  EXPECT_TRUE(store.get(outcome_key(129, "a")));
}

TEST_F(NodeTest, MoreTenantsThanARequestReads_AreAllToldBeforeItLives) {
  constexpr std::uint64_t kTenants = 12'001;
  for (std::uint64_t tenant = 0; tenant < kTenants; ++tenant) store.put(epoch_key(tenant), "fence");
  node->work(wake.get());

  EXPECT_TRUE(lives);
  EXPECT_EQ(told.size(), kTenants);
}

TEST_F(NodeTest, TenantsThatTakeLongerThanASession_AreToldWhileItIsKept) {
  constexpr std::uint64_t kTenants = 12'001;
  tell_ns = kNsPerMs;  // 12 s in all, and a session lives for 10
  for (std::uint64_t tenant = 0; tenant < kTenants; ++tenant) store.put(epoch_key(tenant), "fence");
  node->work(wake.get());

  EXPECT_EQ(told.size(), kTenants);
  EXPECT_GT(until_ns, now_ns);
}

TEST_F(NodeTest, TenantsThatTakeLongerThanAnyRead_ItDoesNotJoin) {
  std::vector<std::string> lines;
  log = [&](std::string_view line) { lines.emplace_back(line); };
  tell_ns = 70 * kNsPerMs;  // 700 s for two pages
  for (std::uint64_t tenant = 0; tenant < 12'001; ++tenant) store.put(epoch_key(tenant), "fence");
  node->work(wake.get());

  EXPECT_FALSE(lives);
  EXPECT_THAT(lines, Contains(HasSubstr("of 10000 tenants and more was not read within 600 s")));
}

TEST_F(NodeTest, TenantThatIsFencedTwiceBeforeItIsWritten_HasTheLaterEpoch) {
  pass(1);
  node->fenced(kTenant, 10, 1, 0);
  node->fenced(kTenant, 20, 2, 0);
  pass(5);

  EXPECT_THAT(store.get(outcome_key(kTenant, "a"))->value, HasSubstr("\"epoch\":20"));
}

TEST_F(NodeTest, SessionThatIsKept_KeepsItsShare) {
  pass(1);
  ASSERT_TRUE(want(8));

  pass(40);

  EXPECT_TRUE(lives);
  EXPECT_GE(want(9).value_or(ShareIs{}).most.leases, 9U);
}

}  // namespace
}  // namespace portcullis::fleet
