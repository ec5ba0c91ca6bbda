// SPDX-License-Identifier: BSD-3-Clause
//
// Q counters as the transport drives them: each fault raises its own on the side that met it.
#include "model/q_counters.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::uint64_t kTimeoutNs = std::uint64_t{4096} << 14;
constexpr std::uint8_t kWriteMiddle = 0x07, kAck = 0x11;

class QCounterRules : public ::testing::Test {
 protected:
  QCounterRules() {
    client.counters = host.q_counter_table().allocate().value();
    server.counters = host.q_counter_table().allocate().value();
    host.connect(kClient, kServer, client);
    host.connect(kServer, kClient, server);
  }
  void write(std::uint32_t length) {
    host.post_and_ring(kClient, {at, key, key, at, length, true});
    host.run();
  }
  void send() {
    host.post_raw(kClient, prm::WqeOpcode::SEND, {});
    host.ring(kClient);
    host.run();
  }
  void lose(std::uint8_t opcode, std::uint32_t nth = 1) {
    host.transport().inject({.bth_opcode = opcode, .nth = nth});
  }
  [[nodiscard]] const QCounters& of_client() { return host.q_counter_table().at(client.counters); }
  [[nodiscard]] const QCounters& of_server() { return host.q_counter_table().at(server.counters); }

  Host host;
  QpOptions client{};
  QpOptions server{.log_rq_size = 2};
  Region region = host.map(65536);
  std::uint64_t at = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t key = host.make_key(region, access::kLocalRead | access::kRemoteWrite);
};

TEST_F(QCounterRules, Writes_AreCountedByTheMessageAtTheResponder) {
  write(3 * kMtu);
  write(0);
  EXPECT_EQ(of_server().rx_write_requests, 2U);
  EXPECT_EQ(of_client().rx_write_requests, 0U);
}

TEST_F(QCounterRules, LossInTheMiddle_IsOutOfSequenceHereAndSequenceErrorThere) {
  lose(kWriteMiddle, 2);
  write(6 * kMtu);
  EXPECT_EQ(of_server().out_of_sequence, 3U);
  EXPECT_EQ(of_client().packet_seq_err, 1U);
  EXPECT_EQ(of_client().local_ack_timeout_err, 0U);
  EXPECT_EQ(of_server().rx_write_requests, 1U);
}

TEST_F(QCounterRules, LostAcknowledgement_IsATimeoutHereAndADuplicateThere) {
  lose(kAck);
  write(64);
  host.run_until(kTimeoutNs);
  EXPECT_EQ(of_client().local_ack_timeout_err, 1U);
  EXPECT_EQ(of_server().duplicate_request, 1U);
  EXPECT_EQ(of_server().rx_write_requests, 1U);
}

TEST_F(QCounterRules, BudgetSpent_CountsTheTimeoutsThatWereRetried) {
  ASSERT_TRUE(host.modify(kServer, QpTransition::ToErr).ok());
  write(64);
  host.run_until(8 * kTimeoutNs);
  EXPECT_EQ(of_client().local_ack_timeout_err, 7U);
  EXPECT_EQ(of_client().req_transport_retries_exceeded, 1U);
  EXPECT_EQ(of_client().req_cqe_error, 1U);
}

TEST_F(QCounterRules, NoReceivePosted_IsOutOfBufferHereAndRnrThere) {
  send();
  EXPECT_EQ(of_server().out_of_buffer, 1U);
  EXPECT_EQ(of_client().rnr_nak_retry_err, 1U);
}

TEST_F(QCounterRules, DeadKey_IsARemoteAccessErrorOnBothSides) {
  host.destroy_key(key);
  key = host.make_key(region, access::kLocalRead);
  host.post(kClient, {at, 0x1234500, key, at, 64, true});
  write(64);
  EXPECT_EQ(of_server().resp_remote_access_errors, 1U);
  EXPECT_EQ(of_client().req_remote_access_errors, 1U);
  EXPECT_EQ(of_client().req_cqe_flush_error, 1U);
  EXPECT_EQ(of_client().req_cqe_error, 2U);
}

TEST_F(QCounterRules, RightThatTheQpDoesNotGive_IsAnInvalidRequestOnBothSides) {
  server.rwe = false;
  ASSERT_TRUE(
      host.modify(kServer, QpTransition::Rts2Rts, 0, server, prm::number(prm::QpOptPar::RWE)).ok());
  write(64);
  EXPECT_EQ(of_server().resp_remote_invalid_request, 1U);
  EXPECT_EQ(of_client().req_remote_invalid_request, 1U);
}

TEST_F(QCounterRules, ReceiveTooShort_IsALocalLengthErrorAtTheResponder) {
  host.post_receive(kServer, {});
  const std::array pieces{Piece{at, 64, key}};
  host.post_raw(kClient, prm::WqeOpcode::SEND, segments_of(pieces));
  host.ring(kClient);
  host.run();
  EXPECT_EQ(of_server().resp_local_length_error, 1U);
  EXPECT_EQ(of_server().resp_cqe_error, 1U);
}

TEST_F(QCounterRules, ReceivesLeftAtTheEnd_AreFlushErrors) {
  host.post_receive(kServer, {});
  host.post_receive(kServer, {});
  ASSERT_TRUE(host.modify(kServer, QpTransition::ToErr).ok());
  EXPECT_EQ(of_server().resp_cqe_flush_error, 2U);
  EXPECT_EQ(of_server().resp_cqe_error, 2U);
}

TEST_F(QCounterRules, SendsThatLandWell_RaiseNothing) {
  host.post_receive(kServer, {});
  send();
  QCounters nothing;
  EXPECT_EQ(of_server().out_of_buffer, nothing.out_of_buffer);
  EXPECT_EQ(of_server().rx_write_requests, 0U);
  EXPECT_EQ(host.drain_cq().size(), 2U);
}

}  // namespace
}  // namespace portcullis::model::testing
