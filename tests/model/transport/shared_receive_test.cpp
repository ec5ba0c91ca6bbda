// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs that receive from one queue: each message takes one receive, whoever it is for. Two
// pairs of one host over its own wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::EventType;
using prm::WqeOpcode;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kBytes = 256;
constexpr std::uint32_t kSender = 0x40;
constexpr std::uint32_t kReceiver = 0x41;
constexpr std::uint32_t kOtherSender = 0x42;
constexpr std::uint32_t kOtherReceiver = 0x43;

class SharedReceive : public ::testing::Test {
 protected:
  SharedReceive() {
    fill_pattern(source.bytes, 7);
    options.shared_receives = host.make_shared_receives();
    host.connect(kSender, kReceiver, plain);
    host.connect(kReceiver, kSender, options);
    host.connect(kOtherSender, kOtherReceiver, plain);
    host.connect(kOtherReceiver, kOtherSender, options);
  }

  void send(std::uint32_t from, std::uint32_t bytes = kBytes, WqeOpcode opcode = WqeOpcode::SEND) {
    const std::array<Piece, 1> pieces{
        Piece{std::bit_cast<std::uint64_t>(source.bytes.data()), bytes, lkey}};
    host.post_raw(from, opcode, segments_of(pieces));
    host.ring(from);
  }
  /// Place `index` of the target, with room for one message.
  void post(std::uint32_t index, std::uint32_t bytes = kBytes) {
    host.post_shared(
        {std::bit_cast<std::uint64_t>(target.bytes.data()) + index * kBytes, bytes, lkey_target});
  }
  [[nodiscard]] bool has_arrived(std::uint32_t index) const {
    return std::ranges::equal(target.bytes.subspan(index * kBytes, kBytes),
                              source.bytes.first(kBytes));
  }
  /// Completions of receives, by queue pair and WQE.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> received() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const Cqe& cqe : completions)
      if (cqe.opcode == CqeOpcode::RESP_SEND) found.emplace_back(cqe.qpn, cqe.wqe_counter);
    return found;
  }
  void run() {
    host.run();
    completions = host.drain_cq();
  }

  Host host;
  QpOptions plain{.log_rq_size = 2};
  QpOptions options;
  Region source = host.map(8192);
  Region target = host.map(8192);
  std::uint32_t lkey = host.make_key(source, access::kLocalRead);
  std::uint32_t lkey_target = host.make_key(target, access::kLocalWrite);
  std::vector<Cqe> completions;
};

TEST_F(SharedReceive, TwoMessagesForTwoPairs_TakeOneEach) {
  post(0);
  post(1);
  send(kSender);
  run();
  EXPECT_THAT(received(), UnorderedElementsAre(std::pair(kReceiver, 0U)));
  send(kOtherSender);
  run();
  EXPECT_THAT(received(), UnorderedElementsAre(std::pair(kOtherReceiver, 1U)));
  EXPECT_TRUE(has_arrived(0));
  EXPECT_TRUE(has_arrived(1));
}

TEST_F(SharedReceive, MoreThanTheQueueHolds_GoesOnWhereTheListDoes) {
  for (std::uint32_t i = 0; i < 6; ++i) {
    post(i);
    send(i % 2 == 0 ? kSender : kOtherSender);
    run();
    EXPECT_THAT(received(),
                UnorderedElementsAre(std::pair(i % 2 == 0 ? kReceiver : kOtherReceiver, i % 4)));
  }
  EXPECT_TRUE(has_arrived(5));
}

TEST_F(SharedReceive, NothingPosted_SenderWaitsAndGoesOnWhenThereIs) {
  send(kSender);
  host.run_until(host.now_ns() + 5'000);
  EXPECT_TRUE(host.drain_cq().empty());
  post(0);
  host.run_until(host.now_ns() + 1'000'000);
  completions = host.drain_cq();
  EXPECT_THAT(received(), UnorderedElementsAre(std::pair(kReceiver, 0U)));
}

TEST_F(SharedReceive, MessageTooLong_TakesItsReceiveInErrorAndLeavesTheOthers) {
  post(0);
  post(1);
  send(kSender, 2 * kBytes);
  run();
  const auto failed = std::ranges::find(completions, kReceiver, &Cqe::qpn);
  ASSERT_NE(failed, completions.end());
  EXPECT_EQ(failed->opcode, CqeOpcode::RESP_ERR);
  EXPECT_EQ(failed->syndrome, CqeSyndrome::LOCAL_LENGTH_ERR);
  EXPECT_EQ(failed->wqe_counter, 0U);
  send(kOtherSender);
  run();
  EXPECT_THAT(received(), UnorderedElementsAre(std::pair(kOtherReceiver, 1U)));
}

TEST_F(SharedReceive, PairInError_SaysThatItTakesNoMoreAndFlushesNothingOfTheOthers) {
  post(0);
  ASSERT_TRUE(host.modify(kReceiver, QpTransition::ToErr).ok());
  run();
  EXPECT_TRUE(completions.empty());
  const auto event = host.poll_eq();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, EventType::SRQ_LAST_WQE);
  EXPECT_EQ(event->qpn, kReceiver);
  send(kOtherSender);
  run();
  EXPECT_THAT(received(), UnorderedElementsAre(std::pair(kOtherReceiver, 0U)));
}

TEST_F(SharedReceive, WriteWithImmediate_TakesAReceive) {
  const std::uint32_t rkey = host.make_key(target, access::kRemoteWrite | access::kLocalWrite);
  post(0);
  host.post_rdma(kSender, WqeOpcode::RDMA_WRITE_IMM,
                 {.raddr = std::bit_cast<std::uint64_t>(target.bytes.data()),
                  .rkey = rkey,
                  .lkey = lkey,
                  .address = std::bit_cast<std::uint64_t>(source.bytes.data()),
                  .length = kBytes},
                 1);
  host.ring(kSender);
  run();
  const auto came = std::ranges::find(completions, kReceiver, &Cqe::qpn);
  ASSERT_NE(came, completions.end());
  EXPECT_EQ(came->opcode, CqeOpcode::RESP_WR_IMM);
  EXPECT_EQ(came->wqe_counter, 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
