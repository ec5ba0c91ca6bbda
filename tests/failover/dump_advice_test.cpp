// SPDX-License-Identifier: BSD-3-Clause
//
// Dumps whose repost looked safe and was not, or was refused for a run that cannot be: found by a
// small enumerator that was written from the documents, and refuted by `check` on the same story.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "failover/classify/classify.hpp"
#include "failover/classify/dump.hpp"
#include "failover/explore/verdict.hpp"
#include "failover/protocols/text.hpp"

namespace portcullis::failover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kAba = R"({"rkey": 1, "environment": "aba", "fenced": true})";
constexpr const char* kQuiet = R"({"rkey": 1, "environment": "quiet", "fenced": true})";
constexpr const char* kNotified =
    R"({"rkey": 1, "environment": "reuse", "consumer": "notified", "fenced": true})";

/// `queue_pairs` may be empty.
std::vector<Classification> told(const std::string& region, const std::string& requests,
                                 const std::string& queue_pairs = "") {
  const std::string json = R"({"regions": [)" + region + R"(], "work_requests": [)" + requests +
                           R"(], "queue_pairs": [)" + queue_pairs + "]}";
  return classify(read_dump(json, "d").value()).value();
}

std::vector<Advice> advices_of(const std::vector<Classification>& told) {
  std::vector<Advice> advices;
  for (const Classification& one : told) advices.push_back(one.advice);
  return advices;
}

std::string add(const std::string& addend, const std::string& more = "") {
  return R"({"wr_id": 1, "opcode": "IBV_WR_ATOMIC_FETCH_AND_ADD", "qp_num": 1, "rkey": 1,
             "remote_addr": 0, "compare_add": )" +
         addend + more + "}";
}
std::string swap(const std::string& more = "") {
  return R"({"wr_id": 2, "opcode": "IBV_WR_ATOMIC_CMP_AND_SWP", "qp_num": 1, "rkey": 1,
             "remote_addr": 0, "compare_add": 1, "swap": 2, "status": "IBV_WC_RETRY_EXC_ERR")" +
         more + "}";
}
std::string write(unsigned qp_num, const std::string& more = "") {
  return R"({"wr_id": 1, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 1, "remote_addr": 0,
             "length": 64, "qp_num": )" +
         std::to_string(qp_num) + more + "}";
}
std::string send(unsigned qp_num) {
  return R"({"wr_id": 2, "opcode": "IBV_WR_SEND", "qp_num": )" + std::to_string(qp_num) + "}";
}

TEST(DumpAdvice, CasWhoseWordOthersBringBack_IsNotRepostedBesideAnFadd) {
  // 0, FADD 1, CAS 2, another writer 1, the CAS again.
  const auto advice = told(kAba, add("1", R"(, "status": "IBV_WC_SUCCESS")") + "," + swap());
  EXPECT_THAT(advices_of(advice), ElementsAre(Advice::Never, Advice::OnlyIf));
}

TEST(DumpAdvice, CasAfterAWordThatOthersPutThere_IsNotReposted) {
  // 1, CAS 2, another writer 7, the look, another writer 1, the CAS again.
  for (const char* evidence :
       {R"(, "evidence": {"word": 7})", R"(, "evidence": {"word": 7, "word_before": 1})"})
    EXPECT_EQ(told(kAba, swap(evidence))[0].advice, Advice::OnlyIf) << evidence;
}

TEST(DumpAdvice, FaddBehindOneThatEvidenceSaysHappened_IsNeverReposted) {
  // The first is no explanation of what the second does twice: it happened, and once.
  for (const char* addend : {"\"0xfffffffffffffffb\"", "\"0xffffffffffffffff\""}) {
    const auto advice =
        told(kQuiet, add("5", R"(, "evidence": {"applied": true})") + "," + add(addend));
    EXPECT_EQ(advice[1].advice, Advice::Never) << addend;
  }
}

TEST(DumpAdvice, FaddBesideOneThatEvidenceSaysDidNotHappen_IsNeverReposted) {
  const std::string not_applied = R"(, "evidence": {"applied": false})";
  const auto advice = told(kQuiet, add("5") + "," + add("5", not_applied));
  EXPECT_EQ(advice[0].advice, Advice::Never);
}

