// SPDX-License-Identifier: BSD-3-Clause
//
// Who hears of outcomes may do what others may: drain, revoke, grant or throw. Every lease has its
// outcome all the same, and is told once.
#include <portcullis/lease_manager.hpp>

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

}  // namespace
}  // namespace portcullis
