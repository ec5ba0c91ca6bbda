// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify from its arguments to its verdict, with memory instead of a NIC and files instead of
// a network.
#include "tools/lease_verify/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/tools/lease_verify/memory_requester.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using portcullis::testing::MemoryRequester;
using ::testing::Contains;
using ::testing::HasSubstr;

class LeaseVerify : public ::testing::Test {
 public:
  ~LeaseVerify() override { std::filesystem::remove_all(folder); }

 protected:
  LeaseVerify() {
    std::string pattern = ::testing::TempDir() + "lease_verifyXXXXXX";
    folder = mkdtemp(pattern.data());
    options.request_file = folder / "request";
    options.grant_file = folder / "grant";
  }

  void answer(const std::string& line) const { std::ofstream(options.grant_file) << line << '\n'; }
  static std::string good_grant() {
    auto grant = MemoryRequester::grant();
    grant.server = {.qpn = 0x40,
                    .psn = 9,
                    .gid = pmd::Gid::from_ipv4(192, 0, 2, 1),
                    .mac = {{2, 0, 0, 0, 0, 1}}};
    return to_line(grant);
  }
  Result<bool> run() {
    return lease_verify::run(options,
                             {[this](const Options&) -> Result<std::unique_ptr<Requester>> {
                                auto made = std::make_unique<MemoryRequester>();
                                made->verdict = verdict;
                                if (silence_ns != 0) fail_second(*made);
                                return made;
                              },
                              [this] { return is_stopped; },
                              [this](const std::string& line) { printed.push_back(line); }});
  }

  /// The second operation fails, when the QP has asked in vain for `silence_ns`.
  void fail_second(MemoryRequester& requester) const {
    requester.verdict = [&requester, silence = silence_ns,
                         done = 0](const Operation& /*operation*/) mutable {
      if (++done == 1) return WorkResult{};
      requester.now_ns += silence;
      return WorkResult{prm::WcStatus::RETRY_EXC_ERR, 0x81};
    };
  }

  std::uint64_t silence_ns = 0;
  std::filesystem::path folder;
  Options options;
  std::function<WorkResult(const Operation&)> verdict;
  std::vector<std::string> printed;
  bool is_stopped = false;
};

TEST_F(LeaseVerify, Interrupted_EndsTheCheckBeforeItsRounds) {
  answer(good_grant());
  options.data.rounds = 1'000'000;
  is_stopped = true;

  EXPECT_EQ(run().error().text, "interrupted");
}

TEST_F(LeaseVerify, InterruptedRevokeTest_SaysWhatWasSeen) {
  answer(good_grant());
  options.revoke_test = true;
  is_stopped = true;

  EXPECT_FALSE(run().value());
  EXPECT_THAT(printed, Contains(HasSubstr("0 of RDMA WRITE succeeded")));
}

TEST_F(LeaseVerify, GoodLease_IsCheckedAndGood) {
  answer(good_grant());

  const auto good = run();

  EXPECT_TRUE(good.value());
  EXPECT_THAT(printed, Contains(HasSubstr("ok    RDMA READ")));
  std::string request;
  std::getline(std::ifstream(options.request_file) >> std::ws, request);
  EXPECT_TRUE(service::exchange::parse_request(request));
}

TEST_F(LeaseVerify, FailedOperation_IsWrongNotAnError) {
  answer(good_grant());
  verdict = [](const Operation&) { return WorkResult{prm::WcStatus::REM_ACCESS_ERR, 0}; };

  const auto good = run();

  EXPECT_FALSE(good.value());
  EXPECT_THAT(printed, Contains(HasSubstr("WRONG RDMA WRITE of 1 bytes")));
}

TEST_F(LeaseVerify, RevokeTest_WritesWhatItSaw) {
  answer(good_grant());
  verdict = [](const Operation&) { return WorkResult{prm::WcStatus::RETRY_EXC_ERR, 0x81}; };
  options.revoke_test = true;
  options.json_file = folder / "seen.json";

  const auto good = run();

  EXPECT_TRUE(good.value());
  EXPECT_THAT(printed, Contains(HasSubstr("12 IBV_WC_RETRY_EXC_ERR")));
  EXPECT_TRUE(std::filesystem::exists(options.json_file));
}

TEST_F(LeaseVerify, RevokeToldTooLate_IsNotAsItShouldBe) {
  answer(good_grant());
  silence_ns = 2'100'000'000;
  options.revoke_test = true;

  EXPECT_FALSE(run().value());
  EXPECT_THAT(printed, Contains(HasSubstr("2000 ms budget NOT met")));
}

TEST_F(LeaseVerify, JsonThatCannotBeWritten_IsAnErrorThatNamesIt) {
  answer(good_grant());
  verdict = [](const Operation&) { return WorkResult{prm::WcStatus::RETRY_EXC_ERR, 0x81}; };
  options.revoke_test = true;
  options.json_file = folder / "missing/seen.json";

  EXPECT_THAT(run().error().text, HasSubstr("missing/seen.json"));
}

