// SPDX-License-Identifier: BSD-3-Clause
//
// The other end of first-light --peer, asked by a script: it answers, goes on through a revoke, and
// whoever is not first-light, or says what nobody may, costs it one line.
#include "tools/lease_verify/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "service/exchange/sweep.hpp"
#include "tests/tools/lease_verify/memory_requester.hpp"
#include "tools/lease_verify/options.hpp"

namespace portcullis::tools::lease_verify {
namespace {

namespace exchange = service::exchange;
using portcullis::testing::MemoryRequester;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Says its lines one after the other, each once the one before was answered.
class Script final : public exchange::LineChannel {
 public:
  explicit Script(std::deque<std::string> lines) : lines_(std::move(lines)) {}

  Result<std::optional<std::string>> poll_line() override {
    if (lines_.empty()) return fail(Errc::Malformed, "script: it hung up without a line");
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }
  Result<void> send_line(std::string_view line) override {
    sent.emplace_back(line);
    return {};
  }
  void drop() override { ++dropped; }
  bool is_peer_gone() override { return lines_.empty(); }
  std::string peer() const override { return "script"; }

  std::vector<std::string> sent;
  int dropped = 0;

 private:
  std::deque<std::string> lines_;
};

class LeaseVerifySweep : public ::testing::Test {
 protected:
  Result<void> run(std::deque<std::string> lines) {
    channel.emplace(std::move(lines));
    const World world{[this](const Options&) { return open(); }, [this] { return is_stopped; },
                      [this](const std::string& line) { printed.push_back(line); }};
    return sweep(options, world, *channel);
  }

  Result<std::unique_ptr<Requester>> open() {
    ++opened;
    auto requester = std::make_unique<MemoryRequester>();
    requester->verdict = [this, done = 0](const MemoryRequester::Operation&) mutable {
      return ++done > succeed ? WorkResult{.status = failure} : WorkResult{};
    };
    if (is_silent_in_the_end) requester->silent_from = static_cast<std::size_t>(succeed);
    return std::unique_ptr<Requester>(std::move(requester));
  }

