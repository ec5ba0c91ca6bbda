// SPDX-License-Identifier: BSD-3-Clause
//
// How long a requester goes on without an answer, by default and with each behaviour that explains
// a revoke of 1.4 s in its own way.
#include <gtest/gtest.h>

#include <bit>

#include "base/clock.hpp"
#include "model/behaviours.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kQpn = 0x40;

constexpr std::uint64_t timeout_ns(std::uint32_t exponent) {
  return std::uint64_t{4096} << exponent;
}

struct BudgetCase {
  const char* name;
  std::vector<std::string> words;
  std::uint32_t ack_timeout;
  std::uint32_t retry_count;
  std::uint64_t budget_ns;
  std::size_t packets;  // sent in all
};
class RetryBudgetTest : public ::testing::TestWithParam<BudgetCase> {};

TEST_P(RetryBudgetTest, SilentPeer_FailsWhenTheBudgetIsSpentAndNotBefore) {
  const auto behaviours = find_behaviours(GetParam().words, "instant");
  ASSERT_TRUE(behaviours);
  Host host(nullptr, "", PortType::Ethernet, nullptr, *behaviours);
  Peer peer(host);
  QpOptions options;
  options.dest_mac = kPeerMac;
  options.dest_gid = kPeerGid;
  options.ack_timeout = GetParam().ack_timeout;
  options.retry_count = GetParam().retry_count;
  host.connect(kQpn, 0x777, options);
  const Region region = host.map(4096);
  const std::uint32_t lkey = host.make_key(region, access::kLocalRead);
  const auto address = std::bit_cast<std::uint64_t>(region.bytes.data());

  host.post_and_ring(kQpn, {0x10000, 0xabcd, lkey, address, 64, true});
  host.run_until(GetParam().budget_ns - 1);
  EXPECT_FALSE(host.poll_cq());
  host.run_until(GetParam().budget_ns);
  EXPECT_EQ(host.poll_cq().value_or(Cqe{}).syndrome, prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
  EXPECT_EQ(peer.take().size(), GetParam().packets);
}

/// As a QP that shares a slow wire with a thousand others.
TEST(RetryBudget, WhileAPacketWaitsForRoom_IsNotSpent) {
  Host host;
  Peer peer(host);
  host.connect(kQpn, 0x777, {.dest_mac = kPeerMac, .dest_gid = kPeerGid});
  host.post_and_ring(kQpn, {0, 0, 0, 0, 0, true});
  host.run_until(host.now_ns());
  host.wire().set_full(true);
  host.post_and_ring(kQpn, {0, 0, 0, 0, 0, true});
  host.run_until(100 * timeout_ns(14));
  EXPECT_EQ(host.q_counters().local_ack_timeout_err, 0U);
  host.wire().set_full(false);
  host.run_until(100 * timeout_ns(14));
  EXPECT_EQ(host.state(kQpn), prm::QpState::RTS);
  EXPECT_EQ(peer.take().size(), 2U);
  host.run_until(200 * timeout_ns(14));
  EXPECT_EQ(host.poll_cq().value_or(Cqe{}).syndrome, prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
}

INSTANTIATE_TEST_SUITE_P(
    Budgets, RetryBudgetTest,
    ::testing::Values(
        BudgetCase{"Default", {}, 14, 6, 7 * timeout_ns(14), 7},
        BudgetCase{"LeastTimeoutAboveTheQps", {"min-ack-timeout=16"}, 8, 6, 7 * timeout_ns(16), 7},
        BudgetCase{"LeastTimeoutBelowTheQps", {"min-ack-timeout=10"}, 14, 6, 7 * timeout_ns(14), 7},
        BudgetCase{"FixedTotal", {"retx-total=1400"}, 14, 2, 1400 * kNsPerMs, 21},
        BudgetCase{"FixedTotalBelowOneTimeout", {"retx-total=10"}, 14, 7, 10 * kNsPerMs, 1},
        BudgetCase{"LastTimeoutCounts", {"retry-total=8T"}, 12, 7, 8 * timeout_ns(12), 8},
        BudgetCase{"LastTimeoutDoesNotCount", {"retry-total=7T"}, 12, 7, 7 * timeout_ns(12), 7}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace portcullis::model::testing