TEST_F(LeaseVerify, LyingGrant_IsOneLineAndNothingIsPosted) {
  answer("lease-grant version=1 rkey=everything");

  const auto good = run();

  EXPECT_THAT(good.error().text, HasSubstr("lease-grant: qpn is missing"));
}

TEST_F(LeaseVerify, NoAnswer_EndsAfterTheWait) {
  options.wait_ms = 1;

  EXPECT_EQ(run().error().code, Errc::Timeout);
}

struct BadArguments {
  const char* name;
  std::vector<const char*> words;
  const char* told;
};

class LeaseVerifyArguments : public ::testing::TestWithParam<BadArguments> {};

TEST_P(LeaseVerifyArguments, AreOneLine) {
  std::vector<const char*> words = {"lease-verify"};
  words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());

  const auto options = parse_options(static_cast<int>(words.size()), words.data());

  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().text, HasSubstr(GetParam().told));
  EXPECT_EQ(options.error().text.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Words, LeaseVerifyArguments,
    ::testing::Values(
        BadArguments{"NoWay", {}, "--server HOST:PORT"},
        BadArguments{"OneFile", {"--grant-file", "x"}, "both --request-file"},
        BadArguments{"BothWays",
                     {"--server", "h:1", "--request-file", "x", "--grant-file", "y"},
                     "either --server"},
        BadArguments{"NoPort", {"--server", "h"}, "address \"h\"; HOST:PORT"},
        BadArguments{"Unknown", {"--server", "h:1", "--colour"}, "--colour"},
        BadArguments{"Port", {"--server", "h:1", "--port", "0"}, "--port"},
        BadArguments{"Op", {"--server", "h:1", "--op", "steal"}, "steal"},
        BadArguments{"DepthOfNoRevoke",
                     {"--server", "h:1", "--depth", "7"},
                     "--depth: of a revoke; it goes with --revoke-test"},
        BadArguments{"Depth", {"--server", "h:1", "--depth", "17"}, "--depth"},
        BadArguments{"TwoServers", {"--server", "h:1", "--leased", "/s"}, "one way"},
        BadArguments{"NoScheme", {"--leased", "tcp://h:1"}, "tcp://h:1"},
        BadArguments{"NoSocket", {"--leased", ""}, "--leased: an empty value"},
        BadArguments{
            "NoPortOfQuic",
            {"--leased", "quic://h", "--authority", "a", "--certificate", "b", "--key", "c"},
            "quic://HOST:PORT is accepted"},
        BadArguments{"NoKey",
                     {"--leased", "quic://h:1", "--authority", "a"},
                     "--authority, --certificate and --key are needed"},
        BadArguments{
            "KeyOfASocket", {"--leased", "/s", "--key", "c"}, "a socket asks for no certificate"},
        BadArguments{"SweepOfAServer", {"--sweep", "--server", "h:1"}, "one way to ask"},
        BadArguments{"ListenWithoutASweep", {"--listen", "7471"}, "--sweep"},
        BadArguments{"SweepOfARevokeTest", {"--sweep", "--revoke-test"}, "--revoke-test"},
        BadArguments{"CooperateAtLeaseServe", {"--server", "h:1", "--cooperate"}, "--leased"},
        BadArguments{"BothModes",
                     {"--leased", "/s", "--cooperate", "--revoke-test"},
                     "one of them is accepted"},
        BadArguments{"RevokeOfADataCheck",
                     {"--leased", "/s", "--revoke-after-ms", "5"},
                     "--revoke-after-ms 5"},
        BadArguments{
            "Access", {"--leased", "/s", "--access", "steal"}, "--access: access \"steal\""},
        BadArguments{"Timeout", {"--leased", "/s", "--timeout", "32"}, "--timeout"}),
    [](const auto& info) { return info.param.name; });

TEST(LeaseVerifyOptions, OpIsTaken) {
  const std::array words = {"lease-verify", "--server", "h:1", "--revoke-test", "--op", "read"};

  const auto options = parse_options(words.size(), words.data());

  EXPECT_EQ(options.value().revoke.op, Op::Read);
}

TEST(LeaseVerifyOptions, LeasedOverQuic_IsTaken) {
  const std::array words = {"lease-verify",
                            "--leased",
                            "quic://db1.example:7810",
                            "--authority",
                            "ca.pem",
                            "--certificate",
                            "alice.pem",
                            "--key",
                            "alice.key",
                            "--timeout",
                            "8",
                            "--retry",
                            "3",
                            "--access",
                            "write+atomic",
                            "--cooperate",
                            "--server-name",
                            "db1"};

  const auto options = parse_options(words.size(), words.data());

  const LeasedOptions& leased = options.value().leased.value();
  EXPECT_EQ(leased.server.quic.value().address, "db1.example:7810");
  EXPECT_EQ(leased.server.quic->files.key, "alice.key");
  EXPECT_EQ(leased.server.quic->name, "db1");
  EXPECT_EQ(leased.timeout, 8U);
  EXPECT_EQ(leased.retry, 3U);
  EXPECT_EQ(leased.access, (pmd::Access{.remote_write = true, .remote_atomic = true}));
  EXPECT_TRUE(leased.cooperate);
}

}  // namespace
}  // namespace portcullis::tools::lease_verify
