// SPDX-License-Identifier: BSD-3-Clause
//
// The gateway's JSON. Answers are as etcd 3.4.23 gave them to curl, questions as it took them.
#include <gtest/gtest.h>

#include <string>

#include "fleet/gateway.hpp"

namespace portcullis::fleet {
namespace {

const std::string header =
    R"("header":{"cluster_id":"324952591200643719","member_id":"3319814642761637952",)"
    R"("revision":"3","raft_term":"2"})";

std::string with_header(const std::string& rest) { return "{" + header + rest + "}"; }

TEST(Gateway, RangeOfAPrefix_IsAskedInBase64) {
  EXPECT_EQ(json_of(Range{.key = "/a", .end = "/b", .min_mod_revision = 7}),
            R"({"key":"L2E=","min_mod_revision":"7","range_end":"L2I="})");
}

TEST(Gateway, RangeOfAKey_HasNoEnd) { EXPECT_EQ(json_of(Range{.key = "/a"}), R"({"key":"L2E="})"); }

TEST(Gateway, Txn_ComparesRevisionsAndDoesBoth) {
  const Txn txn{.compare = {{.key = "/a", .revision = 0},
                            {.key = "/b", .of = Compare::Of::ModRevision, .revision = 5}},
                .success = {Put{.key = "/a", .value = "x", .lease = 9}},
                .failure = {Range{.key = "/a"}}};

  EXPECT_EQ(
      json_of(txn),
      R"({"compare":[{"create_revision":"0","key":"L2E=","result":"EQUAL","target":"CREATE"},)"
      R"({"key":"L2I=","mod_revision":"5","result":"EQUAL","target":"MOD"}],)"
      R"("failure":[{"request_range":{"key":"L2E="}}],)"
      R"("success":[{"request_put":{"key":"L2E=","lease":"9","value":"eA=="}}]})");
}

TEST(Gateway, Watch_StartsAtARevision) {
  EXPECT_EQ(json_of_watch({{.key = "/a", .end = "/b"}}, 12),
            R"({"create_request":{"key":"L2E=","range_end":"L2I=","start_revision":"12"}})");
}

TEST(Gateway, WatchOfTwoRanges_AsksTwiceInOneBody) {
  EXPECT_EQ(json_of_watch({{.key = "/a"}, {.key = "/b"}}, 12),
            R"({"create_request":{"key":"L2E=","start_revision":"12"}})"
            "\n"
            R"({"create_request":{"key":"L2I=","start_revision":"12"}})");
}

TEST(Gateway, UnchangedSince_ComparesEachKeyOfTheRange) {
  EXPECT_EQ(json_of(Txn{.compare = {unchanged_since({.key = "/a", .end = "/b"}, 12)}}),
            R"({"compare":[{"key":"L2E=","mod_revision":"13","range_end":"L2I=",)"
            R"("result":"LESS","target":"MOD"}],"failure":[],"success":[]})");
}

TEST(Gateway, PrefixEnd_IsTheNextOne) { EXPECT_EQ(prefix_end("/a/"), "/a0"); }

TEST(Gateway, PrefixEndBehindTheLastByte_GoesUp) { EXPECT_EQ(prefix_end("a\xff"), "b"); }

TEST(Gateway, PrefixEndOfNothing_IsTheEndOfAll) { EXPECT_EQ(prefix_end(""), std::string(1, '\0')); }

TEST(Gateway, RangeAnswer_HasEntriesAndHeader) {
  const auto answer =
      read_range(with_header(R"(,"kvs":[{"key":"L2E=","create_revision":"2","mod_revision":"3",)"
                             R"("version":"1","value":"eA=="}],"count":"1")"));

  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->header.cluster, 324952591200643719U);
  EXPECT_EQ(answer->header.revision, 3U);
  ASSERT_EQ(answer->found.size(), 1U);
  EXPECT_EQ(answer->found[0].key, "/a");
  EXPECT_EQ(answer->found[0].value, "x");
  EXPECT_EQ(answer->found[0].create_revision, 2U);
  EXPECT_EQ(answer->found[0].mod_revision, 3U);
}

TEST(Gateway, RangeAnswerOfNothing_IsEmpty) {
  const auto answer = read_range(with_header(""));

  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->found.empty());
}

