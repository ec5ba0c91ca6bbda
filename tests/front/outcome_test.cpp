// SPDX-License-Identifier: BSD-3-Clause
//
// Who hears of outcomes may do what others may: drain, revoke, grant or throw. Every lease has its
// outcome all the same, and is told once.
#include <portcullis/lease_manager.hpp>
#include <portcullis/requester.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace portcullis {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::size_t kLeases = 5;

/// A manager with five leases; `first` is done by who hears of the first outcome.
class Outcomes : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < kLeases; ++i) names_.push_back(grant());
  }

  static Port opened() {
    return *Port::open(*DeviceSpec::parse("model"), {.address = Gid::from_ipv4(192, 0, 2, 1)});
  }

  LeaseName grant() {
    const Peer peer{.qpn = Qpn{0x1234},
                    .psn = Psn{7},
                    .gid = Gid::from_ipv4(192, 0, 2, 7),
                    .mac = *Mac::parse("02:00:00:00:00:07")};
    return leases_->grant({.bytes = 4096, .peer = peer})->lease;
  }

  void hear(const LeaseName& lease, const RevokeAnswer& answer) {
    told_[lease.id].push_back(answer);
    if (const auto act = std::exchange(first_, {})) act();
  }

  std::vector<RevokeAnswer> revoke_all() {
    return leases_->revoke_batch(names_, *FencePlan::parse("nak-first"));
  }

  Port port_ = opened();
  std::map<std::uint64_t, std::vector<RevokeAnswer>> told_;
  std::function<void()> first_;
  std::optional<LeaseManager> leases_ = *LeaseManager::create(
      port_, {.on_outcome = [this](const LeaseName& lease, const RevokeAnswer& answer) {
        hear(lease, answer);
      }});
  std::vector<LeaseName> names_;
};

TEST_F(Outcomes, WhoHearsThrows_EveryLeaseIsTornDownAndTheRestIsToldNext) {
  first_ = [] { throw std::runtime_error("no disk left"); };
  EXPECT_THROW((void)revoke_all(), std::runtime_error);
  EXPECT_THAT(revoke_all(), Each(Field(&RevokeAnswer::outcome, Outcome::TornDown)));
  EXPECT_THAT(told_, SizeIs(kLeases));
  EXPECT_THAT(told_, Each(Pair(::testing::_, SizeIs(1))));
  EXPECT_TRUE(leases_->tear_down());
}

TEST_F(Outcomes, WhoHearsDrains_EachIsToldOnceAndAsItWasAnswered) {
  first_ = [this] { EXPECT_EQ(leases_->drain().value(), 0U); };
  const auto answers = revoke_all();
  EXPECT_THAT(answers, Each(Field(&RevokeAnswer::memory, MemoryProof::Key)));
  EXPECT_THAT(told_, SizeIs(kLeases));
  EXPECT_THAT(told_, Each(Pair(::testing::_, SizeIs(1))));
}

TEST_F(Outcomes, WhoHearsTearsDown_NoLeaseIsFenced) {
  first_ = [this] { EXPECT_TRUE(leases_->tear_down()); };
  EXPECT_THAT(revoke_all(), Each(Field(&RevokeAnswer::outcome, Outcome::TornDown)));
  EXPECT_THAT(told_, Each(Pair(::testing::_, SizeIs(1))));
}

TEST_F(Outcomes, WhoHearsGrantsAndRevokes_HearsOfThatToo) {
  first_ = [this] { EXPECT_EQ(leases_->revoke(grant()).outcome, Outcome::TornDown); };
  EXPECT_EQ(leases_->revoke(names_.front()).outcome, Outcome::TornDown);
  EXPECT_THAT(told_, SizeIs(2));
}

TEST_F(Outcomes, ManagerThatGoesAway_TellsNothing) {
  leases_.reset();
  EXPECT_THAT(told_, SizeIs(0));
}

// ---- slots that come back, groups that nobody took ----