TEST(DumpAdvice, WriteAndTheMessageBehindIt_AreRepostedInTheirOrder) {
  const auto advice =
      told(kNotified, write(1) + "," + send(1), R"({"qp_num": 1, "fenced": true, "receives": 0})");
  ASSERT_THAT(advices_of(advice), ElementsAre(Advice::Repost, Advice::Repost));
  for (const Classification& one : advice) {
    EXPECT_EQ(one.conditions[0].kind, Requirement::Kind::PostingOrder);
    EXPECT_THAT(one.conditions[0].requests, ElementsAre(0U, 1U));
  }
}

constexpr const char* kQuietNotified =
    R"({"rkey": 1, "environment": "quiet", "consumer": "notified", "fenced": true})";
constexpr const char* kNothingReceived = R"({"qp_num": 1, "fenced": true, "receives": 0})";

/// Of which requests each is reposted in order.
std::vector<std::vector<std::size_t>> orders_of(const std::vector<Classification>& told) {
  std::vector<std::vector<std::size_t>> orders;
  for (const Classification& one : told) {
    EXPECT_EQ(one.advice, Advice::Repost);
    const bool has_one = one.conditions.front().kind == Requirement::Kind::PostingOrder;
    orders.push_back(has_one ? one.conditions.front().requests : std::vector<std::size_t>());
  }
  return orders;
}

TEST(DumpAdvice, WriteToAQuietPlaceAndTheMessageBehindIt_AreRepostedInTheirOrder) {
  const std::string with_imm = R"({"wr_id": 2, "opcode": "IBV_WR_RDMA_WRITE_WITH_IMM", "qp_num": 1,
                                   "rkey": 1, "remote_addr": 4096, "length": 8})";
  for (const std::string& message : {send(1), with_imm})
    EXPECT_THAT(orders_of(told(kQuietNotified, write(1) + "," + message, kNothingReceived)),
                ElementsAre(ElementsAre(0U, 1U), ElementsAre(0U, 1U)))
        << message;
}

TEST(DumpAdvice, MessagesOfOneQueuePair_AreRepostedInTheirOrder) {
  EXPECT_THAT(orders_of(told(kQuiet, send(1) + "," + send(1) + "," + send(2),
                             std::string(kNothingReceived) +
                                 R"(, {"qp_num": 2, "fenced": true, "receives": 0})")),
              ElementsAre(ElementsAre(0U, 1U), ElementsAre(0U, 1U), ElementsAre()));
}

TEST(DumpAdvice, ReadOfAQuietPlaceBeforeAMessage_HasNoOrder) {
  const std::string read = R"({"wr_id": 1, "opcode": "IBV_WR_RDMA_READ", "qp_num": 1, "rkey": 1,
                               "remote_addr": 0, "length": 64},)";
  EXPECT_THAT(orders_of(told(kQuietNotified, read + send(1), kNothingReceived)),
              ElementsAre(ElementsAre(), ElementsAre()));
}

/// A WRITE and the SEND behind it, both lost; `first` is posted again, and then `second`.
Verdict reposted(const std::string& first, const std::string& second) {
  const std::string text = R"({"protocol": "p", "operations": 2, "own_cells": 1,
    "bounds": {"late": 1, "timeouts": 1}, "judge": {"counts": "effects"}, "work_requests": [
      {"name": "w", "opcode": "WRITE", "operation": 0, "qp": 0, "cell": {"own": 0}, "operand": 1},
      {"name": "s", "opcode": "SEND", "operation": 1, "qp": 0},
      {"name": "w again", "opcode": "WRITE", "operation": 0, "qp": 1, "cell": {"own": 0},
       "operand": 1},
      {"name": "s again", "opcode": "SEND", "operation": 1, "qp": 2}],
    "steps": [{"post": "w"}, {"post": "s"}, {"await": "s", "then": "tell", "on_timeout": "fence"},
      {"label": "fence", "fence": 0}, {"await_fence": 0},
      {"query_psn": "w", "then": "give up", "else": "again"},
      {"label": "again", "post": ")" +
                           first + R"("},
      {"await": ")" + first +
                           R"(", "then": "next", "on_timeout": "give up"},
      {"label": "next", "post": ")" +
                           second + R"("},
      {"await": ")" + second +
                           R"(", "then": "tell", "on_timeout": "give up"},
      {"label": "tell", "report": "done", "operation": 0},
      {"report": "done", "operation": 1, "then": "end"},
      {"label": "give up", "report": "unknown", "operation": 0}, {"label": "end", "end": true}],
    "environments": {"quiet": {"receiver": [{"await_arrival": true}, {"consume": 1, "cell": 0}]}}
    })";
  const NamedScenario named = read_protocol(text, "p").value().named("quiet").value();
  return judge_protocol(compile(named.scenario).value(), {}, 1'000'000).value().verdict();
}