TEST(Gateway, RangeAnswerWithMoreBehindIt_IsNotTakenForAll) {
  EXPECT_TRUE(read_range(with_header(R"(,"kvs":[],"more":true)"))->has_more);
}

TEST(Gateway, TxnThatFailed_HasWhatItReadInstead) {
  const auto answer = read_txn(with_header(
      R"(,"responses":[{"response_range":{"header":{"revision":"2"},"kvs":[{"key":"L2E=",)"
      R"("create_revision":"2","mod_revision":"2","version":"1","value":"eA=="}],"count":"1"}},)"
      R"({"response_put":{"header":{"revision":"3"}}}])"));

  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_FALSE(answer->has_succeeded);
  ASSERT_EQ(answer->found.size(), 2U);
  EXPECT_EQ(answer->found[0].at(0).value, "x");
  EXPECT_TRUE(answer->found[1].empty());
}

TEST(Gateway, TxnThatSucceeded_SaysSo) {
  const auto answer = read_txn(with_header(R"(,"succeeded":true)"));

  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->has_succeeded);
}

TEST(Gateway, LeaseGrant_HasIdAndTime) {
  const auto answer = read_lease_grant(with_header(R"(,"ID":"2324035585894099973","TTL":"2")"));

  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, 2324035585894099973U);
  EXPECT_EQ(answer->ttl_s, 2U);
}

TEST(Gateway, LeaseGrantWithoutTime_IsRefused) {
  EXPECT_FALSE(read_lease_grant(with_header(R"(,"ID":"5")")));
}

TEST(Gateway, KeepAliveOfNoLease_HasNoTime) {
  const auto answer = read_keep_alive(R"({"result":{)" + header + R"(,"ID":"12345"}})");

  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->ttl_s, 0U);
}

TEST(Gateway, KeepAliveThatIsRefused_SaysWhy) {
  const auto answer =
      read_keep_alive(R"({"error":{"grpc_code":14,"message":"etcdserver: no leader"}})");

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().text, "etcd's answer: etcdserver: no leader");
}

TEST(Gateway, WatchEvents_ArePutsAndDeletes) {
  const auto answer = read_watch(
      R"({"result":{)" + header +
      R"(,"events":[{"kv":{"key":"L2E=","create_revision":"2","mod_revision":"2","version":"1",)"
      R"("value":"eA=="}},{"type":"DELETE","kv":{"key":"L2M=","mod_revision":"3"}}]}})");

  ASSERT_TRUE(answer) << answer.error().text;
  ASSERT_EQ(answer->events.size(), 2U);
  EXPECT_FALSE(answer->events[0].is_delete);
  EXPECT_EQ(answer->events[0].entry.mod_revision, 2U);
  EXPECT_TRUE(answer->events[1].is_delete);
  EXPECT_EQ(answer->events[1].entry.key, "/c");
}

TEST(Gateway, WatchOfWhatIsCompacted_IsCanceled) {
  const auto answer =
      read_watch(R"({"result":{)" + header + R"(,"canceled":true,"compact_revision":"3"}})");

  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->is_canceled);
  EXPECT_EQ(answer->compact_revision, 3U);
}

TEST(Gateway, Complaint_HasCodeAndText) {
  const Complaint complaint =
      read_complaint(R"({"error":"etcdserver: requested lease not found",)"
                     R"("message":"etcdserver: requested lease not found","code":5})");

  EXPECT_EQ(complaint.code, 5);
  EXPECT_EQ(complaint.text, "etcdserver: requested lease not found");
}

class NoRange : public testing::TestWithParam<std::string> {};

TEST_P(NoRange, Text_IsMalformed) {
  const auto answer = read_range(GetParam());

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::Malformed);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, NoRange,
    testing::Values("", "[]", "not JSON", "{}", R"({"header":{}})", R"({"header":7})",
                    R"({"header":{"cluster_id":"x"}})", R"({"header":{"cluster_id":-1}})",
                    with_header(R"(,"kvs":7)"), with_header(R"(,"kvs":[7])"),
                    with_header(R"(,"kvs":[{"key":"?"}])"),
                    with_header(R"(,"kvs":[{"key":"L2E=","mod_revision":"1x"}])"),
                    with_header(R"(,"kvs":[{"key":"L2E=","mod_revision":18446744073709551616}])")));

}  // namespace
}  // namespace portcullis::fleet
