// SPDX-License-Identifier: BSD-3-Clause
//
// The client against gateways that say what a test wants: which endpoint is asked next, which
// answers are not believed, and what an error says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <memory>
#include <string>

#include "fleet/etcd.hpp"
#include "tests/fleet/fake_gateway.hpp"

namespace portcullis::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Asked = FakeGateway::Asked;
using Answer = FakeGateway::Answer;

constexpr std::uint64_t kCluster = 0xabc;

Answer range_answer(std::uint64_t revision, std::uint64_t cluster = kCluster) {
  return {.body = fmt::format(R"({{"header":{{"cluster_id":"{}","revision":"{}"}}}})", cluster,
                              revision)};
}

FakeGateway::Handler always(const Answer& answer) {
  return [answer](const Asked&) { return answer; };
}

std::unique_ptr<Etcd> client_of(std::vector<std::string> endpoints, const std::string& user = "",
                                std::uint64_t deadline_ms = 30'000) {
  auto made = Etcd::create({.endpoints = std::move(endpoints),
                            .user = user,
                            .password = user,
                            .deadline_ms = deadline_ms});
  EXPECT_TRUE(made);
  return *std::move(made);
}

TEST(Etcd, Range_IsAPostOfJson) {
  const FakeGateway gateway(always(range_answer(5)));
  const auto answer = client_of({gateway.url()})->range({.key = "/a"});

  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->header.revision, 5U);
  ASSERT_EQ(gateway.asked().size(), 1U);
  EXPECT_EQ(gateway.asked()[0].path, "/v3/kv/range");
  EXPECT_EQ(gateway.asked()[0].body, R"({"key":"L2E="})");
}

TEST(Etcd, EndpointThatIsNotThere_GivesWayToTheNext) {
  const FakeGateway gateway(always(range_answer(5)));
  const auto etcd = client_of({"http://127.0.0.1:1", gateway.url()});

  EXPECT_TRUE(etcd->range({.key = "/a"}));
  EXPECT_TRUE(etcd->range({.key = "/a"}));
  EXPECT_EQ(gateway.asked().size(), 2U);
}

TEST(Etcd, EndpointThatIsSilent_GivesWayInTime) {
  const FakeGateway silent(always({.is_silent = true}));
  const FakeGateway gateway(always(range_answer(5)));

  EXPECT_TRUE(client_of({silent.url(), gateway.url()}, "", 50)->range({.key = "/a"}));
}

TEST(Etcd, SilentAlone_IsATimeout) {
  const FakeGateway silent(always({.is_silent = true}));
  const auto answer = client_of({silent.url()}, "", 50)->range({.key = "/a"});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::Timeout);
  EXPECT_THAT(answer.error().text, HasSubstr(silent.url()));
}

TEST(Etcd, MemberWithoutLeader_GivesWayToTheNext) {
  const FakeGateway lost(
      always({.status = 503, .body = R"({"error":"etcdserver: no leader","code":14})"}));
  const FakeGateway gateway(always(range_answer(5)));

  EXPECT_TRUE(client_of({lost.url(), gateway.url()})->range({.key = "/a"}));
}

TEST(Etcd, WhatEtcdRefuses_IsAskedOfNoOther) {
  const FakeGateway full(
      always({.status = 429,
              .body = R"({"error":"etcdserver: mvcc: database space exceeded","code":8})"}));
  const FakeGateway gateway(always(range_answer(5)));
  const auto answer = client_of({full.url(), gateway.url()})->txn({});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::CommandFailed);
  EXPECT_THAT(answer.error().text, HasSubstr("database space exceeded"));
  EXPECT_TRUE(gateway.asked().empty());
}

TEST(Etcd, TransactionOfTooManyOperations_IsToldApart) {
  const FakeGateway strict(
      always({.status = 400,
              .body = R"({"error":"etcdserver: too many operations in txn request","code":3})"}));
  const FakeGateway gateway(always(range_answer(5)));
  const auto answer = client_of({strict.url(), gateway.url()})->txn({});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::OutOfResources);
  EXPECT_TRUE(gateway.asked().empty());
}

TEST(Etcd, LessThanWasAskedFor_IsNotTakenForAll) {
  const std::string head = R"({"header":{"cluster_id":"2748","revision":"5"})";
  const FakeGateway part(always({.body = head + R"(,"kvs":[],"more":true})"}));
  EXPECT_EQ(client_of({part.url()})->range({.key = "/a"}).error().code, Errc::Malformed);
  EXPECT_TRUE(client_of({part.url()})->range({.key = "/a", .limit = 1})->has_more);

  const FakeGateway parts(always(
      {.body = head + R"(,"succeeded":true,"responses":[{"response_range":{"more":true}}]})"}));
  EXPECT_EQ(client_of({parts.url()})->txn({.success = {Range{.key = "/a"}}}).error().code,
            Errc::Malformed);
  const Range limited{.key = "/a", .limit = 1};
  EXPECT_TRUE(client_of({parts.url()})->txn({.success = {limited}})->has_more.at(0));
}

