// SPDX-License-Identifier: BSD-3-Clause
//
// Tables of RDMA_TX: what their entries drop leaves no queue pair, neither by the wire nor back to
// the port itself, and the queue pair goes on as after any loss.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/model/flow_commands.hpp"
#include "tests/model/transport/flow_root.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::uint32_t kBytes = 3000;
constexpr std::uint64_t kTimeoutNs = std::uint64_t{4096} << 14;
constexpr std::uint64_t kLongEnoughNs = 16 * 4 * kTimeoutNs;
constexpr std::uint8_t kAcknowledge = 0x11;  // IB_OPCODE_ACKNOWLEDGE of include/rdma/ib_pack.h

class RdmaTx : public ::testing::Test {
 protected:
  explicit RdmaTx(PortType port_type = PortType::Ethernet) : host(nullptr, "", port_type) {
    fill_pattern(from.bytes, 9);
    host.connect(kClient, kServer, options);
    host.connect(kServer, kClient, options);
  }
  Place drop(const Match& mask, const Match& value) {
    return make_root(host, prm::FlowTableType::RDMA_TX, mask, value);
  }
  void write() { host.post_and_ring(kClient, {remote, rkey, lkey, local, kBytes, true}); }
  [[nodiscard]] bool arrived() const {
    return std::ranges::equal(from.bytes.first(kBytes), to.bytes.first(kBytes));
  }
  [[nodiscard]] bool untouched() const {
    return std::ranges::all_of(to.bytes, [](std::byte b) { return b == std::byte{0}; });
  }
  void expect_retries_spent() {
    const auto cqes = host.drain_cq();
    ASSERT_EQ(cqes.size(), 1U);
    EXPECT_EQ(cqes[0].opcode, prm::CqeOpcode::REQ_ERR);
    EXPECT_EQ(cqes[0].syndrome, prm::CqeSyndrome::TRANSPORT_RETRY_EXC_ERR);
  }

  QpOptions options{.retry_count = 2};
  Host host;
  Region from = host.map(8192);
  Region to = host.map(8192);
  std::uint64_t local = std::bit_cast<std::uint64_t>(from.bytes.data());
  std::uint64_t remote = std::bit_cast<std::uint64_t>(to.bytes.data());
  std::uint32_t lkey = host.make_key(from, access::kLocalRead);
  std::uint32_t rkey = host.make_key(to, access::kRemoteWrite);
};

TEST_F(RdmaTx, WriteUnderADropOfEverything_TouchesNothingAndSpendsItsRetries) {
  drop({}, {});
  write();
  host.run_until(host.now_ns() + kLongEnoughNs);
  EXPECT_TRUE(untouched());
  expect_retries_spent();
}

TEST_F(RdmaTx, WriteToAnotherQueuePairThanTheEntrys_Arrives) {
  drop({.dst_qp = 0xffffff}, {.dst_qp = kServer + 1});
  write();
  host.run();
  EXPECT_TRUE(arrived());
  EXPECT_EQ(host.drain_cq().size(), 1U);
}

TEST_F(RdmaTx, AnswersThatAreDropped_LeaveTheBytesAndEndTheRequester) {
  drop({.opcode = 0xff}, {.opcode = kAcknowledge});
  write();
  host.run_until(host.now_ns() + kLongEnoughNs);
  EXPECT_TRUE(arrived());
  expect_retries_spent();
}

TEST_F(RdmaTx, TableThatGoesInTime_LetsARetryThrough) {
  const Place place = drop({}, {});
  write();
  host.run();
  EXPECT_TRUE(untouched());
  const auto off = root_command(place, prm::FlowTableRootOpMod::DISCONNECT);
  ASSERT_TRUE(host.flows().set_root(prm::ConstView<prm::set_flow_table_root_in>(off.all())).ok());
  host.run_until(host.now_ns() + kLongEnoughNs);
  EXPECT_TRUE(arrived());
  EXPECT_EQ(host.drain_cq().size(), 1U);
}

class RdmaTxOfInfiniBand : public RdmaTx {
 protected:
  RdmaTxOfInfiniBand() : RdmaTx(PortType::InfiniBand) {}
};

TEST_F(RdmaTxOfInfiniBand, DropByQueuePair_MeetsPacketsWithoutEthernetHeader) {
  drop({.dst_qp = 0xffffff}, {.dst_qp = kServer});
  write();
  host.run_until(host.now_ns() + kLongEnoughNs);
  EXPECT_TRUE(untouched());
  expect_retries_spent();
}

}  // namespace
}  // namespace portcullis::model::testing
