// SPDX-License-Identifier: BSD-3-Clause
//
// Leases that take messages: SENDs and WRITEs with immediate data into the lease's own region, and
// what becomes of both when the lease is fenced. On a device that acts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/lease/lease_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Client;
using ::portcullis::testing::LeaseWorld;
using prm::WcOpcode;
using prm::WcStatus;
using prm::WqeOpcode;
using ::testing::HasSubstr;

constexpr std::uint64_t kValue = 0x1122334455667788;
constexpr std::uint32_t kImmediate = 0xcafe;

class Receiving : public LeaseWorld {
 protected:
  static GrantRequest request(const Client& of, std::uint32_t log_receives) {
    return {.bytes = kPageBytes,
            .peer = of.peer(),
            .ack_timeout = 8,
            .retry_count = 3,
            .log_receives = log_receives};
  }
  /// A client whose lease takes 2^log_receives messages.
  Client& receiving(std::uint32_t log_receives = 2) {
    clients.push_back(std::make_unique<Client>(Client::create(hca->context())));
    Client& made = *clients.back();
    made.connect(manager->grant(request(made, log_receives)).value());
    return made;
  }
  static void post(Client& from, WqeOpcode opcode, std::uint64_t word = 0) {
    std::array<std::byte, sizeof kValue> data;
    std::memcpy(data.data(), &kValue, sizeof kValue);
    pmd::WorkRequest request;
    request.opcode = opcode;
    request.remote_address = word * sizeof kValue;
    request.rkey = from.grant.rkey;
    request.immediate = kImmediate;
    ASSERT_TRUE(from.qp.post_inline(request, data));
    from.qp.ring();
  }
  pmd::Completion arrived(const Client& of) {
    const auto completion = manager->poll_receive(of.grant.lease);
    EXPECT_TRUE(completion && *completion);
    return completion && *completion ? **completion : pmd::Completion{};
  }
  bool has_arrived(const Client& of) {
    const auto completion = manager->poll_receive(of.grant.lease);
    EXPECT_TRUE(completion) << completion.error().text;
    return completion && *completion;
  }
};

TEST_F(Receiving, Send_LandsInTheRegionAndIsTold) {
  Client& client = receiving();
  ASSERT_TRUE(manager->post_receive(client.grant.lease, 64, 128, 7));
  post(client, WqeOpcode::SEND_IMM);
  EXPECT_EQ(client.wait(device), WcStatus::SUCCESS);
  const pmd::Completion told = arrived(client);
  EXPECT_EQ(told.wr_id, 7u);
  EXPECT_EQ(told.opcode, WcOpcode::RECV);
  EXPECT_EQ(told.byte_count, sizeof kValue);
  EXPECT_EQ(told.immediate, kImmediate);
  EXPECT_EQ(word(client, 8), kValue);
}

TEST_F(Receiving, WriteWithImmediate_TakesAReceiveOfNoBytes) {
  Client& client = receiving();
  ASSERT_TRUE(manager->post_receive(client.grant.lease, 0, 0, 9));
  post(client, WqeOpcode::RDMA_WRITE_IMM, 5);
  EXPECT_EQ(client.wait(device), WcStatus::SUCCESS);
  const pmd::Completion told = arrived(client);
  EXPECT_EQ(told.wr_id, 9u);
  EXPECT_EQ(told.opcode, WcOpcode::RECV_RDMA_WITH_IMM);
  EXPECT_EQ(told.immediate, kImmediate);
  EXPECT_EQ(word(client, 5), kValue);
}

TEST_F(Receiving, NothingPosted_ClientWaitsUntilThereIsRoom) {
  Client& client = receiving();
  post(client, WqeOpcode::SEND);
  pass_ms(1);
  EXPECT_FALSE(has_arrived(client));
  ASSERT_TRUE(manager->post_receive(client.grant.lease, 0, 64, 0));
  EXPECT_EQ(client.wait(device), WcStatus::SUCCESS);
  EXPECT_EQ(word(client), kValue);
}

TEST_F(Receiving, SendAfterTheRevoke_ChangesNoByteAndItsReceiveIsFlushed) {
  Client& client = receiving();
  ASSERT_TRUE(manager->post_receive(client.grant.lease, 0, 64, 3));
  EXPECT_EQ(revoke(client).outcome, Outcome::TornDown);
  const auto before = words(client);
  post(client, WqeOpcode::SEND);
  EXPECT_EQ(client.wait(device), WcStatus::RETRY_EXC_ERR);
  EXPECT_EQ(words(client), before);
  const pmd::Completion flushed = arrived(client);
  EXPECT_EQ(flushed.wr_id, 3u);
  EXPECT_EQ(flushed.status, WcStatus::WR_FLUSH_ERR);
}