TEST(Etcd, ServerThatIsNoEtcd_IsNamedWithItsStatus) {
  const FakeGateway other(always({.status = 404, .body = "404 page not found"}));
  const auto answer = client_of({other.url()})->range({.key = "/a"});

  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text, HasSubstr(other.url() + ": HTTP status 404"));
}

TEST(Etcd, ComplaintInPlainText_IsHandedOn) {
  const FakeGateway gateway(always({.status = 400, .body = "CommonName will be ignored\nmore"}));
  auto etcd = *Etcd::create(
      {.endpoints = {gateway.url()}, .user = "alice", .password = "secret", .deadline_ms = 30'000});
  const auto answer = etcd->range({.key = "/a"});

  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text,
              HasSubstr("user \"alice\": HTTP status 400: CommonName will be ignored"));
  EXPECT_THAT(answer.error().text, Not(HasSubstr("more")));
}

TEST(Etcd, PageOfAnotherServer_IsNotHandedOn) {
  const FakeGateway other(always({.status = 500, .body = "<html>no</html>"}));
  const auto answer = client_of({other.url()})->range({.key = "/a"});

  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text, Not(HasSubstr("html")));
}

TEST(Etcd, AnotherCluster_IsNotBelieved) {
  const FakeGateway other(always(range_answer(5, 0xdef)));
  const auto etcd = client_of({other.url()});
  etcd->expect(kCluster, 1);
  const auto answer = etcd->range({.key = "/a"});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::DeviceFailed);
  EXPECT_THAT(answer.error().text, HasSubstr("it is of cluster def; abc is accepted"));
}

TEST(Etcd, EndpointsOfTwoClusters_TheFirstAnswerDecides) {
  const FakeGateway gateway([](const Asked& asked) {
    return asked.path == "/v3/kv/range" ? range_answer(5) : Answer{.status = 500};
  });
  const FakeGateway other(always(range_answer(5, 0xdef)));
  const auto etcd = client_of({gateway.url(), other.url()});

  EXPECT_TRUE(etcd->range({.key = "/a"}));
  const auto txn = etcd->txn({});
  ASSERT_FALSE(txn);
  EXPECT_EQ(txn.error().code, Errc::DeviceFailed);
}

TEST(Etcd, EndpointOfAnotherClusterInTheList_IsNotPassedOver) {
  const FakeGateway other(always(range_answer(5, 0xdef)));
  const FakeGateway gateway(always(range_answer(5)));
  const auto etcd = client_of({other.url(), gateway.url()});
  etcd->expect(kCluster, 1);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(etcd->range({.key = "/a"}));

  EXPECT_TRUE(gateway.asked().empty());
}

TEST(Etcd, StoreThatHasGoneBack_IsNotBelieved) {
  const FakeGateway gateway(always(range_answer(5)));
  const auto etcd = client_of({gateway.url()});
  etcd->expect(kCluster, 6);
  const auto answer = etcd->range({.key = "/a"});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::DeviceFailed);
  EXPECT_THAT(answer.error().text, HasSubstr("gone back to revision 5 from 6"));
}

TEST(Etcd, StoreThatHasGoneBack_IsNotBelievedOnceItHasCaughtUp) {
  std::atomic<std::uint64_t> revision{5};
  const FakeGateway gateway([&](const Asked&) { return range_answer(revision); });
  const auto etcd = client_of({gateway.url()});
  etcd->expect(kCluster, 6);
  ASSERT_FALSE(etcd->range({.key = "/a"}));
  revision = 9;
  const auto answer = etcd->range({.key = "/a"});

  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().text, HasSubstr("gone back to revision 5 from 6"));
}

