// SPDX-License-Identifier: BSD-3-Clause
//
// A quota as its operator sets and reads it, and a share that is taken back from a node that holds
// nothing any more.
#include <gmock/gmock.h>

#include <string>

#include "fleet/quotas.hpp"
#include "tests/fleet/fake_store.hpp"

namespace portcullis::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::uint64_t kTenant = 7;
constexpr std::uint64_t kNode = 0xa;

class QuotasTest : public testing::Test {
 protected:
  Amount set(const QuotaChange& change) { return set_quota(*etcd, kTenant, change)->quota.most; }
  QuotaUse use() { return read_quotas(*etcd, kTenant)->uses.at(0); }
  std::uint64_t member(bool has_ended = false) {
    return store.put(member_key("a"), json_of(Member{.node = kNode, .has_ended = has_ended}));
  }
  void share(std::uint64_t leases, std::uint64_t node = kNode) {
    store.put(share_key(kTenant, "a"), json_of(Share{.node = node, .taken = {leases, 1}}));
  }
  bool give_back(std::uint64_t member_revision, std::uint64_t node = kNode) {
    return *give_back_share(*etcd, kTenant,
                            {.name = "a", .node = node, .member_revision = member_revision});
  }

  FakeStore store;
  std::unique_ptr<Etcd> etcd = store.client();
};

TEST_F(QuotasTest, LimitThatIsNotNamed_StaysAsItWas) {
  (void)set({.leases = 5, .bytes = 100});

  EXPECT_EQ(set({.leases = 6}), (Amount{.leases = 6, .bytes = 100}));
}

TEST_F(QuotasTest, NoLimit_TakesBothAway) {
  (void)set({.leases = 5, .bytes = 100});

  EXPECT_EQ(set({.lifts = true}), (Amount{.leases = kNoLimit, .bytes = kNoLimit}));
  EXPECT_FALSE(use().has_quota);
}

TEST_F(QuotasTest, LimitOf0AndOf64Bits_IsTakenAsItIs) {
  EXPECT_EQ(set({.leases = 0, .bytes = kNoLimit - 1}),
            (Amount{.leases = 0, .bytes = kNoLimit - 1}));
}

TEST_F(QuotasTest, AnotherOperatorBetweenReadAndWrite_IsNotOverwrittenUnseen) {
  (void)set({.leases = 5, .bytes = 100});
  store.before_next_write([this] {
    store.put(quota_key(kTenant), json_of(Quota{.most = {9, 200}}));
  });

  EXPECT_EQ(set({.leases = 6}), (Amount{.leases = 6, .bytes = 200}));
}

TEST_F(QuotasTest, QuotaThatCannotBeRead_IsReplacedByBothLimitsAlone) {
  store.put(quota_key(kTenant), "[]");
  const auto one = set_quota(*etcd, kTenant, {.leases = 5});

  ASSERT_FALSE(one);
  EXPECT_THAT(one.error().text, HasSubstr("cannot be read"));
  EXPECT_EQ(set({.leases = 5, .bytes = 9}), (Amount{.leases = 5, .bytes = 9}));
}

TEST_F(QuotasTest, SharesOfMembers_AreTaken) {
  (void)member();
  share(3);

  EXPECT_EQ(use().taken().leases, 3U);
  EXPECT_FALSE(use().shares.at(0).has_session);
}

TEST_F(QuotasTest, ShareOfANodeThatEndedWithNothing_IsFree) {
  (void)member(true);
  share(3);

  EXPECT_TRUE(use().shares.at(0).is_free);
  EXPECT_EQ(use().taken().leases, 0U);
}

TEST_F(QuotasTest, ShareOfANodeWithASessionAndNoName_IsTaken) {
  share(3);
  store.put(session_key("a"), json_of(Registration{.node = kNode, .incarnation = 1}));

  EXPECT_FALSE(use().shares.at(0).is_free);
  EXPECT_EQ(use().taken().leases, 3U);
}

TEST_F(QuotasTest, ShareBesideASessionThatCannotBeRead_IsTaken) {
  share(3);
  store.put(session_key("a"), "garbage");

  EXPECT_FALSE(use().shares.at(0).is_free);
}

TEST_F(QuotasTest, ShareOfANodeBeforeTheOneThatHasTheSession_IsFree) {
  share(3);
  store.put(session_key("a"), json_of(Registration{.node = kNode + 1, .incarnation = 1}));

  EXPECT_TRUE(use().shares.at(0).is_free);
}

TEST_F(QuotasTest, LimitThatIsThereTwice_CannotBeRead) {
  store.put(quota_key(kTenant), R"({"leases":5,"leases":500})");

  EXPECT_THAT(use().fault, HasSubstr("leases is there twice"));
}

TEST_F(QuotasTest, EveryTenantWithAQuotaOrAShare_IsListed) {
  (void)set({.leases = 5});
  store.put(share_key(71, "a"), json_of(Share{.node = kNode}));

  EXPECT_THAT(read_quotas(*etcd, std::nullopt)->uses, SizeIs(2));
  EXPECT_THAT(use().shares, SizeIs(0));  // 71 is not 7
}

TEST_F(QuotasTest, KeysThatAreNoTenants_AreNamed) {
  store.put(std::string(kQuotas) + "abc", R"({"leases":5})");
  store.put(std::string(kShares) + "07/a", json_of(Share{.node = kNode}));

  EXPECT_THAT(read_quotas(*etcd, std::nullopt)->strange,
              ElementsAre("/portcullis/quotas/abc", "/portcullis/shares/07/a"));
}

TEST_F(QuotasTest, ShareOfAGoneNode_IsGivenBack) {
  const std::uint64_t revision = member();
  share(3);

  EXPECT_TRUE(give_back(revision));
  EXPECT_EQ(use().taken().leases, 0U);
}

TEST_F(QuotasTest, ShareOfANodeThatHasJoinedSince_StaysTaken) {
  const std::uint64_t revision = member();
  share(3);
  (void)member();

  EXPECT_FALSE(give_back(revision));
  EXPECT_EQ(use().taken().leases, 3U);
}

TEST_F(QuotasTest, ShareOfANodeWithASession_StaysTaken) {
  const std::uint64_t revision = member();
  share(3);
  store.put(session_key("a"), "here");

  EXPECT_FALSE(give_back(revision));
}

TEST_F(QuotasTest, ShareOfAnotherNodeOfThatName_StaysTaken) {
  const std::uint64_t revision = member();
  share(3, 0xb);

  EXPECT_FALSE(give_back(revision));
}

}  // namespace
}  // namespace portcullis::fleet
