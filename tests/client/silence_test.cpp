// SPDX-License-Identifier: BSD-3-Clause
//
// Gates of leases whose server is not heard: what counts as a sign of it, and what does not.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tests/client/keeper_rig.hpp"
#include "tests/client/relay.hpp"

namespace portcullis::client {
namespace {

constexpr std::uint64_t kOrphanMs = 2'000;
constexpr std::uint64_t kIdleMs = 60'000;  // so long a connection lives on without a packet
constexpr std::uint64_t kLongNs = kIdleMs / 2 * kNsPerMs;

std::uint64_t now_ns() { return Clock::wall().now_ns(); }

class SilenceTest : public KeeperTest {
 protected:
  void SetUp() override {
    config_.limits.orphan_ms = kOrphanMs;
    KeeperTest::SetUp();
    relay_ = std::make_unique<Relay>(config_.quic->address);
  }
  void configure_quic() override {
    KeeperTest::configure_quic();
    config_.quic->timeouts.idle_ms = kIdleMs;
  }
  ServerAddress server() const override {
    return {.quic = QuicServer{.address = relay_->address().text(), .files = files_}};
  }
  /// How long it took, or kLongNs.
  static std::uint64_t closed_after_ns(const KeptLease& lease) {
    const std::uint64_t since_ns = now_ns();
    while (lease.gate->is_open() && now_ns() - since_ns < kLongNs) std::this_thread::yield();
    return now_ns() - since_ns;
  }

  std::unique_ptr<Relay> relay_;
};

TEST_P(SilenceTest, WayThatIsLong_GateStaysOpen) {
  relay_->delay_ms = 300;
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  const std::uint64_t since_ns = now_ns();
  while (lease.gate->is_open() && now_ns() - since_ns < 2 * kOrphanMs * kNsPerMs)
    std::this_thread::yield();
  EXPECT_TRUE(lease.gate->is_open());
}

TEST_P(SilenceTest, WayThatIsCut_GateIsClosed) {
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  relay_->is_cut = true;
  EXPECT_LT(closed_after_ns(lease), kLongNs);
}

TEST_P(SilenceTest, OldPacketsPlayedAgain_AreNoSignOfTheServer) {
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  relay_->is_cut = true;
  relay_->repeats = true;
  EXPECT_LT(closed_after_ns(lease), kLongNs);
}

TEST_P(SilenceTest, AnswerThatIsWaitedFor_KeepsNoGateOpen) {
  const auto kept = keeper();
  const KeptLease lease = granted(*kept, wanted());
  relay_->is_cut = true;
  std::atomic<bool> is_answered{false};
  std::thread asks([&] {
    (void)kept->alloc(wanted());
    is_answered = true;
  });
  EXPECT_LT(closed_after_ns(lease), kLongNs);
  EXPECT_FALSE(is_answered);
  relay_->is_cut = false;  // heard again, too late for that lease
  EXPECT_FALSE(ends_.wait_for(0).is_known);
  asks.join();
  EXPECT_TRUE(is_answered);
  EXPECT_FALSE(lease.gate->is_open());
}

INSTANTIATE_TEST_SUITE_P(Quic, SilenceTest, testing::Values(true));

}  // namespace
}  // namespace portcullis::client