TEST(DumpAdvice, OrderOfAWriteAndItsMessage_IsWhatTheExplorerAsksFor) {
  EXPECT_EQ(reposted("w again", "s again"), Verdict::GivesUp);
  EXPECT_EQ(reposted("s again", "w again"), Verdict::Refuted);
}

TEST(DumpAdvice, WriteBeforeAMessageThatIsNotReposted_HasNoOrder) {
  const auto advice = told(kNotified, write(1) + "," + send(1));
  ASSERT_THAT(advices_of(advice), ElementsAre(Advice::OnlyIf, Advice::Never));
  for (const Requirement& condition : advice[0].conditions)
    EXPECT_NE(condition.kind, Requirement::Kind::PostingOrder);
}

TEST(DumpAdvice, WriteBeforeAMessageThatCannotHappen_IsReposted) {
  const auto advice =
      told(kNotified, write(1, R"(, "evidence": {"applied": false})") + "," + send(2),
           R"({"qp_num": 1, "fenced": true}, {"qp_num": 2, "fenced": true, "receives": 0})");
  EXPECT_EQ(advice[0].advice, Advice::Repost);
}

TEST(DumpAdvice, BytesThatMessagesOfTwoMembersQpsRelease_GetNoAdvice) {
  const std::string read = R"({"wr_id": 1, "opcode": "IBV_WR_RDMA_READ", "qp_num": 2, "rkey": 1,
                               "remote_addr": 0, "length": 64},)";
  const auto advice = told(kNotified, read + write(1) + "," + send(1) + "," + send(2));
  EXPECT_EQ(advice[1].advice, Advice::NoAdvice);
  EXPECT_THAT(advice[1].reason, HasSubstr("both work_requests[2] and [3]"));
  // That of QP 1 was not executed, nor can it be: that of QP 2 is left.
  const auto fenced = told(kNotified, read + write(1) + "," + send(1) + "," + send(2),
                           R"({"qp_num": 1, "fenced": true, "receives": 0})");
  EXPECT_EQ(fenced[1].advice, Advice::OnlyIf);
}

std::string with_imm(const std::string& more) {
  return R"({"wr_id": 2, "opcode": "IBV_WR_RDMA_WRITE_WITH_IMM", "qp_num": 1, "rkey": 1,
             "remote_addr": 0, "length": 64)" +
         more + "}";
}
const std::string kTimedOut = R"(, "status": "IBV_WC_RETRY_EXC_ERR")";
const std::string kFlushed = R"(, "status": "IBV_WC_WR_FLUSH_ERR")";

TEST(DumpAdvice, WriteBeforeAWriteWithImmThatMayHaveArrived_IsNeverReposted) {
  // The receiver was told of the bytes that the WRITE would set back.
  const auto advice = told(kQuiet, write(1, kTimedOut) + "," + with_imm(kFlushed));
  ASSERT_THAT(advices_of(advice), ElementsAre(Advice::Never, Advice::Never));
  EXPECT_EQ(advice[0].trace.value().violation, Violation::Linearizability);
}

TEST(DumpAdvice, WriteBeforeAWriteWithImmThatConsumedNoReceive_IsReposted) {
  const auto advice = told(kQuiet, write(1, kTimedOut) + "," + with_imm(kFlushed),
                           R"({"qp_num": 1, "fenced": true, "receives": 0})");
  EXPECT_THAT(advices_of(advice), ElementsAre(Advice::Repost, Advice::Repost));
}

TEST(DumpAdvice, SendThatPassesAFencedKeyAfterTheLook_MakesNoWriteUnsafe) {
  const std::string not_applied = kFlushed + R"(, "evidence": {"applied": false})";
  const std::string late_send = R"({"wr_id": 2, "opcode": "IBV_WR_SEND", "qp_num": 1)";
  const auto advice = told(kQuiet, write(1, kTimedOut) + "," + late_send + not_applied + "}");
  EXPECT_EQ(advice[0].advice, Advice::Repost);
}

