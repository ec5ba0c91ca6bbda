// SPDX-License-Identifier: BSD-3-Clause
//
// Advice for outstanding work requests, and the dumps they come from.
#include "failover/classify/classify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "failover/classify/dump.hpp"
#include "tests/failover/support.hpp"

namespace portcullis::failover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Classification advice_for(const OutstandingRequest& request) { return classify(request).value(); }

OutstandingRequest request(Opcode opcode, Environment environment) {
  OutstandingRequest made;
  made.opcode = opcode;
  made.length = 8;
  made.compare_add = 1;
  made.swap = 9;
  made.contract.environment = environment;
  return made;
}

TEST(Classify, Read_IsRepostedWhateverHappensAround) {
  EXPECT_EQ(advice_for(request(Opcode::Read, Environment::Aba)).advice, Advice::Repost);
}

TEST(Classify, WriteToAQuietTarget_IsReposted) {
  EXPECT_EQ(advice_for(request(Opcode::Write, Environment::Quiet)).advice, Advice::Repost);
}

TEST(Classify, WriteThatIsPolledAndReused_WaitsForAQuietTarget) {
  const auto advice = advice_for(request(Opcode::Write, Environment::Reuse));
  EXPECT_EQ(advice.advice, Advice::OnlyIf);
  EXPECT_THAT(advice.provisos, ElementsAre(Proviso::TargetQuiet));
  EXPECT_EQ(advice.trace.value().violation, Violation::GhostWrite);
}

TEST(Classify, WriteReadOnlyAfterANotification_WaitsForAFence) {
  OutstandingRequest notified = request(Opcode::Write, Environment::Reuse);
  notified.length = 8192;
  notified.contract.consumer = Consumer::Notified;
  EXPECT_THAT(advice_for(notified).provisos, ElementsAre(Proviso::FenceDone, Proviso::TargetQuiet));
}

TEST(Classify, SameWriteAfterTheFence_IsReposted) {
  OutstandingRequest fenced = request(Opcode::Write, Environment::Reuse);
  fenced.contract.consumer = Consumer::Notified;
  fenced.contract.is_fenced = true;
  EXPECT_EQ(advice_for(fenced).advice, Advice::Repost);
}

TEST(Classify, Fadd_IsNeverRepostedNotEvenFenced) {
  OutstandingRequest fenced = request(Opcode::FetchAdd, Environment::Quiet);
  fenced.contract.is_fenced = true;
  const auto advice = advice_for(fenced);
  EXPECT_EQ(advice.advice, Advice::Never);
  EXPECT_THAT(advice.provisos, IsEmpty());
  EXPECT_FALSE(advice.trace.value().steps.empty());
}

TEST(Classify, FaddOfZero_IsReposted) {
  OutstandingRequest nothing = request(Opcode::FetchAdd, Environment::Aba);
  nothing.compare_add = 0;
  EXPECT_EQ(advice_for(nothing).advice, Advice::Repost);
}

TEST(Classify, CasInAQuietPlace_IsAbsorbed) {
  const auto advice = advice_for(request(Opcode::CompareSwap, Environment::Quiet));
  EXPECT_EQ(advice.advice, Advice::Repost);
  EXPECT_THAT(advice.reason, HasSubstr("result is unknown"));
}

TEST(Classify, CasUnderAba_NeedsQuietOrUniqueTags) {
  EXPECT_THAT(advice_for(request(Opcode::CompareSwap, Environment::Aba)).provisos,
              ElementsAre(Proviso::TargetQuiet, Proviso::TagUnique));
}

TEST(Classify, CasThatSwapsAWordForItself_IsReposted) {
  OutstandingRequest same = request(Opcode::CompareSwap, Environment::Aba);
  same.swap = same.compare_add;
  EXPECT_EQ(advice_for(same).advice, Advice::Repost);
}

TEST(Classify, Notifications_AreNeverReposted) {
  EXPECT_EQ(advice_for(request(Opcode::Send, Environment::Quiet)).advice, Advice::Never);
  const auto with_imm = advice_for(request(Opcode::WriteWithImm, Environment::Quiet));
  EXPECT_EQ(with_imm.trace.value().violation, Violation::DuplicateNotification);
}

// ---- Dumps
// ----------------------------------------------------------------------------------------

constexpr const char* kDump = R"({
  "regions": [ {"rkey": "0x10", "environment": "reuse", "consumer": "notified", "fenced": true} ],
  "work_requests": [
    {"wr_id": 7, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 16, "remote_addr": 4096, "length": 64,
     "status": "IBV_WC_RETRY_EXC_ERR"},
    {"wr_id": 8, "opcode": "IBV_WR_SEND", "status": "IBV_WC_SUCCESS"}
  ]
})";