/// The key is gone and the QP still answers: the receive is refused as the WRITE is.
TEST_F(Receiving, SendIntoADeadKey_IsRefusedAndChangesNoByte) {
  Client& client = receiving();
  ASSERT_TRUE(manager->post_receive(client.grant.lease, 0, 64, 3));
  ASSERT_FALSE(
      manager->start_revoke(client.grant.lease.id, client.grant.lease.epoch, nak_first_plan()));
  const auto before = words(client);
  post(client, WqeOpcode::SEND);
  EXPECT_EQ(client.wait(device), WcStatus::REM_OP_ERR);
  EXPECT_EQ(words(client), before);
}

TEST_F(Receiving, LeaseThatIsOver_TakesNoReceive) {
  Client& client = receiving();
  (void)revoke(client);
  const auto refused = manager->post_receive(client.grant.lease, 0, 64, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::NotFound);
}

TEST_F(Receiving, LeaseThatIsGone_HasNothingToPoll) {
  Client& client = receiving();
  (void)revoke(client, legacy_plan());
  const auto refused = manager->poll_receive(client.grant.lease);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::NotFound);
}

TEST_F(Receiving, BeyondTheRegion_IsRefusedByItsNumbers) {
  Client& client = receiving();
  const auto refused = manager->post_receive(client.grant.lease, kPageBytes - 63, 64, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "a receive of 64 bytes at 4033 of a lease of 4096 bytes");
  EXPECT_FALSE(manager->post_receive(client.grant.lease, ~std::uint64_t{0}, 64, 0));
}

TEST_F(Receiving, AllPosted_OneMoreIsBusy) {
  Client& client = receiving(2);
  for (std::uint64_t i = 0; i < 4; ++i)
    ASSERT_TRUE(manager->post_receive(client.grant.lease, 0, 64, i));
  const auto refused = manager->post_receive(client.grant.lease, 0, 64, 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::Busy);
}

TEST_F(Receiving, LeaseWithoutReceives_Unsupported) {
  const Client& plain = client();
  const auto posted = manager->post_receive(plain.grant.lease, 0, 64, 0);
  const auto polled = manager->poll_receive(plain.grant.lease);
  ASSERT_TRUE(!posted && !polled);
  EXPECT_EQ(posted.error().code, Errc::Unsupported);
  EXPECT_EQ(polled.error().code, Errc::Unsupported);
}

TEST_F(Receiving, QueueTooLong_IsRefusedBeforeAnythingIsMade) {
  const Client& plain = client();
  const auto refused = manager->grant(request(plain, 15));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "2^15 receives; at most 2^14 expected");
  EXPECT_EQ(manager->table().count(State::Active), 1u);
}

TEST_F(Receiving, WithoutTheRightToWrite_IsRefused) {
  GrantRequest read_only = request(client(), 2);
  read_only.access = {.remote_read = true};
  const auto refused = manager->grant(read_only);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("without local write"));
}

/// Slots come back in turn, so the ninth lease has the first one's.
TEST_F(Receiving, NextLeaseOfTheSlot_HasTheCompletionQueueUnlessItNeedsALarger) {
  const std::uint64_t without = model->census().cqs;
  for (int i = 0; i < 8; ++i) (void)revoke(receiving(2), legacy_plan());
  const std::uint64_t each_slot = model->census().cqs - without;
  Client& same = receiving(2);
  EXPECT_EQ(same.grant.lease.slot, 0u);
  EXPECT_EQ(model->census().cqs - without, each_slot + 1);  // the client's own
  (void)revoke(receiving(4), legacy_plan());
  EXPECT_EQ(model->census().cqs - without, each_slot + 2);
  ASSERT_TRUE(manager->post_receive(same.grant.lease, 0, 64, 1));
  post(same, WqeOpcode::SEND);
  EXPECT_EQ(same.wait(device), WcStatus::SUCCESS);
  EXPECT_EQ(arrived(same).wr_id, 1u);
}

TEST_F(Receiving, LargerQueueWhereTheOldOneStays_NotGrantedAndNothingIsLeft) {
  for (int i = 0; i < 8; ++i) (void)revoke(receiving(2), legacy_plan());
  const Client& plain = *clients.front();
  break_command(prm::Opcode::DESTROY_CQ, model::CommandFaultRule::Kind::Status, false);
  EXPECT_FALSE(manager->grant(request(plain, 4)));
  EXPECT_EQ(manager->fenced_count(), 0u);
  EXPECT_EQ(manager->table().count(State::Free), 8u);
}

}  // namespace
}  // namespace portcullis::lease