class Slots : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 100;

  /// A port's clock goes on, and nobody polls.
  void let_pass(std::uint64_t ms) { EXPECT_TRUE(port_.wait_ms(ms)); }
  [[nodiscard]] std::vector<LeaseRequest> requests() const {
    return std::vector<LeaseRequest>(kSlots, LeaseRequest{.bytes = 4096, .peer = client_.peer()});
  }
  [[nodiscard]] std::size_t granted() {
    std::size_t count = 0;
    while (leases_.grant(requests().front())) ++count;
    return count;
  }
  void make_a_group() {
    EXPECT_TRUE(leases_.start_grant_together(requests()));
    for (int i = 0; i < 50; ++i) leases_.poll();
    EXPECT_THAT(leases_.leases_of(0), SizeIs(kSlots));
  }

  Port port_ = *Port::open(*DeviceSpec::parse("model"), {.address = Gid::from_ipv4(192, 0, 2, 1)});
  Requester client_ = *Requester::create(port_);
  std::vector<LeaseName> told_;
  LeaseManager leases_ = *LeaseManager::create(
      port_, {.slots = kSlots, .on_outcome = [this](const LeaseName& lease, const RevokeAnswer&) {
                told_.push_back(lease);
              }});
};

TEST_F(Slots, ThatAreDue_ComeBackInOnePoll) {
  EXPECT_EQ(granted(), kSlots);
  (void)leases_.revoke_batch(leases_.leases_of(0), FencePlan{});
  let_pass(6'000);
  leases_.poll();
  EXPECT_EQ(granted(), kSlots);
}

TEST_F(Slots, OfAGroupOfWhichOneIsRevokedBeforeItIsTaken_AreTakenBackAndTold) {
  make_a_group();
  EXPECT_EQ(leases_.revoke(leases_.leases_of(0)[3]).outcome, Outcome::TornDown);
  const auto taken = leases_.take_granted();
  ASSERT_TRUE(taken && !*taken);
  EXPECT_EQ(taken->error().code, Errc::NotFound);
  EXPECT_THAT(told_, SizeIs(kSlots));
  EXPECT_THAT(leases_.leases_of(0), SizeIs(0));
}

TEST_F(Slots, OfAGroupThatIsDrainedBeforeItIsTaken_HaveNoGrant) {
  make_a_group();
  EXPECT_TRUE(leases_.drain());
  const auto taken = leases_.take_granted();
  ASSERT_TRUE(taken && !*taken);
  EXPECT_EQ(taken->error().text, "no grant of 100 leases together: the function was drained");
}

TEST_F(Slots, RevokedByAPlanWhoseEntryStandsFromTheGrantOn_SaysThatItDidNot) {
  const auto grant = leases_.grant(requests().front());
  const RevokeAnswer answer = leases_.revoke(grant->lease, *FencePlan::parse("allow-replace"));
  EXPECT_EQ(answer.outcome, Outcome::TornDown);
  EXPECT_TRUE(answer.is_steering_degraded);
  EXPECT_EQ(answer.failed_steps, "SET_FLOW_TABLE_ENTRY");
}

// ---- who hears what is no error ----

TEST(Log, ThatThrows_LeavesNoCallHalfWay) {
  int lines = 0;
  const Port port = *Port::open(*DeviceSpec::parse("model"),
                                {.address = Gid::from_ipv4(192, 0, 2, 1), .log = [&](auto) {
                                   ++lines;
                                   throw std::runtime_error("who hears");
                                 }});
  auto leases = *LeaseManager::create(port, {.slots = 2});
  const Requester client = *Requester::create(port);
  const auto grant = leases.grant({.bytes = 4096, .peer = client.peer()});
  ASSERT_TRUE(grant) << grant.error().text;
  EXPECT_GT(lines, 0);
  EXPECT_EQ(leases.revoke(grant->lease).outcome, Outcome::TornDown);
}

}  // namespace
}  // namespace portcullis
