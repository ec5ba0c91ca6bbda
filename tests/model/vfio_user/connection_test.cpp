// SPDX-License-Identifier: BSD-3-Clause
//
// A reader that runs only when its deadline is over, as on a machine that had no core for it.
#include "model/vfio_user/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace portcullis::model::vfio_user {
namespace {

class VfioUserConnection : public ::testing::Test {
 protected:
  VfioUserConnection() {
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
    other_ = UniqueFd(pair[0]);
    own_.emplace(UniqueFd(pair[1]));
  }
  /// The first `bytes` of a message of 8 bytes of payload.
  void other_sends(std::size_t bytes) {
    const Header header{.message_id = 7, .message_bytes = sizeof header + 8};
    std::array<std::byte, sizeof header + 8> raw{};
    std::copy_n(std::as_bytes(std::span(&header, 1)).begin(), sizeof header, raw.begin());
    ASSERT_EQ(::send(other_.get(), raw.data(), bytes, 0), static_cast<ssize_t>(bytes));
  }

  const Deadline passed_{0};
  UniqueFd other_;
  std::optional<Connection> own_;
};

TEST_F(VfioUserConnection, MessageThatHasCome_IsReadHoweverLate) {
  other_sends(sizeof(Header) + 8);
  const auto message = own_->receive(passed_);
  ASSERT_TRUE(message) << message.error().text;
  ASSERT_TRUE(message->has_value());
  EXPECT_EQ((*message)->header.message_id, 7u);
  EXPECT_EQ((*message)->payload.size(), 8u);
}

TEST_F(VfioUserConnection, HalfAMessage_IsWaitedForNoLongerThanTheDeadline) {
  other_sends(sizeof(Header) + 3);
  const auto message = own_->receive(passed_);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Errc::Timeout);
}

TEST_F(VfioUserConnection, NothingThatHasCome_IsATimeout) {
  const auto message = own_->receive(passed_);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, Errc::Timeout);
}

}  // namespace
}  // namespace portcullis::model::vfio_user
