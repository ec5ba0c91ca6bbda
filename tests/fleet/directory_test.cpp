// SPDX-License-Identifier: BSD-3-Clause
//
// The names and values that the fleet keeps in etcd: what is written comes back, and what nobody
// here has written is refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fleet/directory.hpp"

namespace portcullis::fleet {
namespace {

TEST(Directory, EpochKey_NamesItsTenant) {
  EXPECT_EQ(epoch_key(7), "/portcullis/epochs/7");
  EXPECT_EQ(tenant_of_epoch_key("/portcullis/epochs/7"), 7U);
}

class NoEpochKey : public testing::TestWithParam<const char*> {};

TEST_P(NoEpochKey, Key_NamesNoTenant) { EXPECT_FALSE(tenant_of_epoch_key(GetParam())); }

// 7 has one key alone, or a second one could be raised in its place.
INSTANTIATE_TEST_SUITE_P(Keys, NoEpochKey,
                         testing::Values("/portcullis/epochs/", "/portcullis/epochs/07",
                                         "/portcullis/epochs/7/", "/portcullis/epochs/-7",
                                         "/portcullis/epochs/18446744073709551616",
                                         "/portcullis/members/7"));

TEST(Directory, OutcomesOfATenant_AreNotThoseOfALongerNumber) {
  EXPECT_FALSE(outcome_key(71, "a").starts_with(outcome_prefix(7)));
  EXPECT_TRUE(outcome_key(7, "a").starts_with(outcome_prefix(7)));
}

TEST(Directory, NodeName_IsWhatAKeyCanHave) {
  EXPECT_TRUE(check_node_name("db-1.example_A"));
  EXPECT_TRUE(check_node_name(std::string(64, 'a')));
}

class NoNodeName : public testing::TestWithParam<std::string> {};

TEST_P(NoNodeName, Name_IsRefused) {
  const auto checked = check_node_name(GetParam());

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Errc::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Names, NoNodeName,
                         testing::Values("", "a/b", "a b", "a\n", "\xc3\xa4", ".", "..",
                                         std::string(65, 'a')));

TEST(Directory, Member_ComesBack) {
  const auto member = read_member(json_of(Member{.node = 0xabc, .has_ended = true}));

  ASSERT_TRUE(member);
  EXPECT_EQ(member->node, 0xabcU);
  EXPECT_TRUE(member->has_ended);
}

TEST(Directory, MemberThatFencesWhenAlone_ComesBack) {
  const Isolation isolation{.after_s = 60, .stall_s = 20, .tenants = {7, 1ULL << 62}};
  const auto member = read_member(json_of(Member{.node = 1, .isolation = isolation}));

  ASSERT_TRUE(member) << member.error().text;
  EXPECT_EQ(member->isolation, isolation);
}

TEST(Directory, MemberThatRenewsNothingAlone_ComesBack) {
  const Isolation isolation{.after_s = 60, .stall_s = 20, .ends_by_ttl = true};
  const auto member = read_member(json_of(Member{.node = 1, .isolation = isolation}));

  ASSERT_TRUE(member) << member.error().text;
  EXPECT_EQ(member->isolation, isolation);
}

TEST(Directory, MemberOfAServerWithoutThat_IsRead) {
  const auto member = read_member(R"({"node":"1","has_ended":false})");

  ASSERT_TRUE(member);
  EXPECT_FALSE(member->isolation);
}

class NoIsolation : public testing::TestWithParam<const char*> {};

TEST_P(NoIsolation, Text_IsMalformed) {
  EXPECT_FALSE(
      read_member(std::string(R"({"node":"1","has_ended":false,"isolation":)") + GetParam() + "}"));
}

INSTANTIATE_TEST_SUITE_P(Texts, NoIsolation,
                         testing::Values("null", "{}", R"({"after_s":60,"stall_s":20})",
                                         R"({"after_s":-1,"stall_s":20,"tenants":[]})",
                                         R"({"after_s":60,"stall_s":20,"tenants":["7"]})",
                                         R"({"after_s":60,"tenants":[]})",
                                         R"({"after_s":60,"stall_s":20,"tenants":[],)"
                                         R"("ends_by_ttl":1})"));

TEST(Isolation, CoversWhomItNames_OrEverybody) {
  EXPECT_TRUE((Isolation{.tenants = {7}}).covers(7));
  EXPECT_FALSE((Isolation{.tenants = {7}}).covers(8));
  EXPECT_TRUE(Isolation{}.covers(8));
}

TEST(Directory, Registration_ComesBack) {
  const auto read = read_registration(json_of(Registration{.node = 1,
                                                           .incarnation = 2,
                                                           .device = "model",
                                                           .address = "192.0.2.1",
                                                           .socket = "/run/a \"b\"",
                                                           .quic = "",
                                                           .slots = 1024,
                                                           .version = "0.1"}));

  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->incarnation, 2U);
  EXPECT_EQ(read->socket, "/run/a \"b\"");
  EXPECT_EQ(read->slots, 1024U);
}

TEST(Directory, WhatANodeSaysOfItsPlace_ComesBack) {
  const auto read = read_registration(json_of(Registration{.node = 1,
                                                           .incarnation = 2,
                                                           .labels = {"rack=r1", "zone=b"},
                                                           .memory_bytes = 1ULL << 40,
                                                           .residence_ms = 3}));

  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->labels, (std::vector<std::string>{"rack=r1", "zone=b"}));
  EXPECT_EQ(read->memory_bytes, 1ULL << 40);
  EXPECT_EQ(read->residence_ms, 3U);
}

