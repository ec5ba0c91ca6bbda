// SPDX-License-Identifier: BSD-3-Clause
//
// A dump from a log of lease-verify, and the line that says what a log lacks. That lease-verify
// writes such logs is shown in tests/tools/lease_verify.
#include "tools/failover_check/verify_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <string>
#include <vector>

#include "failover/classify/classify.hpp"
#include "failover/classify/dump.hpp"
#include "tools/failover_check/commands.hpp"
#include "tools/failover_check/spin_run.hpp"

namespace portcullis::tools::failover_check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// With `status` empty nothing failed.
std::string log_of(const std::string& operation, const std::string& status,
                   const std::string& outstanding) {
  return R"({"program": "lease-verify",
 "operation": ")" +
         operation + R"(",
 "succeeded": 41, "started_ns": 7)" +
         (status.empty() ? "" : ",\n \"status_name\": \"" + status + "\"") +
         (outstanding.empty() ? "" : ",\n \"outstanding\": " + outstanding) + "}\n";
}
const std::string three_left = R"({"requests": 3, "qp_num": 17, "psn": 16777214, "rkey": 4096, )"
                               R"("remote_addr": 64, "length": 8})";

std::string refusal(const std::string& log) {
  const auto read = read_verify_log(log, "seen.json");
  return read.has_value() ? "" : read.error().text;
}

TEST(VerifyLog, FailureAndWhatWasPostedBehindIt_AreOutstanding) {
  const Capture found =
      read_verify_log(log_of("RDMA WRITE", "IBV_WC_RETRY_EXC_ERR", three_left), "seen.json")
          .value();
  EXPECT_EQ(found.answered_before, 41U);
  std::vector<std::string> statuses;
  std::vector<std::uint32_t> psns;
  for (const CapturedRequest& one : found.requests) {
    statuses.emplace_back(one.status);
    psns.push_back(one.psn);
    EXPECT_EQ(one.remote_addr, 64U);
  }
  EXPECT_THAT(statuses, ElementsAre("IBV_WC_RETRY_EXC_ERR", "", ""));
  EXPECT_THAT(psns, ElementsAre(0xfffffeU, 0xffffffU, 0U));
}

std::vector<std::string> advice_for(const std::string& operation, const std::string& status) {
  const Capture found = read_verify_log(log_of(operation, status, three_left), "seen.json").value();
  const std::string dump = dump_of(found, {"quiet", "polls", true});
  std::vector<std::string> all;
  const auto advice = failover::classify(failover::read_dump(dump, "dump").value()).value();
  for (const failover::Classification& one : advice)
    all.emplace_back(failover::name_of(one.advice));
  return all;
}

TEST(VerifyLog, Dump_IsWhatClassifyReads) {
  EXPECT_THAT(advice_for("RDMA WRITE", "IBV_WC_RETRY_EXC_ERR"),
              ElementsAre("repost", "repost", "repost"));
  EXPECT_THAT(advice_for("RDMA READ", "IBV_WC_RETRY_EXC_ERR"),
              ElementsAre("repost", "repost", "repost"));
  EXPECT_THAT(advice_for("FETCH_ADD", "IBV_WC_RETRY_EXC_ERR"),
              ElementsAre("never", "never", "never"));
}

TEST(VerifyLog, WithoutAFailure_IsADumpWithoutRequests) {
  const Capture found = read_verify_log(log_of("RDMA READ", "", ""), "seen.json").value();
  EXPECT_TRUE(found.requests.empty());
  EXPECT_EQ(found.answered_before, 41U);
}

TEST(VerifyLog, OfAnOlderLeaseVerify_IsRefusedWithWhatItLacks) {
  EXPECT_EQ(refusal(log_of("RDMA WRITE", "IBV_WC_RETRY_EXC_ERR", "")),
            "seen.json:1: no \"outstanding\"; a log of `lease-verify --revoke-test --json` that "
            "has it is accepted");
}

TEST(VerifyLog, CaptureThatBeginsWithWhiteSpace_IsNone) {
  EXPECT_TRUE(is_log("\n {\"program\": "));
  EXPECT_FALSE(
      is_log(std::string("\n\r\r\n {\0\0M<+\x1a", 12)));  // a section header of 31,520 bytes
  EXPECT_FALSE(is_log(""));
}

