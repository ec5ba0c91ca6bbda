// SPDX-License-Identifier: BSD-3-Clause
//
// The device's side of a challenge, against the model: what a client writes by RDMA is seen, what
// nobody writes ends the lease, and nothing else of the lease is changed by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "attach/function.hpp"
#include "attach/open_device.hpp"
#include "attach/port.hpp"
#include "model/model.hpp"
#include "prm/opcodes.hpp"
#include "service/daemon/engine.hpp"
#include "tests/lease/lease_client.hpp"

namespace portcullis::service::daemon {
namespace {

using portcullis::testing::Client;
using ::testing::SizeIs;

constexpr wire::ByteArray<8> kNonce{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
constexpr std::uint64_t kWithinMs = 1'000;

/// As the client's memory has it.
std::uint64_t word_of(const wire::ByteArray<8>& nonce) {
  std::uint64_t word = 0;
  std::memcpy(&word, nonce.data(), sizeof word);
  return word;
}

class EngineChallengeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = attach::OpenDevice::open(attach::parse_device("model").value()).value();
    function_ = attach::Function::bring_up(std::move(opened)).value();
    port_.emplace(
        attach::Port::create(function_->context(), {.gid = attach::kLoopbackGid}).value());
    start(lease::seed_plan());
    client_.emplace(Client::create(function_->context()));
  }
  void start(const lease::Plan& plan) {
    engine_.reset();
    engine_ = Engine::create(
                  function_->driver(),
                  {.slots = 1'024, .plan = plan, .source_address_index = port_->address_index()},
                  [this](Event event) { events_.push_back(std::move(event)); },
                  [] { return std::uint64_t{1234}; })
                  .value();
  }

  const Device& device() const { return function_->context().device; }
  void work() {
    for (int i = 0; i < 10'000 && engine_->work(); ++i) {
    }
  }
  /// The model stops at each event on the way: a timer of the client's queue pair is one.
  void let_pass(std::uint64_t ms) {
    const std::uint64_t until_ns = device().clock.now_ns() + ms * kNsPerMs;
    while (device().clock.now_ns() < until_ns) device().relax(until_ns);
  }

  template <class T>
  std::vector<T> told() const {
    std::vector<T> found;
    for (const Event& each : events_)
      if (const auto* of = std::get_if<T>(&each)) found.push_back(*of);
    return found;
  }
  lease::Grant granted(Ticket ticket = 1, std::uint64_t ttl_ms = 60'000) {
    engine_->ask(Alloc{.ticket = ticket,
                       .wanted = {.bytes = 4096,
                                  .peer = {.qpn = client_->qp.number(),
                                           .psn = Client::kPsn,
                                           .gid = port_->address().gid,
                                           .mac = port_->address().mac},
                                  .tenant = 7,
                                  .ttl_ms = ttl_ms}});
    work();
    return told<Granted>().back().grant;
  }
  static lease::LeaseName name_of(const lease::Grant& grant) {
    return {.id = grant.lease.id, .epoch = grant.lease.epoch};
  }
  void challenge(const lease::Grant& grant) {
    engine_->ask(Challenge{.name = name_of(grant), .nonce = kNonce, .within_ms = kWithinMs});
    work();
  }
  /// The client's queue pair, to the lease.
  void connect(const lease::Grant& grant) {
    client_->grant = grant;
    pmd::RtrAttributes rtr{.path = port_->path(), .remote_qpn = grant.qpn, .rq_psn = grant.psn};
    ASSERT_TRUE(client_->qp.to_init({}));
    ASSERT_TRUE(client_->qp.to_rtr(rtr));
    ASSERT_TRUE(client_->qp.to_rts({.sq_psn = Client::kPsn}));
  }
  void write(std::uint64_t word, std::uint64_t index = 0) {
    EXPECT_EQ(client_->write(device(), word, index), prm::WcStatus::SUCCESS);
  }

  std::unique_ptr<attach::Function> function_;
  std::optional<attach::Port> port_;
  std::vector<Event> events_;
  std::unique_ptr<Engine> engine_;
  std::optional<Client> client_;
};

TEST_F(EngineChallengeTest, NonceThatAClientWrites_IsToldOnceAndTheLeaseStays) {
  const auto lease = granted();
  connect(lease);
  challenge(lease);
  EXPECT_THAT(told<ChallengeMet>(), SizeIs(0));
  write(word_of(kNonce));
  work();
  ASSERT_THAT(told<ChallengeMet>(), SizeIs(1));
  EXPECT_EQ(told<ChallengeMet>()[0].name, name_of(lease));
  write(0);  // its own from then on
  let_pass(3 * kWithinMs);
  work();
  EXPECT_THAT(told<ChallengeMet>(), SizeIs(1));
  EXPECT_THAT(told<Ended>(), SizeIs(0));
  EXPECT_EQ(engine_->counts().held, 1u);
}

TEST_F(EngineChallengeTest, NobodyWrites_LeaseEndsForItWhenTheTimeIsOver) {
  const auto lease = granted();
  challenge(lease);
  let_pass(kWithinMs - 1);
  work();
  EXPECT_THAT(told<Ended>(), SizeIs(0));
  let_pass(2);
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending, (Ending{.name = name_of(lease),
                                             .tenant = 7,
                                             .unix_ms = 1234,
                                             .outcome = wire::Outcome::TornDown,
                                             .memory = wire::Memory::Mkey,
                                             .cause = wire::Cause::Challenge,
                                             .origin = lease::Origin::None}));
  EXPECT_THAT(told<ChallengeMet>(), SizeIs(0));
}

TEST_F(EngineChallengeTest, AnyOtherNumberOrPlace_MeetsNothing) {
  const auto lease = granted();
  connect(lease);
  challenge(lease);
  write(word_of(kNonce) ^ 1);
  work();
  write(word_of(kNonce), 1);  // the second eight bytes
  work();
  write(__builtin_bswap64(word_of(kNonce)));
  work();
  EXPECT_THAT(told<ChallengeMet>(), SizeIs(0));
  let_pass(kWithinMs + 1);
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.cause, wire::Cause::Challenge);
}

