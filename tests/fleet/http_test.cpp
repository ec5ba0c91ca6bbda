// SPDX-License-Identifier: BSD-3-Clause
//
// A server that takes connections and never answers, and who has no time to wait for it.
#include "fleet/http.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

namespace portcullis::fleet {
namespace {

constexpr std::uint64_t kLongMs = 3'600'000;

class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* const generic = static_cast<sockaddr*>(static_cast<void*>(&address));
    EXPECT_EQ(::bind(socket_.get(), generic, bytes), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    EXPECT_EQ(::getsockname(socket_.get(), generic, &bytes), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  }
  [[nodiscard]] Transport::Request request() const { return {.url = url_, .body = "{}"}; }
  [[nodiscard]] bool is_asked(int most_ms) const {
    pollfd wanted{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, most_ms) == 1;
  }

 private:
  UniqueFd socket_;
  std::string url_;
};

TEST(Http, PostThatAnotherThreadEnds_HasTimedOut) {
  const SilentServer server;
  const auto http = *Http::create({});
  std::thread other([&] {
    EXPECT_TRUE(server.is_asked(60'000));
    http->end_by(Clock::wall().now_ns());
  });
  const auto answer = http->post(server.request(), kLongMs);
  other.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::Timeout);
}

TEST(Http, PostBeyondItsEnd_AsksNobody) {
  const SilentServer server;
  const auto http = *Http::create({});
  http->end_by(Clock::wall().now_ns());
  const auto answer = http->post(server.request(), kLongMs);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::Timeout);
  EXPECT_FALSE(server.is_asked(0));
}

TEST(Http, PostWithLessTimeThanItsEnd_HasItsOwn) {
  const SilentServer server;
  const auto http = *Http::create({});
  http->end_by(Clock::wall().now_ns() + kLongMs * kNsPerMs);
  const auto answer = http->post(server.request(), 20);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::Timeout);
}

}  // namespace
}  // namespace portcullis::fleet