TEST(Etcd, EndpointsThatAreCompared_AnotherClustersIsNamed) {
  const FakeGateway gateway(always(range_answer(5)));
  const FakeGateway same(always(range_answer(4)));
  const FakeGateway other(always(range_answer(5, 0xdef)));
  const std::string silent = "http://127.0.0.1:1";
  const auto alike = client_of({gateway.url(), same.url(), silent});
  ASSERT_TRUE(alike->range({.key = "/a"}));
  EXPECT_THAT(alike->compare_endpoints(30'000).value(), ElementsAre(silent));

  const auto etcd = client_of({gateway.url(), silent, other.url()});
  ASSERT_TRUE(etcd->range({.key = "/a"}));
  const auto compared = etcd->compare_endpoints(30'000);
  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().text,
            fmt::format("etcd {} is of cluster def, and {} of abc: endpoints of one cluster are "
                        "accepted",
                        other.url(), gateway.url()));
  EXPECT_TRUE(etcd->range({.key = "/a"}));  // of the first, as before
}

TEST(Etcd, User_SendsItsTokenAndRenewsItOnce) {
  std::atomic<int> tokens{0};
  const FakeGateway gateway([&tokens](const Asked& asked) -> Answer {
    if (asked.path == "/v3/auth/authenticate")
      return {.body = fmt::format(R"({{"token":"token{}"}})", ++tokens)};
    if (asked.token == "token2") return range_answer(5);
    return {.status = 401, .body = R"({"error":"etcdserver: invalid auth token","code":16})"};
  });
  const auto answer = client_of({gateway.url()}, "alice")->range({.key = "/a"});

  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(gateway.asked()[0].body, R"({"name":"alice","password":"alice"})");
}

TEST(Etcd, TokenOlderThanTheLastChangeOfUsers_IsRenewedOnce) {
  std::atomic<int> tokens{0};
  const FakeGateway gateway([&tokens](const Asked& asked) -> Answer {
    if (asked.path == "/v3/auth/authenticate")
      return {.body = fmt::format(R"({{"token":"token{}"}})", ++tokens)};
    if (asked.token == "token2") return range_answer(5);
    return {.status = 400,
            .body = R"({"error":"etcdserver: revision of auth store is old","code":3})"};
  });

  EXPECT_TRUE(client_of({gateway.url()}, "alice")->range({.key = "/a"}));
  EXPECT_EQ(tokens, 2);
}

TEST(Etcd, MemberThatCannotAuthenticateNow_GivesWayToTheNext) {
  const FakeGateway lost(
      always({.status = 503, .body = R"({"error":"etcdserver: leader changed","code":14})"}));
  const FakeGateway gateway([](const Asked& asked) -> Answer {
    if (asked.path == "/v3/auth/authenticate") return {.body = R"({"token":"t"})"};
    return range_answer(5);
  });

  EXPECT_TRUE(client_of({lost.url(), gateway.url()}, "alice")->range({.key = "/a"}));
  const auto alone = client_of({lost.url()}, "alice")->range({.key = "/a"});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Errc::System);  // it is tried again
}

TEST(Etcd, WrongPassword_SaysWhoseItIs) {
  const FakeGateway gateway(always(
      {.status = 400,
       .body = R"({"error":"authentication failed, invalid user ID or password","code":3})"}));
  const auto answer = client_of({gateway.url()}, "alice")->range({.key = "/a"});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::CommandFailed);
  EXPECT_THAT(answer.error().text, HasSubstr("user \"alice\": authentication failed"));
}

TEST(Etcd, Watch_TellsChangesAndItsEnd) {
  const FakeGateway gateway(
      always({.body = fmt::format(R"({{"result":{{"header":{{"cluster_id":"{0}","revision":"5"}},)"
                                  R"("events":[{{"kv":{{"key":"L2E=","mod_revision":"5"}}}}]}}}})"
                                  "\n",
                                  kCluster)}));
  const auto etcd = client_of({gateway.url()});
  ASSERT_TRUE(etcd->watch({{.key = "/a"}}, 5));
  auto change = etcd->next_change();
  for (int i = 0; i < 100 && change && !*change; ++i) {
    etcd->wait(1'000);
    change = etcd->next_change();
  }

  ASSERT_TRUE(change && *change);
  EXPECT_EQ((*change)->events.at(0).entry.mod_revision, 5U);
  change = etcd->next_change();
  for (int i = 0; i < 100 && change; ++i) {
    etcd->wait(1'000);
    change = etcd->next_change();
  }
  EXPECT_THAT(change.error().text, HasSubstr("the watch at etcd " + gateway.url() + " is over"));
}

TEST(Endpoints, ListOfUrls_IsTakenApart) {
  EXPECT_EQ(*parse_endpoints("http://a:1,https://[::1]:2/"),
            (std::vector<std::string>{"http://a:1", "https://[::1]:2"}));
}

class NoEndpoints : public testing::TestWithParam<const char*> {};

TEST_P(NoEndpoints, List_IsRefusedByItsOwnWords) {
  const auto parsed = parse_endpoints(GetParam());

  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Errc::InvalidArgument);
  EXPECT_THAT(parsed.error().text, HasSubstr(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Lists, NoEndpoints,
                         testing::Values("", "etcd:2379", "ftp://a", "http://", "http://a,",
                                         "http://a b", "http://a/v3", "http://u:p@a", "http://:1",
                                         "http://a:0", "http://a:65536", "http://a:x"));

TEST(EtcdOptions, KeyWithoutCertificate_IsRefused) {
  EXPECT_FALSE(check({.endpoints = {"https://a"}, .tls = {.key = "/k"}}));
}

TEST(EtcdOptions, UserWithoutPassword_IsRefused) {
  EXPECT_FALSE(check({.endpoints = {"http://a"}, .user = "alice"}));
}

TEST(EtcdOptions, FilesOfTlsForPlainHttp_AreRefused) {
  const auto checked = check({.endpoints = {"http://a"}, .tls = {.authority = "/ca"}});

  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().text, HasSubstr("https:// is accepted"));
}

}  // namespace
}  // namespace portcullis::fleet
