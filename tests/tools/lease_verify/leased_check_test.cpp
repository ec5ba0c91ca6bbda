// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify at a whole leased of this process, over the socket and over QUIC. Of the queue pair
// it is told that the server holds the lease, or does not any more; everything else is as it runs.
#include "tools/lease_verify/leased_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/client/keeper_rig.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using client::KeeperTest;
using ::testing::Contains;
using ::testing::HasSubstr;

/// A queue pair whose operations succeed while the server holds a lease, on memory of its own.
class HeldRequester : public Requester {
 public:
  explicit HeldRequester(client::Connection asked) : asked_(std::move(asked)) {}

  service::exchange::Request request() const override {
    return {.client = {.qpn = 0x11,
                       .psn = 7,
                       .gid = *pmd::Gid::parse("fe80::99"),
                       .mac = {{2, 0, 0, 0, 0, 9}}},
            .mtu = 1024};
  }
  std::string description() const override { return "memory"; }
  Result<void> connect(const service::exchange::Grant& grant) override {
    first_ = grant.address;
    region_.resize(grant.length);
    return {};
  }
  std::span<std::byte> buffer() noexcept override { return buffer_; }
  Result<void> post(const Operation& operation) override {
    posted_.push_back(operation);
    if (++count == act_at && act) act();
    return {};
  }
  Result<std::optional<WorkResult>> wait(std::uint64_t until_ns) override {
    PORTCULLIS_TRY_ASSIGN(const auto rows, asked_.list(7));
    const bool is_held = !rows.empty();
    const bool is_patient = until_ns > clock().now_ns() + 10 * kNsPerMs;
    if (!is_held && !is_patient && is_silent) return std::nullopt;
    const Operation operation = posted_.front();
    posted_.pop_front();
    if (!is_held) return WorkResult{prm::WcStatus::REM_ACCESS_ERR, 0x88};
    serve(operation);
    return WorkResult{};
  }

  unsigned count = 0;
  unsigned act_at = 0;  // just behind this operation's posting ..
  std::function<void()> act;
  /// An end is no answer to who looks up every few milliseconds: only to who waits.
  bool is_silent = false;

 private:
  void serve(const Operation& operation) {
    std::byte* const there = region_.data() + (operation.remote_address - first_);
    std::byte* const here = buffer_.data() + operation.local_offset;
    if (operation.op == Op::Write) std::memcpy(there, here, operation.bytes);
    if (operation.op == Op::Read) std::memcpy(here, there, operation.bytes);
  }

  client::Connection asked_;
  std::uint64_t first_ = 0;
  std::vector<std::byte> region_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(1 << 16);
  std::deque<Operation> posted_;
};

class LeasedVerify : public KeeperTest {
 protected:
  void SetUp() override {
    KeeperTest::SetUp();
    options_.leased = LeasedOptions{.server = server(), .bytes = 8192};
    options_.json_file = folder_ / "seen.json";
    made_ = std::make_unique<HeldRequester>(connection());
  }
  /// Somebody else takes everything back when the tenth operation has been posted.
  void revoke_at_the_tenth() {
    made_->act_at = 10;
    made_->act = [this] { EXPECT_EQ(connection().revoke_tenant(7)->torn_down, 1U); };
  }
  Result<Verdict> run() {
    return run_leased(
        options_,
        {[this](const Options&) -> Result<std::unique_ptr<Requester>> { return std::move(made_); },
         [] { return false; }, [this](const std::string& line) { printed_.push_back(line); }});
  }
  nlohmann::json told() const { return nlohmann::json::parse(std::ifstream(options_.json_file)); }