  static std::string grant() {
    auto granted = MemoryRequester::grant();
    granted.server = MemoryRequester{}.request().client;
    granted.server.gid = pmd::Gid::from_ipv4(192, 0, 2, 1);
    return to_line(granted);
  }
  static std::string go(std::uint64_t number) {
    return to_line(exchange::SweepGo{.number = number, .limit_ms = 4'000});
  }

  Options options;
  std::optional<Script> channel;
  std::vector<std::string> printed;
  int opened = 0;
  int succeed = 10;
  prm::WcStatus failure = prm::WcStatus::RETRY_EXC_ERR;
  bool is_silent_in_the_end = false;
  bool is_stopped = false;
};

TEST_F(LeaseVerifySweep, TwoLeases_EachHasAQueuePairOfItsOwnAndIsTold) {
  const auto done = run({exchange::sweep_hello(), exchange::sweep_point(1), grant(),
                         exchange::sweep_clock(1), go(1), exchange::sweep_clock(2),
                         exchange::sweep_point(2), grant(), go(2), exchange::sweep_end()});

  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(opened, 2);
  EXPECT_THAT(channel->sent, ElementsAre(StartsWith("sweep-peer"), StartsWith("lease-request"),
                                         StartsWith("sweep-ready"), StartsWith("sweep-clock"),
                                         StartsWith("sweep-seen"), StartsWith("sweep-clock"),
                                         StartsWith("lease-request"), StartsWith("sweep-ready"),
                                         StartsWith("sweep-seen")));
  const auto seen = exchange::parse_sweep_seen(channel->sent[4]).value();
  EXPECT_EQ(seen.number, 1u);
  EXPECT_EQ(seen.succeeded, 9u);  // and one before it went on
  EXPECT_EQ(seen.status, 12u);
  EXPECT_EQ(seen.first_failure_ns - seen.last_success_ns, MemoryRequester::kOperationNs);
  EXPECT_THAT(printed, Contains(HasSubstr("9 WRITEs, then 12 IBV_WC_RETRY_EXC_ERR")));
}

TEST_F(LeaseVerifySweep, FirstWriteThatDoesNotArrive_IsSaidWithItsStatus) {
  succeed = 0;

  ASSERT_TRUE(
      run({exchange::sweep_hello(), exchange::sweep_point(1), grant(), exchange::sweep_end()}));

  EXPECT_EQ(exchange::parse_sweep_ready(channel->sent.back())->status, 12u);
}

TEST_F(LeaseVerifySweep, NoFailureWithinTheLimit_IsNoneAndNobodyHangs) {
  is_silent_in_the_end = true;

  ASSERT_TRUE(run(
      {exchange::sweep_hello(), exchange::sweep_point(1), grant(), go(1), exchange::sweep_end()}));

  const auto seen = exchange::parse_sweep_seen(channel->sent.back()).value();
  EXPECT_EQ(seen.first_failure_ns, 0u);
  EXPECT_EQ(seen.status, 0u);
}

TEST_F(LeaseVerifySweep, RefusedLease_IsPassedOver) {
  ASSERT_TRUE(
      run({exchange::sweep_hello(), exchange::sweep_point(1), exchange::refusal("no such plan"),
           exchange::sweep_point(2), grant(), go(2), exchange::sweep_end()}));

  EXPECT_EQ(exchange::parse_sweep_seen(channel->sent.back())->number, 2u);
}

TEST_F(LeaseVerifySweep, WhoIsNotFirstLight_IsToldSoAndTheNextAwaited) {
  ASSERT_TRUE(run({"GET / HTTP/1.1", exchange::sweep_hello(), exchange::sweep_end()}));

  EXPECT_THAT(channel->sent.front(), StartsWith("sweep-failed"));
  EXPECT_EQ(channel->dropped, 2);
  EXPECT_THAT(printed, Contains(HasSubstr("refused")));
}

struct BadAsker {
  const char* name;
  const char* line;  // behind the first clock
  const char* told;
};

class BadSweep : public LeaseVerifySweep, public ::testing::WithParamInterface<BadAsker> {};

TEST_P(BadSweep, IsOneLineToBothSides) {
  const auto done = run({exchange::sweep_hello(), exchange::sweep_clock(1), GetParam().line});

  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr(GetParam().told));
  EXPECT_THAT(channel->sent.back(), StartsWith("sweep-failed"));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadSweep,
    ::testing::Values(BadAsker{"Junk", "what is this", "sweep-go is accepted"},
                      BadAsker{"GoWithoutALease", "sweep-go version=1 number=3 limit-ms=9",
                               "number=3, which has no lease"},
                      BadAsker{"EndlessGo", "sweep-go version=1 number=3 limit-ms=600001",
                               "limit-ms=600001"}),
    [](const auto& info) { return info.param.name; });

TEST_F(LeaseVerifySweep, WhoHangsUp_EndsIt) {
  const auto done = run({exchange::sweep_hello(), exchange::sweep_point(1)});

  EXPECT_THAT(done.error().text, HasSubstr("hung up"));
}

TEST_F(LeaseVerifySweep, NobodyComes_EndsAfterTheWait) {
  class Nobody final : public exchange::LineChannel {
   public:
    Result<std::optional<std::string>> poll_line() override { return std::nullopt; }
    Result<void> send_line(std::string_view) override { return {}; }
    void drop() override {}
    bool is_peer_gone() override { return false; }
    std::string peer() const override { return "nobody"; }
  } nobody;
  options.wait_ms = 1;
  const World world{[this](const Options&) { return open(); }, [] { return false; },
                    [](const std::string&) {}};

  EXPECT_EQ(sweep(options, world, nobody).error().code, Errc::Timeout);
}

TEST_F(LeaseVerifySweep, Interrupted_Ends) {
  is_stopped = true;

  const auto done = run(
      {exchange::sweep_hello(), exchange::sweep_point(1), grant(), go(1), exchange::sweep_end()});

  EXPECT_EQ(exchange::parse_sweep_seen(channel->sent.back())->first_failure_ns, 0u);
  EXPECT_TRUE(done);
}

TEST(LeaseVerifyOptions, Sweep_ListensAndWaitsLong) {
  const std::array words = {"lease-verify", "--sweep", "--listen", "192.0.2.2:7000"};

  const auto options = parse_options(words.size(), words.data()).value();

  EXPECT_EQ(options.listen, "192.0.2.2:7000");
  EXPECT_EQ(options.wait_ms, 3'600'000u);
}

}  // namespace
}  // namespace portcullis::tools::lease_verify
