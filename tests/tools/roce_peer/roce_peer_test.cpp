// SPDX-License-Identifier: BSD-3-Clause
//
// Two ends on the model's port that play ping-pong, and what is wrong with a peer that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/roce_peer/connection.hpp"
#include "tools/roce_peer/options.hpp"
#include "tools/roce_peer/ping_pong.hpp"

namespace portcullis::tools::roce_peer {
namespace {

using ::testing::HasSubstr;

class RocePeer : public ::testing::Test {
 protected:
  RocePeer()
      : port(service::ServedPort::open(attach::parse_device("model").value(),
                                       service::ServedPortOptions{})
                 .value()),
        first(Connection::create(*port, 0xfffffe).value()),
        second(Connection::create(*port, 5).value()) {}

  /// What an exchange would tell of an end.
  static service::exchange::Grant grant_of(const Connection& end) {
    service::exchange::Grant grant;
    grant.server = end.request().client;
    return grant;
  }
  void connect() {
    ASSERT_TRUE(first->connect(grant_of(*second)));
    ASSERT_TRUE(second->connect(grant_of(*first)));
  }
  std::uint64_t soon() const { return port->clock().now_ns() + kNsPerMs; }
  static void fill(Connection& end, std::byte value) {
    std::ranges::fill(end.buffer().first(4096), value);
  }

  std::unique_ptr<service::ServedPort> port;
  std::unique_ptr<Connection> first;
  std::unique_ptr<Connection> second;
};

TEST_F(RocePeer, BytesThatCameBackChanged_AreNamed) {
  const PingPongOptions options{.rounds = 3, .bytes = 4096, .starts = true};
  PingPong game = PingPong::create(*first, options).value();
  ASSERT_TRUE(second->post_receive(8192, 4096));
  connect();
  EXPECT_FALSE(game.step(soon()).value());
  fill(*second, std::byte{0x7b});  // no echo

  ASSERT_TRUE(second->post_send(0, 4096));

  const auto told = game.run();
  EXPECT_EQ(told.error().code, Errc::Malformed);
  EXPECT_THAT(told.error().text, HasSubstr("of message 0 is 0x7b"));
}

TEST_F(RocePeer, EchoesOfThePeer_AreAllCompared) {
  const PingPongOptions options{.rounds = 5, .bytes = 2500, .starts = true};
  PingPong game = PingPong::create(*first, options).value();
  for (std::size_t i = 0; i < options.rounds; ++i) ASSERT_TRUE(second->post_receive(0, 2500));
  connect();

  // The peer receives where it sends from, as ibv_rc_pingpong does.
  while (!game.step(soon()).value()) {
    const auto came = second->wait_for_any(port->clock().now_ns()).value();
    const bool is_message = came && came->opcode == prm::WcOpcode::RECV;
    ASSERT_TRUE(!is_message || second->post_send(0, 2500));
  }

  EXPECT_EQ(game.report().received, 5U);
  EXPECT_EQ(game.report().compared, 5U);
}

TEST_F(RocePeer, PeerThatFallsSilent_EndsAtTheDeadline) {
  PingPong game =
      PingPong::create(*first, {.rounds = 3, .starts = true, .deadline_ms = 20}).value();
  ASSERT_TRUE(second->post_receive(8192, 4096));
  connect();

  EXPECT_EQ(game.run().error().code, Errc::Timeout);
}

TEST_F(RocePeer, MessageOfAnotherLength_IsNamed) {
  PingPong game = PingPong::create(*first, {.rounds = 3}).value();
  connect();
  ASSERT_TRUE(second->post_send(0, 100));

  EXPECT_THAT(game.run().error().text, HasSubstr("message 0 has 100 bytes; 4096 were sent"));
}

TEST_F(RocePeer, MessagesThatDoNotFit_AreRefused) {
  EXPECT_FALSE(PingPong::create(*first, {.bytes = 0}));
  EXPECT_FALSE(PingPong::create(*first, {.bytes = 1 << 20}));
}

TEST(RocePeerOptions, ServerIsNeeded) {
  const std::array words = {"roce-peer", "--", "--device", "model"};

  const auto options = parse_options(words.size(), words.data());

  EXPECT_THAT(options.error().text, HasSubstr("--server is required"));
}

TEST(RocePeerOptions, EverythingIsTaken) {
  const std::array words = {"roce-peer", "-l",      "1",          "--",  "--device", "model",
                            "--address", "fe80::1", "--server",   "h:1", "--first",  "--ping-pong",
                            "--bytes",   "100",     "--messages", "7"};

  const auto options = parse_options(words.size(), words.data());

  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->eal.size(), 3U);
  EXPECT_TRUE(options->ping_pong && options->messages.starts);
  EXPECT_EQ(options->messages.bytes, 100U);
  EXPECT_EQ(options->messages.rounds, 7U);
}

}  // namespace
}  // namespace portcullis::tools::roce_peer
