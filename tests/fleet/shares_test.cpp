// SPDX-License-Identifier: BSD-3-Clause
//
// What a node takes of a tenant's quota: never more than is left, whatever comes between its
// requests, and nothing relied on that etcd has not confirmed.
#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "fleet/shares.hpp"
#include "tests/fleet/fake_store.hpp"

namespace portcullis::fleet {
namespace {

using testing::HasSubstr;
using Fate = FakeStore::Fate;

constexpr std::uint64_t kTenant = 7;
constexpr std::uint64_t kNode = 0xa;
constexpr std::uint64_t kOther = 0xb;
constexpr std::uint64_t kPage = 4'096;
constexpr std::uint64_t kLater = 10 * kNsPerSecond;

Amount pages(std::uint64_t leases) { return {.leases = leases, .bytes = leases * kPage}; }
Quota leases(std::uint64_t most) { return {.most = {.leases = most, .bytes = kNoLimit}}; }

ShareWanted wanting(std::uint64_t wanted, std::uint64_t held = 0) {
  return {.tenant = kTenant,
          .number = wanted,
          .held = pages(held),
          .wanted = pages(wanted),
          .most = pages(100)};
}

// ---- How much ----------------------------------------------------------------------------------

TEST(ShareOf, WithoutAQuota_IsTheNodesOwnLimit) { EXPECT_EQ(share_of(wanting(1), {}), pages(100)); }

TEST(ShareOf, WithRoom_HasSomeToSpare) {
  // An eighth of the 62 that are left then, in whole grants.
  EXPECT_EQ(share_of(wanting(1), {.quota = pages(64), .others = pages(1)}), pages(8));
}

TEST(ShareOf, WithMuchRoom_HasSixteenMore) {
  EXPECT_EQ(share_of(wanting(3, 2), {.quota = pages(10'000), .own = pages(2)}), pages(19));
}

TEST(ShareOf, WithTheLastOne_HasNothingToSpare) {
  EXPECT_EQ(share_of(wanting(2, 1), {.quota = pages(8), .others = pages(6), .own = pages(1)}),
            pages(2));
}

TEST(ShareOf, WithLessThanIsWanted_IsWhatThereIs) {
  EXPECT_EQ(share_of(wanting(5, 1), {.quota = pages(8), .others = pages(6), .own = pages(1)}),
            pages(2));
}

TEST(ShareOf, LessWanted_IsExactlyThat) {
  EXPECT_EQ(share_of(wanting(3, 3), {.quota = pages(64), .own = pages(9)}), pages(3));
}

TEST(ShareOf, QuotaBelowWhatIsHeld_TakesNothingAway) {
  EXPECT_EQ(share_of(wanting(4, 3), {.quota = pages(2), .own = pages(3)}), pages(3));
}

TEST(ShareOf, QuotaBelowWhatIsSpared_LeavesNothingToGrow) {
  EXPECT_EQ(share_of(wanting(6, 3), {.quota = pages(2), .own = pages(5)}), pages(5));
}

TEST(ShareOf, OthersHaveMoreThanAll_LeavesNothing) {
  EXPECT_EQ(share_of(wanting(1), {.quota = pages(8), .others = pages(kNoLimit / kPage)}), Amount{});
}

// ---- One node ----------------------------------------------------------------------------------

class SharesTest : public testing::Test {
 protected:
  void SetUp() override {
    session.revision = store.put(session_key("a"), json_of(Registration{.node = kNode}));
    member("a", kNode);
    member("b", kOther);
  }
  void member(const std::string& name, std::uint64_t node, bool has_ended = false) {
    store.put(member_key(name), json_of(Member{.node = node, .has_ended = has_ended}));
  }
  void quota(const Quota& quota) { store.put(quota_key(kTenant), json_of(quota)); }
  void share_of_b(std::uint64_t leases) {
    store.put(share_key(kTenant, "b"), json_of(Share{.node = kOther, .taken = pages(leases)}));
  }
  /// What stands in etcd as node a's.
  Amount stored() {
    const auto entry = store.get(share_key(kTenant, "a"));
    return entry ? read_share(entry->value)->taken : Amount{};
  }
  /// Once whatever was to be tried again is due.
  std::optional<ShareIs> settle() { return *shares.settle(*etcd, {session}, now_ns += kLater); }
  ShareIs get(const ShareWanted& wanted) {
    shares.want(wanted);
    auto is = settle();
    EXPECT_TRUE(is);
    return is.value_or(ShareIs{});
  }

  FakeStore store;
  std::unique_ptr<Etcd> etcd = store.client();
  Compare session{.key = session_key("a")};
  Shares shares{"a", kNode};
  std::uint64_t now_ns = 0;
};

TEST_F(SharesTest, QuotaWithRoom_GivesWhatIsWanted) {
  quota(leases(3));
  const ShareIs is = get(wanting(2));

  EXPECT_EQ(is.most.leases, 2U);
  EXPECT_TRUE(is.has_quota);
  EXPECT_FALSE(is.why);
  EXPECT_EQ(stored(), is.most);
}

TEST_F(SharesTest, QuotaThatOthersHaveTaken_SaysSo) {
  quota(leases(3));
  share_of_b(3);
  const ShareIs is = get(wanting(1));

  EXPECT_EQ(is.most.leases, 0U);
  ASSERT_TRUE(is.why);
  EXPECT_EQ(is.why->code, Errc::OutOfResources);
  EXPECT_THAT(is.why->text, HasSubstr("3 leases, any bytes; other nodes have 3 leases"));
}

TEST_F(SharesTest, OtherNodeBetweenReadAndWrite_IsSeen) {
  quota(leases(3));
  store.before_next_write([this] { share_of_b(3); });
  shares.want(wanting(1));

  EXPECT_FALSE(settle());  // somebody was faster
  EXPECT_EQ(stored().leases, 0U);
  EXPECT_EQ(settle()->most.leases, 0U);
}

TEST_F(SharesTest, QuotaThatIsLoweredBetweenReadAndWrite_IsSeen) {
  quota(leases(3));
  store.before_next_write([this] { quota(leases(1)); });
  shares.want(wanting(2));

  EXPECT_FALSE(settle());
  EXPECT_EQ(settle()->most.leases, 1U);
}

TEST_F(SharesTest, QuotaThatComesBetweenReadAndWrite_IsSeen) {
  store.before_next_write([this] { quota(leases(1)); });
  shares.want(wanting(2));

  EXPECT_FALSE(settle());
  EXPECT_EQ(settle()->most.leases, 1U);
}

TEST_F(SharesTest, LessWhileAnotherNodeTakes_NeedsNoSecondTry) {
  quota(leases(9));
  (void)get(wanting(3));
  store.before_next_write([this] { share_of_b(3); });

  EXPECT_EQ(get(wanting(1, 1)).most.leases, 1U);
}

TEST_F(SharesTest, WriteWithoutAnAnswer_IsReliedOnOnceItIsConfirmed) {
  quota(leases(3));
  store.next_write(Fate::Unanswered);
  shares.want(wanting(2));

  EXPECT_FALSE(settle());
  EXPECT_EQ(settle()->most.leases, 2U);
  EXPECT_EQ(store.writes(), 2U);  // it is there already, and is written all the same
}

TEST_F(SharesTest, SmallerShareThatComesLate_DoesNotUndoALargerOne) {
  quota(leases(9));
  (void)get(wanting(4));
  store.next_write(Fate::HeldBack);
  shares.want(wanting(1, 1));
  EXPECT_FALSE(settle());
  const ShareIs is = get(wanting(3, 1));
  store.release();

  EXPECT_GE(stored().leases, is.most.leases);
  EXPECT_GE(is.most.leases, 3U);
}

TEST_F(SharesTest, SmallerShareThatMayStillCome_CountsAtOnce) {
  quota(leases(4));
  (void)get(wanting(4));
  store.next_write(Fate::HeldBack);
  shares.want(wanting(1, 1));
  EXPECT_FALSE(settle());
  store.next_write(Fate::Refused);
  const ShareIs is = get(wanting(2, 1));

  EXPECT_EQ(is.most.leases, 1U);
}

TEST_F(SharesTest, LargerShareThatComesLate_IsNotLeftTaken) {
  quota({.most = pages(4)});
  (void)get(wanting(1));
  store.next_write(Fate::HeldBack);
  shares.want(wanting(3, 1));
  EXPECT_FALSE(settle());
  (void)get(wanting(1, 1));  // what is there already, but the other write may still come
  store.release();

  EXPECT_EQ(stored(), pages(1));
}

TEST_F(SharesTest, SameAgain_IsNotWrittenAgain) {
  quota({.most = pages(2)});
  (void)get(wanting(2));
  (void)get(wanting(2, 1));

  EXPECT_EQ(store.writes(), 1U);
}

TEST_F(SharesTest, NothingWantedAndNothingThere_IsNotWritten) {
  quota(leases(2));

  EXPECT_EQ(get(wanting(0)).most, Amount{});
  EXPECT_EQ(store.writes(), 0U);
}

TEST_F(SharesTest, ShareOfAServerBeforeThisOne_IsGivenBack) {
  quota(leases(9));
  store.put(share_key(kTenant, "a"), json_of(Share{.node = kNode, .taken = pages(5)}));

  EXPECT_EQ(get(wanting(0)).most, Amount{});
  EXPECT_EQ(stored(), Amount{});
}

/// Nobody has counted it since, so others may have all there is.
TEST_F(SharesTest, ShareOfAServerThatHadEnded_IsNotTakenForOnesOwn) {
  quota(leases(3));
  store.put(share_key(kTenant, "a"), json_of(Share{.node = kNode, .taken = pages(2)}));
  member("a", kNode, true);
  share_of_b(3);
  member("a", kNode);
  const ShareIs is = get(wanting(1));

  EXPECT_EQ(is.most.leases, 0U);
  EXPECT_TRUE(is.why);
}

TEST_F(SharesTest, ShareOfASessionBefore_IsReplacedBesideTheOthers) {
  quota(leases(3));
  store.put(share_key(kTenant, "a"), json_of(Share{.node = kNode, .taken = pages(2)}));
  store.before_next_write([this] { share_of_b(3); });
  shares.want(wanting(1));

  EXPECT_FALSE(settle());  // somebody was faster
  EXPECT_EQ(settle()->most.leases, 0U);
}

TEST_F(SharesTest, ServerBeforeThatMayStillHold_KeepsItsShareBesideOnesOwn) {
  quota(leases(6));
  store.put(share_key(kTenant, "a"), json_of(Share{.node = kNode, .taken = pages(5)}));
  ShareWanted wanted = wanting(2);
  wanted.keeps_before = true;
  const ShareIs is = get(wanted);

  EXPECT_EQ(is.most.leases, 1U);
  EXPECT_TRUE(is.why);
  EXPECT_EQ(stored().leases, 6U);
}

TEST_F(SharesTest, ShareOfAnotherNodeOfThisName_IsNotOnesOwn) {
  quota(leases(2));
  store.put(share_key(kTenant, "a"), json_of(Share{.node = 0xdead, .taken = pages(2)}));

  EXPECT_EQ(get(wanting(2)).most.leases, 2U);
  EXPECT_EQ(stored().leases, 2U);
}

TEST_F(SharesTest, NewSession_ReliesOnNothingBefore) {
  quota(leases(4));
  (void)get(wanting(4));
  store.put(share_key(kTenant, "a"), json_of(Share{.node = kNode}));  // it had been taken away
  share_of_b(3);
  shares.begin();

  EXPECT_EQ(get(wanting(2, 1)).most.leases, 1U);
}

TEST_F(SharesTest, NewSessionThatCannotWrite_HasNothing) {
  quota(leases(4));
  (void)get(wanting(4));
  shares.begin();
  store.next_write(Fate::Refused);

  EXPECT_EQ(get(wanting(2, 1)).most, Amount{});
}

TEST_F(SharesTest, HeldAboveTheQuota_IsWrittenAsItIs) {
  quota(leases(1));
  share_of_b(1);
  const ShareIs is = get(wanting(4, 3));

  EXPECT_EQ(is.most.leases, 3U);
  EXPECT_TRUE(is.why);
  EXPECT_EQ(stored().leases, 3U);
}

TEST_F(SharesTest, NodeThatIsAway_KeepsItsShare) {
  quota(leases(3));
  share_of_b(3);  // b has no session

  EXPECT_EQ(get(wanting(1)).most.leases, 0U);
}

TEST_F(SharesTest, NodeThatEndedWithNothingHeld_HasNoShare) {
  quota(leases(3));
  share_of_b(3);
  member("b", kOther, true);

  EXPECT_EQ(get(wanting(1)).most.leases, 1U);
}

TEST_F(SharesTest, NodeWhoseNameWasTakenAway_HasNoShare) {
  quota(leases(3));
  share_of_b(3);
  store.erase(member_key("b"));

  EXPECT_EQ(get(wanting(1)).most.leases, 1U);
}

TEST_F(SharesTest, QuotaThatCannotBeRead_GivesNothingMore) {
  store.put(quota_key(kTenant), R"({"leases":"many"})");
  const ShareIs is = get(wanting(2, 1));

  EXPECT_EQ(is.most.leases, 1U);
  ASSERT_TRUE(is.why);
  EXPECT_THAT(is.why->text, HasSubstr("cannot be read"));
}

TEST_F(SharesTest, ShareThatCannotBeRead_GivesNothingMore) {
  quota(leases(9));
  store.put(share_key(kTenant, "b"), "{}");
  const ShareIs is = get(wanting(1));

  EXPECT_EQ(is.most.leases, 0U);
  ASSERT_TRUE(is.why);
  EXPECT_THAT(is.why->text, HasSubstr("node b's share"));
}

TEST_F(SharesTest, WithoutAQuota_OthersAreNotLookedAt) {
  store.put(share_key(kTenant, "b"), "{}");
  store.before_next_write([this] { share_of_b(3); });

  EXPECT_EQ(get(wanting(1)).most, pages(100));
}

TEST_F(SharesTest, EtcdThatIsFull_SaysSo) {
  quota(leases(9));
  store.next_write(Fate::Refused);
  const ShareIs is = get(wanting(1));

  EXPECT_EQ(is.most.leases, 0U);
  ASSERT_TRUE(is.why);
  EXPECT_EQ(is.why->code, Errc::System);
  EXPECT_THAT(is.why->text, HasSubstr("database space exceeded"));
}

TEST_F(SharesTest, EtcdThatIsFull_GetsTheShareBackLater) {
  quota(leases(9));
  (void)get(wanting(3));
  store.next_write(Fate::Refused);
  shares.want(wanting(1, 1));
  EXPECT_FALSE(settle());

  EXPECT_EQ(settle()->most.leases, 1U);
  EXPECT_EQ(stored().leases, 1U);
}

TEST_F(SharesTest, ShareOfANodeWithASessionAndNoName_IsTaken) {
  quota(leases(2));
  share_of_b(2);
  store.erase(member_key("b"));
  store.put(session_key("b"), json_of(Registration{.node = kOther, .incarnation = 1}));

  EXPECT_EQ(get(wanting(1)).most.leases, 0U);
}

TEST_F(SharesTest, ShareThatEtcdHasLost_IsAStoreThatHasGoneBack) {
  quota(leases(8));
  (void)get(wanting(1));
  store.erase(share_key(kTenant, "a"));
  shares.want(wanting(2));
  const auto settled = shares.settle(*etcd, {session}, now_ns += kLater);

  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code, Errc::DeviceFailed);
  EXPECT_TRUE(etcd->has_gone_back());
}

TEST_F(SharesTest, SessionThatIsGone_IsNotFound) {
  store.erase(session_key("a"));
  shares.want(wanting(1));
  const auto settled = shares.settle(*etcd, {session}, kLater);

  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code, Errc::NotFound);
}

TEST_F(SharesTest, SessionThatGoesBetweenReadAndWrite_WritesNothing) {
  store.before_next_write([this] { store.erase(session_key("a")); });
  shares.want(wanting(1));
  (void)shares.settle(*etcd, {session}, kLater);

  EXPECT_EQ(stored(), Amount{});
}

TEST_F(SharesTest, TenantsHaveTheirTurns) {
  shares.want(wanting(1));
  ShareWanted other = wanting(1);
  other.tenant = kTenant + 1;
  shares.want(other);
  shares.want(wanting(1));

  EXPECT_EQ(settle()->tenant, kTenant);
  EXPECT_EQ(settle()->tenant, kTenant + 1);
  EXPECT_FALSE(settle());
  EXPECT_FALSE(shares.due_ns());
}

// ---- Many nodes at once ------------------------------------------------------------------------

/// What nodes may hold by what they have been told, together; and the most that it ever was.
class Sum {
 public:
  void change(std::uint64_t from, std::uint64_t to) {
    const std::lock_guard<std::mutex> one(lock_);
    now_ += to - from;
    most_ = std::max(most_, now_);
  }
  [[nodiscard]] std::uint64_t most() const { return most_; }

 private:
  std::mutex lock_;
  std::uint64_t now_ = 0;
  std::uint64_t most_ = 0;
};

/// A node that wants now more and now less, as leases come and go.
void live(FakeStore& store, std::uint64_t number, Sum& sum, std::uint64_t& granted) {
  const std::string name = "node-" + std::to_string(number);
  const auto etcd = store.client();
  const Compare session{.key = session_key(name), .revision = store.put(session_key(name), "here")};
  store.put(member_key(name), json_of(Member{.node = number}));
  Shares shares(name, number);
  std::mt19937_64 chance(number);
  std::uint64_t may_hold = 0;
  for (std::uint64_t round = 1; round <= 60; ++round) {
    const std::uint64_t wanted = chance() % 6;
    const std::uint64_t less = std::min(may_hold, wanted);
    sum.change(may_hold, less);  // before etcd hears of it
    may_hold = less;
    shares.want(wanting(wanted, less));
    const auto settled = shares.settle(*etcd, {session}, round * kLater);
    if (!settled || !*settled) continue;  // somebody was faster
    sum.change(may_hold, (*settled)->most.leases);
    may_hold = (*settled)->most.leases;
    granted += may_hold;
  }
}

TEST(SharesOfManyNodes, TakenAtOnce_AreNeverMoreThanTheQuota) {
  constexpr std::uint64_t kQuota = 7;
  constexpr std::uint64_t kNodes = 4;
  FakeStore store;
  store.put(quota_key(kTenant), json_of(leases(kQuota)));
  Sum sum;
  std::vector<std::uint64_t> granted(kNodes + 1);
  std::vector<std::thread> threads;
  for (std::uint64_t node = 1; node <= kNodes; ++node)
    threads.emplace_back([&, node] { live(store, node, sum, granted.at(node)); });
  for (std::thread& each : threads) each.join();

  EXPECT_LE(sum.most(), kQuota);
  EXPECT_GT(*std::min_element(granted.begin() + 1, granted.end()), 0U);
}

}  // namespace
}  // namespace portcullis::fleet
