// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface: what it gives is what the programs print, bad input is one line, a limit ends
// it.
#include <portcullis/failover.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string owned(char* text) {
  std::string copy = text == nullptr ? "" : text;
  portcullis_text_free(text);
  return copy;
}

using Told = std::pair<portcullis_status, std::string>;

Told classify(const std::string& dump, portcullis_limits limits = {}) {
  char* text = nullptr;
  const portcullis_status status = portcullis_classify(dump.c_str(), &limits, &text);
  return {status, owned(text)};
}
Told check(const std::string& protocol, const char* environment, portcullis_limits limits = {}) {
  char* text = nullptr;
  const portcullis_status status = portcullis_check(protocol.c_str(), environment, &limits, &text);
  return {status, owned(text)};
}
std::string file_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(PORTCULLIS_PROTOCOLS + ("/" + path)).rdbuf();
  return text.str();
}

/// `count` requests of one opcode, far from each other.
std::string dump_of(std::size_t count, const std::string& opcode) {
  auto requests = nlohmann::json::array();
  for (std::size_t i = 0; i < count; ++i)
    requests.push_back({{"wr_id", i},
                        {"opcode", opcode},
                        {"rkey", 1},
                        {"remote_addr", 64 * i},
                        {"length", 8},
                        {"compare_add", 1},
                        {"swap", 2},
                        {"qp_num", 1}});
  const nlohmann::json dump = {{"regions", {{{"rkey", 1}, {"environment", "quiet"}}}},
                               {"work_requests", requests}};
  return dump.dump();
}

TEST(FailoverC, RulesAnswerSixtyFourRequests_AsExploringDoes) {
  const std::string dump = dump_of(64, "IBV_WR_ATOMIC_CMP_AND_SWP");
  char* text = nullptr;
  EXPECT_EQ(portcullis_classify_by_rules(dump.c_str(), &text), PORTCULLIS_DONE);
  const auto ruled = nlohmann::json::parse(owned(text));
  const auto explored = nlohmann::json::parse(classify(dump).second);
  ASSERT_EQ(ruled.size(), 64U);
  EXPECT_EQ(ruled[63]["by_rule"], true);
  EXPECT_EQ(explored[63]["by_rule"], false);
  for (const char* field : {"advice", "one_of", "conditions", "reason", "lemma"})
    EXPECT_EQ(ruled[63][field], explored[63][field]) << field;
}

TEST(FailoverC, EvidenceThatNoRunLeadsTo_IsRefusedWithItsPlace) {
  std::string dump = dump_of(1, "IBV_WR_ATOMIC_FETCH_AND_ADD");
  const std::string last = R"("wr_id":0)";
  dump.replace(dump.find(last), last.size(), last + R"(,"evidence":{"word":7,"word_before":1})");
  const Told told = classify(dump);
  EXPECT_EQ(told.first, PORTCULLIS_REFUSED);
  EXPECT_THAT(told.second, StartsWith("dump:1: work_requests[0].evidence: no run of "));
}

TEST(FailoverC, Classify_GivesOneObjectForEachRequest) {
  const auto [status, text] = classify(dump_of(2, "IBV_WR_ATOMIC_FETCH_AND_ADD"));
  EXPECT_EQ(status, PORTCULLIS_DONE);
  const auto advice = nlohmann::json::parse(text);
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_EQ(advice[1]["advice"], "never");
  EXPECT_GT(advice[1]["trace"].size(), 5U);
}

TEST(FailoverC, Classify_OfABadDumpIsRefusedWithItsLine) {
  const auto [status, text] = classify("{\n \"regions\": 7 }");
  EXPECT_EQ(status, PORTCULLIS_REFUSED);
  EXPECT_THAT(text, StartsWith("dump:"));
}

TEST(FailoverC, Check_GivesTheVerdictOfTheProgram) {
  const std::string protocol = file_of("protocols/lease-early.json");
  const auto [status, text] = check(protocol, "reuse");
  EXPECT_EQ(status, PORTCULLIS_DONE);
  const auto verdict = nlohmann::json::parse(text);
  EXPECT_EQ(verdict["verdict"], "refuted");
  EXPECT_EQ(verdict["violation"], "ghost-write");
  EXPECT_EQ(verdict["trace"].size(), verdict["depth"]);
  EXPECT_EQ(nlohmann::json::parse(check(protocol, nullptr).second)["verdict"], "gives-up");
}

TEST(FailoverC, Check_OfAnEnvironmentThatIsNotIsRefused) {
  const auto [status, text] = check(file_of("protocols/lease.json"), "storm");
  EXPECT_EQ(status, PORTCULLIS_REFUSED);
  EXPECT_THAT(text, HasSubstr("accepted are quiet, reuse"));
}

TEST(FailoverC, Check_NamesTheEnvironmentThatWasExplored) {
  const std::string protocol = file_of("protocols/lease-early.json");
  EXPECT_EQ(nlohmann::json::parse(check(protocol, nullptr).second)["environment"], "quiet");
  EXPECT_EQ(nlohmann::json::parse(check(protocol, "").second)["environment"], "quiet");
  EXPECT_EQ(nlohmann::json::parse(check(protocol, "reuse").second)["environment"], "reuse");
}

TEST(FailoverC, RefusalOfAValueOfTwoLines_IsOneLine) {
  const auto [status, text] = check(file_of("protocols/lease.json"), "a\nb\x1b");
  EXPECT_EQ(status, PORTCULLIS_REFUSED);
  EXPECT_THAT(text, HasSubstr("'a b '"));
}

TEST(FailoverC, NullPointers_AreRefused) {
  char* text = nullptr;
  EXPECT_EQ(portcullis_classify(nullptr, nullptr, &text), PORTCULLIS_REFUSED);
  EXPECT_THAT(owned(text), HasSubstr("no JSON"));
  EXPECT_EQ(portcullis_check("{}", nullptr, nullptr, nullptr), PORTCULLIS_REFUSED);
  portcullis_text_free(nullptr);
}

/// tagged-help-cas with timeouts that make it some hundred million states.
std::string endless() {
  auto protocol = nlohmann::json::parse(file_of("protocols/tagged-help-cas.json"));
  protocol["bounds"]["timeouts"] = 7;
  return protocol.dump();
}

TEST(FailoverC, TimeThatIsOver_StopsAnExploration) {
  const auto start = std::chrono::steady_clock::now();
  const auto [status, text] = check(endless(), "quiet", {50, 0, 0});
  EXPECT_EQ(status, PORTCULLIS_STOPPED);
  EXPECT_EQ(nlohmann::json::parse(text)["verdict"], "interrupted");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(FailoverC, MemoryThatIsUsedUp_StopsAnExploration) {
  const auto [status, text] = check(endless(), "quiet", {0, 0, 1 << 20});
  EXPECT_EQ(status, PORTCULLIS_STOPPED);
  EXPECT_EQ(nlohmann::json::parse(text)["verdict"], "memory-limit");
}

TEST(FailoverC, TimeThatIsOver_LeavesRequestsWithoutAdviceAndSaysSo) {
  const auto [status, text] = classify(dump_of(2000, "IBV_WR_ATOMIC_CMP_AND_SWP"), {1, 0, 0});
  EXPECT_EQ(status, PORTCULLIS_STOPPED);
  const auto advice = nlohmann::json::parse(text);
  EXPECT_EQ(advice.back()["advice"], "no-advice");
  EXPECT_THAT(advice.back()["reason"].get<std::string>(), StartsWith("stopped"));
}

}  // namespace