TEST_F(EngineChallengeTest, WrittenInTimeAndSeenLate_IsMet) {
  const auto lease = granted();
  connect(lease);
  challenge(lease);
  write(word_of(kNonce));
  let_pass(5 * kWithinMs);  // the thread was busy
  work();
  EXPECT_THAT(told<ChallengeMet>(), SizeIs(1));
  EXPECT_THAT(told<Ended>(), SizeIs(0));
}

TEST_F(EngineChallengeTest, WrittenBeforeItIsAskedFor_IsMet) {
  const auto lease = granted();
  connect(lease);
  write(word_of(kNonce));  // the answer is there before the device's thread has heard
  challenge(lease);
  EXPECT_THAT(told<ChallengeMet>(), SizeIs(1));
}

TEST_F(EngineChallengeTest, RevokedMeanwhile_EndsForWhoAskedAndOnce) {
  const auto lease = granted();
  challenge(lease);
  engine_->ask(Revoke{
      .names = {name_of(lease)}, .cause = wire::Cause::Operator, .plan = wire::Plan::NakFirst});
  engine_->work();
  let_pass(kWithinMs + 60);  // it lingers, and the challenge's time is over
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.cause, wire::Cause::Operator);
}

TEST_F(EngineChallengeTest, WrittenBehindARevoke_IsNoMore) {
  const auto lease = granted();
  connect(lease);
  challenge(lease);
  engine_->ask(Revoke{.names = {name_of(lease)}, .plan = wire::Plan::NakFirst});
  engine_->work();
  client_->post(word_of(kNonce));
  let_pass(60);
  work();
  EXPECT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_THAT(told<ChallengeMet>(), SizeIs(0));
}