/// A WRITE and a WRITE_WITH_IMM to its bytes; behind a fence the WRITE is posted again.
constexpr std::string_view kSetBack = R"({
  "protocol": "p", "operations": 2, "own_cells": 1, "bounds": {"late": 1, "timeouts": 1},
  "judge": {"history": true, "posting_order": true, "placement_order": false},
  "work_requests": [
    {"name": "w", "opcode": "WRITE", "operation": 0, "qp": 0, "cell": {"own": 0}, "operand": 1},
    {"name": "i", "opcode": "WRITE_WITH_IMM", "operation": 1, "qp": 0, "cell": {"own": 0},
     "operand": 2},
    {"name": "w again", "opcode": "WRITE", "operation": 0, "qp": 1, "cell": {"own": 0},
     "operand": 1}],
  "steps": [{"post": "w"}, {"post": "i"}, {"await": "w", "then": "end", "on_timeout": "fence"},
    {"label": "fence", "fence": 0}, {"await_fence": 0}, {"post": "w again"},
    {"await": "w again", "on_timeout": "end"}, {"report": "done", "operation": 0},
    {"label": "end", "end": true}]})";

TEST(DumpAdvice, HistoryOfAMessageThatArrived_ExplainsNothingWithoutIt) {
  const Scenario scenario = read_protocol(kSetBack, "p").value().environments[0].scenario;
  const Exploration explored = explore(compile(scenario).value(), {}).value();
  EXPECT_EQ(explored.violation, Violation::Linearizability);
}

TEST(DumpAdvice, SendBehindAFencedWriteThatWasNotExecuted_IsReposted) {
  // The QP executes a prefix, and the fenced WRITE is refused: nothing behind it is executed.
  const std::string not_applied = kTimedOut + R"(, "evidence": {"applied": false})";
  const std::string behind =
      R"({"wr_id": 2, "opcode": "IBV_WR_SEND", "qp_num": 1)" + kFlushed + "}";
  const auto advice = told(kQuiet, write(1, not_applied) + "," + behind);
  EXPECT_THAT(advices_of(advice), ElementsAre(Advice::Repost, Advice::Repost));
  EXPECT_THAT(orders_of(told(kQuietNotified, write(1, not_applied) + "," + behind)),
              ElementsAre(ElementsAre(0U, 1U), ElementsAre(0U, 1U)));
}

TEST(DumpAdvice, SendBehindAWriteThatIsNotFenced_WaitsForTheFenceOfItsQp) {
  constexpr const char* kOpen = R"({"rkey": 1, "environment": "quiet"})";
  const std::string not_applied = kTimedOut + R"(, "evidence": {"applied": false})";
  const auto advice = told(kOpen, write(1, not_applied) + "," + send(1));
  EXPECT_EQ(advice[1].advice, Advice::OnlyIf);
}

constexpr const char* kGeneralError = R"(, "status": "IBV_WC_GENERAL_ERR")";

TEST(DumpAdvice, FenceOfAQueuePairWithAGeneralError_HoldsForItToo) {
  const std::string not_applied = R"(, "evidence": {"applied": false})";
  const std::string message = R"({"wr_id": 2, "opcode": "IBV_WR_SEND", "qp_num": 1)";
  const auto advice = told(
      kQuiet,
      message + kGeneralError + not_applied + "},\n" + write(1, R"(, "status": "IBV_WC_SUCCESS")"),
      R"({"qp_num": 1, "fenced": true})");
  EXPECT_THAT(advices_of(advice), ElementsAre(Advice::Repost, Advice::Never));
}

TEST(DumpAdvice, CountOfAQueuePairWithAGeneralError_IsRefused) {
  const std::string json = R"({"regions": [], "work_requests": [
    {"wr_id": 2, "opcode": "IBV_WR_SEND", "qp_num": 1, "status": "IBV_WC_GENERAL_ERR"}],
    "queue_pairs": [{"qp_num": 1, "receives": 0}]})";
  const auto read = read_dump(json, "d");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text,
            "d:3: queue_pairs[0].receives: 0; none, as work_requests[0] of this queue pair has "
            "IBV_WC_GENERAL_ERR, which says nothing of its place, is accepted");
}

TEST(DumpAdvice, PromiseThatTheEvidenceRulesOut_IsNoCondition) {
  constexpr const char* kOthers = R"({"rkey": 1, "environment": "other-writers", "fenced": true})";
  // The words that were found are others' work, and so nobody can promise that there are none.
  const auto sum =
      told(kOthers, add("3", kTimedOut + R"(, "evidence": {"word_before": 0, "word": 2})"));
  EXPECT_EQ(sum[0].advice, Advice::Never);
  const auto swapped =
      told(kAba, swap(R"(, "evidence": {"applied": true, "word_before": 1, "word": 1})"));
  EXPECT_EQ(swapped[0].advice, Advice::Never);
}

}  // namespace
}  // namespace portcullis::failover
