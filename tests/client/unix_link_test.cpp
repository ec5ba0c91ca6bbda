// SPDX-License-Identifier: BSD-3-Clause
//
// What a client of AF_UNIX says of a server that is no longer there.
#include "client/unix_link.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>

#include "base/clock.hpp"
#include "base/unix_socket.hpp"

namespace portcullis::client {
namespace {

constexpr std::uint64_t kLongNs = 60'000 * kNsPerMs;

/// A server that accepts one client and reads nothing.
class UnixLinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(::mkdtemp(folder_.data()));
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    path_ =
        SocketPath::bind(listener_.get(), SOCK_SEQPACKET, folder_ + "/socket", "socket").value();
    ASSERT_EQ(::listen(listener_.get(), 1), 0);
    link_ = UnixLink::open(path_.text(), until_ns()).value();
    accepted_ = UniqueFd(::accept(listener_.get(), nullptr, nullptr));
    ASSERT_TRUE(accepted_.is_open());
  }
  void TearDown() override {
    path_ = {};
    std::filesystem::remove_all(folder_);
  }
  static std::uint64_t until_ns() { return Clock::wall().now_ns() + kLongNs; }
  std::string said() {
    const auto got = link_->receive(until_ns());
    return got ? "a frame" : got.error().text;
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "unix-link-XXXXXX").string();
  UniqueFd listener_;
  SocketPath path_;
  std::unique_ptr<Link> link_;
  UniqueFd accepted_;
};

TEST_F(UnixLinkTest, ServerThatHasReadAllCloses_IsSaidToHaveHungUp) {
  accepted_ = {};
  EXPECT_EQ(said(), "the server has hung up");
}

TEST_F(UnixLinkTest, ServerThatAcceptsNobody_IsWaitedForUntilOneIsToldToStop) {
  const auto first = UnixLink::open(path_.text(), until_ns());
  const auto second = UnixLink::open(path_.text(), until_ns());  // as many as may wait
  const auto third = UnixLink::open(path_.text(), until_ns(), [] { return true; });
  ASSERT_TRUE(first && second);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Errc::Timeout);
}

TEST_F(UnixLinkTest, ServerSaysWhyAndClosesWithSomethingUnread_IsHeardFirst) {
  ASSERT_TRUE(link_->send(wire::FrameBytes(8), until_ns()));
  ASSERT_EQ(::send(accepted_.get(), "why", 3, MSG_NOSIGNAL), 3);
  accepted_ = {};
  EXPECT_EQ(said(), "a frame");
  EXPECT_EQ(said(), "the server has hung up");
}

TEST_F(UnixLinkTest, ServerClosesWithSomethingUnread_IsSaidToHaveHungUp) {
  ASSERT_TRUE(link_->send(wire::FrameBytes(8), until_ns()));
  accepted_ = {};
  EXPECT_EQ(said(), "the server has hung up");
}

}  // namespace
}  // namespace portcullis::client