TEST_F(EngineChallengeTest, RenewedMeanwhile_EndsNoLater) {
  const auto lease = granted();
  challenge(lease);
  let_pass(kWithinMs / 2);
  engine_->ask(Renew{.ticket = 9, .name = name_of(lease), .ttl_ms = 600'000});
  work();
  let_pass(kWithinMs / 2 + 1);
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.cause, wire::Cause::Challenge);
}

TEST_F(EngineChallengeTest, TimeToLiveThatIsOverFirst_EndsAsExpired) {
  const auto lease = granted(1, kWithinMs / 2);
  challenge(lease);
  let_pass(kWithinMs / 2 + 1);
  work();
  let_pass(kWithinMs);
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.cause, wire::Cause::Expired);
}

TEST_F(EngineChallengeTest, TimeToLiveThatIsOverFirstWhileTheFenceLingers_EndsAsExpired) {
  start(lease::nak_first_plan());
  const auto lease = granted(1, kWithinMs - 20);
  challenge(lease);
  let_pass(kWithinMs - 10);
  engine_->work();  // its fence lingers for 50 ms
  EXPECT_THAT(told<Ended>(), SizeIs(0));
  let_pass(20);  // the challenge's time is over, too
  work();
  let_pass(60);
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.cause, wire::Cause::Expired);
}

TEST_F(EngineChallengeTest, RevokedWithOthersThatHaveToWait_EndsForWhoAsked) {
  const auto first = granted(1);
  const auto second = granted(2);
  const auto third = granted(3);
  challenge(third);
  let_pass(kWithinMs + 1);
  engine_->ask(Revoke{.names = {name_of(first), name_of(second)}, .cause = wire::Cause::Server});
  engine_->ask(Revoke{.names = {name_of(first), name_of(third)}, .cause = wire::Cause::Operator});
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(3));
  EXPECT_EQ(told<Ended>()[2].ending.name, name_of(third));
  EXPECT_EQ(told<Ended>()[2].ending.cause, wire::Cause::Operator);
}

TEST_F(EngineChallengeTest, NameThatIsNotHeld_IsPassedOver) {
  const auto lease = granted();
  auto other = lease;
  ++other.lease.epoch;
  challenge(other);
  let_pass(kWithinMs + 1);
  work();
  EXPECT_THAT(told<Ended>(), SizeIs(0));
}

TEST_F(EngineChallengeTest, FenceThatFails_IsFencedForIt) {
  const auto lease = granted();
  challenge(lease);
  function_->model()->inject({.opcode = prm::number(prm::Opcode::DESTROY_MKEY), .status = 0x01});
  let_pass(kWithinMs + 1);
  work();
  ASSERT_THAT(told<Ended>(), SizeIs(1));
  EXPECT_EQ(told<Ended>()[0].ending.outcome, wire::Outcome::Fenced);
  EXPECT_EQ(told<Ended>()[0].ending.cause, wire::Cause::Challenge);
}

TEST_F(EngineChallengeTest, MoreThanAreLookedAtInATurn_EachEndsOnce) {
  constexpr std::size_t kLeases = 700;
  for (Ticket ticket = 1; ticket <= kLeases; ++ticket) challenge(granted(ticket));
  let_pass(kWithinMs + 1);
  for (int i = 0; i < 1'000 && told<Ended>().size() < kLeases; ++i) engine_->work();
  std::set<std::uint64_t> ended;
  for (const Ended& each : told<Ended>()) {
    EXPECT_EQ(each.ending.cause, wire::Cause::Challenge);
    ended.insert(each.ending.name.id);
  }
  EXPECT_THAT(told<Ended>(), SizeIs(kLeases));
  EXPECT_THAT(ended, SizeIs(kLeases));
}

}  // namespace
}  // namespace portcullis::service::daemon