TEST(Dump, Request_CarriesTheContractOfItsRegion) {
  const auto dump = read_dump(kDump, "d").value();
  ASSERT_EQ(dump.size(), 2U);
  EXPECT_EQ(dump[0].request.wr_id, 7U);
  EXPECT_EQ(dump[0].request.contract.environment, Environment::Reuse);
  EXPECT_EQ(dump[0].request.contract.consumer, Consumer::Notified);
  EXPECT_TRUE(dump[0].request.contract.is_fenced);
  EXPECT_EQ(dump[0].outcome, Outcome::Unknown);
  EXPECT_EQ(dump[0].line, 4U);
}

TEST(Dump, CompletedRequest_IsKnownToBe) {
  EXPECT_EQ(read_dump(kDump, "d").value()[1].outcome, Outcome::Completed);
}

TEST(Dump, Address_KeepsAll64Bits) {
  std::string text = kDump;
  text.replace(text.find("4096"), 4, "18446744073709551615");
  EXPECT_EQ(read_dump(text, "d").value()[0].request.remote_addr, ~std::uint64_t{0});
}

struct Bad {
  const char* name;
  const char* from;
  const char* to;
  const char* refusal;
};

class BadDump : public ::testing::TestWithParam<Bad> {};

TEST_P(BadDump, IsRefusedWithLineAndField) {
  std::string text = kDump;
  text.replace(text.find(GetParam().from), std::string(GetParam().from).size(), GetParam().to);
  EXPECT_THAT(read_dump(text, "d").error().text, HasSubstr(GetParam().refusal));
}

INSTANTIATE_TEST_SUITE_P(
    Dump, BadDump,
    ::testing::Values(
        Bad{"NoJson", "\"wr_id\": 7", "\"wr_id\" 7", "d:4: syntax error"},
        Bad{"UnknownOpcode", "IBV_WR_SEND", "IBV_WR_TSO",
            "d:6: work_requests[1].opcode: \"IBV_WR_TSO\"; one of IBV_WR_RDMA_WRITE, "},
        Bad{"TextForANumber", "\"length\": 64", "\"length\": \"long\"",
            "d:4: work_requests[0].length: \"long\"; a whole number from 0 to 2147483648, or "},
        Bad{"NegativeNumber", "\"length\": 64", "\"length\": -1",
            "d:4: work_requests[0].length: -1; a whole number"},
        Bad{"NumberForAName", "\"reuse\"", "1", "d:2: regions[0].environment: 1; one of quiet, "},
        Bad{"TooLarge", "\"0x10\"", "\"0x100000000\"", "d:2: regions[0].rkey: \"0x100000000\"; "},
        Bad{"UnknownField", "\"remote_addr\"", "\"remote\"",
            "d:4: work_requests[0].remote: no such field; accepted are wr_id, "},
        Bad{"UnknownRegion", "\"rkey\": 16", "\"rkey\": 17",
            "d:4: work_requests[0].rkey: 17; one that \"regions\" describes is accepted"},
        Bad{"NumberForAFlag", "\"fenced\": true", "\"fenced\": 1",
            "d:2: regions[0].fenced: true or false expected, a number found"},
        Bad{"Missing", "\"wr_id\": 7, ", "", "d:4: work_requests[0]: no \"wr_id\"; "},
        Bad{"NoRegions", "\"regions\"", "\"region\"",
            "d:2: region: no such field; accepted are regions, work_requests"},
        Bad{"UnknownStatus", "IBV_WC_SUCCESS", "IBV_WC_FINE", "d:6: work_requests[1].status: "}),
    [](const auto& info) { return info.param.name; });

// ---- The monitor behind the advice
// ----------------------------------------------------------------

TEST(Judge, SettledWithoutARepost_IsLinearizable) {
  const Machine machine = testing::machine_of("blind-read");
  const AnyState done =
      testing::after(machine, {Action::Post, Action::Execute, Action::Complete, Action::Report});
  EXPECT_EQ(judge(machine, done), Violation::None);
}

TEST(Judge, MemoryThatNobodyWrote_IsNot) {
  const Machine machine =
      testing::machine_of("blind-read", {.environment = Environment::OtherWriters});
  AnyState done =
      testing::after(machine, {Action::Post, Action::Execute, Action::Complete, Action::Report});
  done.set(machine.shared[0], 1);
  EXPECT_EQ(judge(machine, done), Violation::Linearizability);
}

TEST(Judge, AnswerThatWasNeverThere_IsNot) {
  const Machine machine =
      testing::machine_of("blind-read", {.environment = Environment::OtherWriters});
  AnyState done =
      testing::after(machine, {Action::Post, Action::Execute, Action::Complete, Action::Report});
  done.set(machine.fields[0].answers[0], 1);
  EXPECT_EQ(judge(machine, done), Violation::Linearizability);
}

}  // namespace
}  // namespace portcullis::failover
