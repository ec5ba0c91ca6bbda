// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/udp_socket.hpp"
#include "base/unique_fd.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMs = 1'000'000;

TEST(Metrics, Outcomes_AreCountedByWhatTheyAre) {
  Metrics metrics;
  const Ending torn{.name = {},
                    .outcome = wire::Outcome::TornDown,
                    .memory = wire::Memory::Mkey,
                    .cause = wire::Cause::Holder};
  metrics.ended(torn, "seed", 3 * kMs);
  metrics.ended(torn, "seed", std::nullopt);
  metrics.ended({.name = {}, .outcome = wire::Outcome::Fenced, .cause = wire::Cause::Expired},
                "seed", std::nullopt);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("portcullis_leases_ended_total{cause=\"holder\",memory=\""));
  EXPECT_THAT(text, HasSubstr("outcome=\"TornDown\"} 2"));
  EXPECT_THAT(text, HasSubstr("outcome=\"Fenced\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("portcullis_revoke_seconds_count{outcome=\"TornDown\",plan=\"seed\"} 1"));
  EXPECT_THAT(text, HasSubstr("le=\"0.002\"} 0"));
  EXPECT_THAT(text, HasSubstr("le=\"0.005\"} 1"));
}

TEST(Metrics, Challenges_AreCountedByWhatBecameOfThem) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_challenges_met_total 0"));
  metrics.challenge_met();
  metrics.ended({.name = {}, .cause = wire::Cause::Challenge}, "seed", std::nullopt);
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_challenges_met_total 1"));
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_leases_ended_total{cause=\"challenge\","));
}

TEST(Metrics, Commands_AreTimedByNameAndAnswer) {
  Metrics metrics;
  const Error refused{Errc::CommandFailed, "status 5", std::nullopt};
  const Error silent{Errc::Timeout, "no answer", std::nullopt};
  metrics.command({.opcode = prm::Opcode::DESTROY_MKEY, .ns = 3 * kMs});
  metrics.command({.opcode = prm::Opcode::DESTROY_MKEY, .ns = 30 * kMs});
  metrics.command({.opcode = prm::Opcode::DESTROY_MKEY, .ns = kMs, .error = &refused});
  metrics.command({.opcode = prm::Opcode::QP_2ERR, .ns = kMs, .error = &silent});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("portcullis_command_seconds_count{answer=\"done\",command=\"" +
                              std::string(prm::name(prm::Opcode::DESTROY_MKEY)) + "\"} 2"));
  EXPECT_THAT(text, HasSubstr("answer=\"refused\",command=\"" +
                              std::string(prm::name(prm::Opcode::DESTROY_MKEY)) + "\"} 1"));
  EXPECT_THAT(text, HasSubstr("answer=\"unanswered\",command=\"" +
                              std::string(prm::name(prm::Opcode::QP_2ERR)) + "\"} 1"));
}

TEST(Metrics, TenantWithoutLeases_IsTakenOut) {
  Metrics metrics;
  metrics.set({.slots = {}, .leases = {{7, {.active = 3, .revoking = 1}}, {8, {.fenced = 2}}}});
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_leases{state=\"active\",tenant=\"7\"} 3"));
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_leases{state=\"fenced\",tenant=\"8\"} 2"));
  metrics.set({.slots = {}, .leases = {{8, {.fenced = 1}}}});
  EXPECT_THAT(metrics.text(), Not(HasSubstr("tenant=\"7\"")));
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_leases{state=\"fenced\",tenant=\"8\"} 1"));
}

TEST(Metrics, Slots_AddUpToTheDevices) {
  Metrics metrics;
  metrics.set(
      {.slots = {.slots = 100, .held = 7, .resting = 5, .out = 1, .is_lost = true}, .leases = {}});
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_slots{state=\"free\"} 87"));
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_lost{what=\"device\"} 1"));
  EXPECT_THAT(metrics.text(), HasSubstr("portcullis_lost{what=\"journal\"} 0"));
}

TEST(Metrics, LeasesThatTheStartEnded_AreCountedAsTheJournalHasThem) {
  Metrics metrics;
  metrics.restarted(0, true);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("cause=\"restart\"")));
  metrics.restarted(3, true);
  metrics.restarted(2, false);
  EXPECT_THAT(metrics.text(),
              HasSubstr("{cause=\"restart\",memory=\"function reset\",outcome=\"TornDown\"} 3"));
  EXPECT_THAT(metrics.text(), HasSubstr("outcome=\"Fenced\"} 2"));
}

/// Connected, and nothing more.
class Reader {
 public:
  explicit Reader(const std::string& address)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto at = UdpAddress::parse(address, "metrics").value();
    EXPECT_EQ(::connect(socket_.get(), at.generic(), at.bytes()), 0);
  }
  void say(std::string_view text) const {
    EXPECT_EQ(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// False: nothing came for as long as `ms`.
  [[nodiscard]] bool hears_within(int ms) const {
    pollfd waited{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&waited, 1, ms) > 0;
  }

 private:
  UniqueFd socket_;
};

TEST(Metrics, ReadersThatAskForHalfAPage_KeepNoOtherWaiting) {
  Metrics metrics;
  ASSERT_TRUE(metrics.serve("127.0.0.1:0"));
  std::vector<std::unique_ptr<Reader>> halves;
  for (int i = 0; i < 16; ++i) {
    halves.push_back(std::make_unique<Reader>(metrics.address()));
    halves.back()->say("GET /me");
  }
  const Reader whole(metrics.address());
  whole.say("GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(whole.hears_within(20'000));  // two rounds of two seconds; it was thirty for each
}

TEST(Metrics, AddressThatIsTaken_IsNamed) {
  Metrics first;
  ASSERT_TRUE(first.serve("127.0.0.1:0"));
  EXPECT_THAT(first.address(), Not(HasSubstr(":0")));
  Metrics second;
  const auto refused = second.serve(first.address());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::Busy);
  EXPECT_THAT(refused.error().text, HasSubstr(first.address()));
  EXPECT_THAT(refused.error().text, HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace portcullis::service::daemon