struct Lack {
  const char* name;
  std::string log;
  const char* line;
};
class VerifyLogRefuses : public ::testing::TestWithParam<Lack> {};

TEST_P(VerifyLogRefuses, OneLineWithLineAndField) {
  const std::string line = refusal(GetParam().log);
  EXPECT_THAT(line, HasSubstr(GetParam().line));
  EXPECT_EQ(std::ranges::count(line, '\n'), 0);
}

std::string with(const std::string& field, const std::string& value) {
  std::string three = three_left;
  const std::size_t at = three.find(field) + field.size() + 3;
  return log_of("RDMA WRITE", "IBV_WC_RETRY_EXC_ERR",
                three.replace(at, three.find_first_of(",}", at) - at, value));
}

INSTANTIATE_TEST_SUITE_P(
    All, VerifyLogRefuses,
    ::testing::Values(
        Lack{"OtherProgram", R"({"program": "fence-audit"})", "seen.json:1: program: "},
        Lack{"Nothing", "{}", "seen.json:1: no \"program\""},
        Lack{"Operation", log_of("SEND", "", ""), "seen.json:2: operation: "},
        Lack{"Status", log_of("RDMA READ", "IBV_WC_TIRED", three_left),
             "seen.json:4: status_name: "},
        Lack{"StatusOfNoFailure", log_of("RDMA READ", "IBV_WC_SUCCESS", three_left), "status_name"},
        Lack{"NoStatus", log_of("RDMA READ", "", three_left), "no \"status_name\""},
        Lack{"NoKey", log_of("RDMA READ", "IBV_WC_RETRY_EXC_ERR", R"({"requests": 1, "qp_num": 1,
 "psn": 1})"),
             "seen.json:5: outstanding: no \"rkey\""},
        Lack{"NoRequests", with("requests", "0"), "outstanding.requests: "},
        Lack{"TooManyRequests", with("requests", "17"), "a whole number from 1 to 16"},
        Lack{"QueuePair", with("qp_num", "16777216"), "outstanding.qp_num: "},
        Lack{"Psn", with("psn", "-1"), "outstanding.psn: "},
        Lack{"Key", with("rkey", "4294967296"), "outstanding.rkey: "},
        Lack{"Address", with("remote_addr", "\"0x40\""), "outstanding.remote_addr: "},
        Lack{"Length", with("length", "9"), "outstanding.length: "},
        Lack{"NoJson", "{\"program\": ", "seen.json:1: "}),
    [](const auto& info) { return info.param.name; });

// ---- Through the program

struct Console {
  std::ostringstream out, err;
  std::atomic<bool> stop{false};
};
int import_file(const std::string& bytes, ImportCommand command, Console& console) {
  const auto folder = ScratchFolder::create().value();
  command.path = folder.path() + "/seen.json";
  EXPECT_TRUE(write_file(command.path, bytes));
  return run_import(command, {console.out, console.err, console.stop});
}
ImportCommand plain() {
  return {
      .path = {}, .captured_at = {}, .environment = "reuse", .consumer = "notified", .sender = {}};
}

TEST(ImportProgram, LogOfLeaseVerify_BecomesADump) {
  Console console;
  EXPECT_EQ(
      import_file(log_of("RDMA WRITE", "IBV_WC_REM_ACCESS_ERR", three_left), plain(), console),
      kExitFine);
  EXPECT_EQ(failover::read_dump(console.out.str(), "dump").value().size(), 3U);
  EXPECT_EQ(console.err.str(),
            "failover-check: 3 requests from the first outstanding one on; 41 completed before are "
            "left out\n");
}

TEST(ImportProgram, LogThatIsSaidToBeCaptured_IsRefused) {
  Console console;
  ImportCommand command = plain();
  command.captured_at = "sender";
  EXPECT_EQ(import_file(log_of("RDMA READ", "", ""), command, console), kExitBad);
  EXPECT_THAT(console.err.str(), HasSubstr("accepted without --captured-at\n"));
}

TEST(ImportProgram, CaptureOfWhichItIsNotSaidWhere_IsRefused) {
  Console console;
  EXPECT_EQ(import_file("capture", plain(), console), kExitBad);
  EXPECT_THAT(console.err.str(), HasSubstr("a capture needs --captured-at, accepted are sender"));
}

}  // namespace
}  // namespace portcullis::tools::failover_check