TEST(Directory, RegistrationOfAnEarlierVersion_HasNoPlace) {
  const auto read = read_registration(R"({"node":"1","incarnation":"2","slots":3})");

  ASSERT_TRUE(read) << read.error().text;
  EXPECT_TRUE(read->labels.empty());
}

TEST(Directory, QuotaAndShareAndOffer_ComeBack) {
  const Amount amount{.leases = 5, .bytes = kNoLimit - 1};

  EXPECT_EQ(read_quota(json_of(Quota{.most = amount}))->most, amount);
  EXPECT_EQ(read_share(json_of(Share{.node = 1, .taken = amount}))->taken, amount);
  EXPECT_EQ(read_offer(json_of(Offer{.node = 1, .left = amount}))->left, amount);
}

TEST(Directory, LimitThatIsLeftOut_IsNone) {
  EXPECT_EQ(read_quota("{}")->most, (Amount{.leases = kNoLimit, .bytes = kNoLimit}));
  EXPECT_EQ(json_of(Quota{}), "{}");
}

TEST(Directory, ShareKey_NamesTenantAndNode) {
  const auto key = read_share_key(share_key(7, "a"));

  ASSERT_TRUE(key);
  EXPECT_EQ(key->tenant, 7U);
  EXPECT_EQ(key->name, "a");
  EXPECT_FALSE(read_share_key("/portcullis/shares/07/a"));
  EXPECT_FALSE(read_share_key("/portcullis/shares/7"));
}

class NoQuota : public testing::TestWithParam<const char*> {};

TEST_P(NoQuota, Text_IsMalformed) { EXPECT_FALSE(read_quota(GetParam())); }

// Beyond 64 bits, and what JSON makes a fraction of.
INSTANTIATE_TEST_SUITE_P(Texts, NoQuota,
                         testing::Values("", "[]", "7", R"({"leases":-1})", R"({"leases":"7"})",
                                         R"({"bytes":18446744073709551616})", R"({"bytes":1.5})",
                                         R"({"leases":null})"));

TEST(Directory, Labels_AreKeyAndValue) {
  EXPECT_TRUE(check_labels({"rack=r1", "zone=eu-1.b_2"}));
  EXPECT_TRUE(check_labels({}));
}

class NoLabels : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(NoLabels, Labels_AreRefused) {
  const auto checked = check_labels(GetParam());

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Errc::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Labels, NoLabels,
                         testing::Values(std::vector<std::string>{"rack"},
                                         std::vector<std::string>{"=r1"},
                                         std::vector<std::string>{"rack="},
                                         std::vector<std::string>{"rack=r 1"},
                                         std::vector<std::string>{"rack=r1=r2"},
                                         std::vector<std::string>{"rack=r1", "rack=r2"},
                                         std::vector<std::string>{"rack=" + std::string(65, 'a')},
                                         std::vector<std::string>(17, "a=b")));

TEST(Directory, Outcome_ComesBack) {
  const auto outcome = read_outcome(json_of(
      Outcome{.epoch = 1ULL << 60, .node = 3, .incarnation = 4, .torn_down = 5, .fenced = 6}));

  ASSERT_TRUE(outcome) << outcome.error().text;
  EXPECT_EQ(outcome->epoch, 1ULL << 60);
  EXPECT_EQ(outcome->node, 3U);
  EXPECT_EQ(outcome->torn_down, 5U);
  EXPECT_EQ(outcome->fenced, 6U);
}

class NoOutcome : public testing::TestWithParam<const char*> {};

TEST_P(NoOutcome, Text_IsMalformed) {
  const auto outcome = read_outcome(GetParam());

  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::Malformed);
}

// What is left out is not 0: "fenced" would be, and a Fenced would read as TornDown.
INSTANTIATE_TEST_SUITE_P(
    Texts, NoOutcome,
    testing::Values(
        "", "{}", R"({"epoch":1,"node":"1","incarnation":"1","torn_down":0})",
        R"({"epoch":"1","node":"1","incarnation":"1","torn_down":0,"fenced":0})",
        R"({"epoch":1,"node":"0","incarnation":"1","torn_down":0,"fenced":0})",
        R"({"epoch":1,"node":"xyz","incarnation":"1","torn_down":0,"fenced":0})",
        R"({"epoch":1,"node":"1","incarnation":"1","torn_down":0,"fenced":-1})",
        R"({"epoch":1,"node":"1","incarnation":"1","torn_down":0,"fenced":4294967296})"));

}  // namespace
}  // namespace portcullis::fleet