  Options options_;
  std::unique_ptr<HeldRequester> made_;
  std::vector<std::string> printed_;
};
INSTANTIATE_TEST_SUITE_P(Over, LeasedVerify, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Quic" : "Socket"; });

// How long a busy machine takes is judged below, on times that are written down.

TEST_P(LeasedVerify, GoodLease_IsCheckedAndGivenBack) {
  EXPECT_NE(run().value(), Verdict::Wrong);

  EXPECT_THAT(printed_, Contains(HasSubstr("bytes as they were written")));
  EXPECT_THAT(printed_, Contains(HasSubstr("TornDown, memory proved by DESTROY_MKEY, ended by "
                                           "holder")));
  EXPECT_TRUE(connection().list(7)->empty());
}

TEST_P(LeasedVerify, WhoIgnoresItsOwnRevoke_LearnsItFromItsQueuePair) {
  options_.revoke_test = true;
  options_.leased->revoke_after_ms = 20;

  EXPECT_NE(run().value(), Verdict::Wrong);

  EXPECT_THAT(printed_, Contains(HasSubstr("10 IBV_WC_REM_ACCESS_ERR")));
  EXPECT_THAT(printed_, Contains(HasSubstr("nothing that was posted succeeded")));
  EXPECT_EQ(told()["word"]["outcome"], "TornDown");
  EXPECT_GE(told()["first_failure_ns"], told()["asked_ns"]);
  EXPECT_EQ(told()["advice"][0]["advice"], "no-advice");
  EXPECT_THAT(told()["advice"][0]["reason"], HasSubstr("refused by the responder"));
}

TEST_P(LeasedVerify, WhoCooperates_StopsAtTheWordThoughItsQueuePairIsSilent) {
  options_.leased->cooperate = true;
  options_.revoke.depth = 4;
  made_->is_silent = true;
  revoke_at_the_tenth();

  EXPECT_NE(run().value(), Verdict::Wrong);

  EXPECT_THAT(printed_, Contains(HasSubstr("by its own word")));
  EXPECT_THAT(printed_, Contains(HasSubstr("nothing was posted")));
  EXPECT_LT(told()["closed_ns"], told()["first_failure_ns"]);
  EXPECT_LE(told()["last_post_ns"], told()["word"]["at_ns"]);
  EXPECT_EQ(told()["advice"].size(), told()["outstanding"]["requests"]);
}

TEST_P(LeasedVerify, NoRevokeInThisTime_IsWrong) {
  options_.revoke_test = true;
  options_.revoke.limit_ms = 20;

  EXPECT_EQ(run().value(), Verdict::Wrong);

  EXPECT_THAT(printed_, Contains(HasSubstr("WRONG: the lease was not revoked in this time")));
}

TEST_P(LeasedVerify, LeaseThatSomebodyTakesDuringTheDataCheck_IsWrong) {
  revoke_at_the_tenth();

  EXPECT_EQ(run().value(), Verdict::Wrong);

  EXPECT_THAT(printed_, Contains(HasSubstr("WRONG RDMA")));
}

TEST_P(LeasedVerify, MoreThanTheServerGives_IsAnError) {
  options_.leased->bytes = std::uint64_t{1} << 40;

  EXPECT_THAT(run().error().text, HasSubstr("1099511627776"));
}

TEST(LeasedVerifyAlone, NobodyListens_EndsAfterTheWait) {
  Options options;
  options.leased = LeasedOptions{.server = {.socket = "/nowhere/leased.sock"}};
  options.wait_ms = 1;

  const auto lease = LeasedLease::open(*options.leased, {}, options.wait_ms, {});

  EXPECT_THAT(lease.error().text, HasSubstr("/nowhere/leased.sock"));
}

constexpr std::uint64_t kStart = 1'000'000'000;
std::uint64_t at(std::uint64_t ms) { return kStart + ms * kNsPerMs; }

/// Posting and succeeding until 100 ms, asked for at 100 ms, outcome and word at 101 ms, found out
/// at 110 ms by a failure.
LeasedRevoke good() {
  LeasedRevoke revoke;
  revoke.seen.started_ns = kStart;
  revoke.seen.succeeded = 50;
  revoke.seen.last_success_ns = at(99);
  revoke.seen.last_success_post_ns = at(98);
  revoke.seen.last_post_ns = at(100);
  revoke.seen.first_failure_ns = at(110);
  revoke.seen.failure = WorkResult{prm::WcStatus::RETRY_EXC_ERR, 0x81};
  revoke.ended.emplace().at_ns = at(101);
  revoke.ended->how.is_known = true;
  revoke.ended->how.body.outcome = wire::Outcome::TornDown;
  revoke.asked = Revoker::Asked{.asked_ns = at(100),
                                .answered_ns = at(101),
                                .answer = wire::RevokeAnswer{.outcome = wire::Outcome::TornDown}};
  return revoke;
}

TEST(LeasedVerdict, EverythingInTime_IsGood) {
  EXPECT_EQ(good().verdict(), Verdict::Good);
  EXPECT_EQ(good().verdict_text(),
            "1 s contract met, sub-second property met, 2000 ms budget met: 10.000 ms from the "
            "revoke's being asked for");
}

TEST(LeasedVerdict, SomebodyElsesRevoke_IsCountedFromTheLastSuccess) {
  LeasedRevoke revoke = good();
  revoke.asked.reset();
  EXPECT_EQ(revoke.verdict(), Verdict::Good);
  EXPECT_EQ(revoke.unknown_for_ns(), 11 * kNsPerMs);
  EXPECT_THAT(revoke.verdict_text(), HasSubstr("who asked for the revoke knows"));
}

TEST(LeasedVerdict, KnownAfterASecond_MissesTheProperty) {
  LeasedRevoke revoke = good();
  revoke.seen.first_failure_ns = at(1'100);
  EXPECT_EQ(revoke.verdict(), Verdict::Good);
  revoke.seen.first_failure_ns += 1;
  EXPECT_EQ(revoke.verdict(), Verdict::PropertyMissed);
}

TEST(LeasedVerdict, KnownAfterTwoSeconds_MissesTheBudget) {
  LeasedRevoke revoke = good();
  revoke.seen.first_failure_ns = at(2'100) + 1;
  EXPECT_EQ(revoke.verdict(), Verdict::BudgetMissed);
  EXPECT_THAT(revoke.verdict_text(), HasSubstr("2000 ms budget NOT met"));
}

TEST(LeasedVerdict, OutcomeAfterASecond_MissesTheContract) {
  LeasedRevoke revoke = good();
  revoke.asked->answered_ns = at(1'100) + 1;
  EXPECT_EQ(revoke.verdict(), Verdict::ContractMissed);
  EXPECT_THAT(revoke.verdict_text(), HasSubstr("1 s contract NOT met"));
}

TEST(LeasedVerdict, RevokeWithoutAnAnswer_MissesTheContract) {
  LeasedRevoke revoke = good();
  revoke.asked->answer = fail(Errc::Timeout, "no answer");
  EXPECT_EQ(revoke.verdict(), Verdict::ContractMissed);
}

TEST(LeasedVerdict, SuccessOfWhatWasPostedBehindTheWord_IsWrong) {
  LeasedRevoke revoke = good();
  revoke.seen.last_success_post_ns = at(101) + 1;
  EXPECT_EQ(revoke.verdict(), Verdict::Wrong);
  EXPECT_THAT(revoke.lines(), Contains(HasSubstr("behind the word of the end succeeded")));
}

TEST(LeasedVerdict, PostingBehindTheWord_IsWrongOfWhoCooperatesAlone) {
  LeasedRevoke revoke = good();
  revoke.seen.last_post_ns = at(101) + 1;
  EXPECT_EQ(revoke.verdict(), Verdict::Good);
  revoke.cooperates = true;
  EXPECT_EQ(revoke.verdict(), Verdict::Wrong);
}

TEST(LeasedVerdict, NoWord_IsWrong) {
  LeasedRevoke revoke = good();
  revoke.ended->how.is_known = false;
  EXPECT_EQ(revoke.verdict(), Verdict::Wrong);
  revoke.ended.reset();
  EXPECT_EQ(revoke.verdict(), Verdict::Wrong);
  EXPECT_THAT(revoke.lines(), Contains(HasSubstr("word of it     none")));
}

TEST(LeasedVerdict, LeaseThatTheServerDidNotFind_IsWrong) {
  LeasedRevoke revoke = good();
  revoke.asked->answer->outcome = wire::Outcome::NotFound;
  EXPECT_EQ(revoke.verdict(), Verdict::Wrong);
}

TEST(LeasedVerdict, WhoCooperates_KnowsWhenTheGateIsClosed) {
  LeasedRevoke revoke = good();
  revoke.cooperates = true;
  revoke.seen.closed_ns = at(102);
  revoke.seen.first_failure_ns = at(5'000);
  EXPECT_EQ(revoke.unknown_for_ns(), 2 * kNsPerMs);
  EXPECT_EQ(revoke.verdict(), Verdict::Good);
}

}  // namespace
}  // namespace portcullis::tools::lease_verify
