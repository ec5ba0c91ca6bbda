// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/fake_gateway.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <utility>

namespace portcullis::fleet {
namespace {

constexpr int kPatienceMs = 60'000;

bool is_readable(int fd, int most_ms) {
  pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, most_ms) == 1;
}

std::string header_of(const std::string& head, const std::string& name) {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

}  // namespace

FakeGateway::FakeGateway(Handler handler) : handler_(std::move(handler)) {
  listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  (void)::bind(listener_.get(), std::bit_cast<const sockaddr*>(&address), size);
  (void)::listen(listener_.get(), 16);
  (void)::getsockname(listener_.get(), std::bit_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

FakeGateway::~FakeGateway() {
  stop_ = true;
  (void)::shutdown(listener_.get(), SHUT_RDWR);  // accept(2) answers
  thread_.join();
}

std::string FakeGateway::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<FakeGateway::Asked> FakeGateway::asked() const {
  const std::lock_guard<std::mutex> one(lock_);
  return asked_;
}

void FakeGateway::run() {
  while (!stop_) {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.is_open()) serve(std::move(connection));
  }
}

void FakeGateway::serve(UniqueFd connection) {
  std::string text;
  std::size_t head_end = std::string::npos;
  std::size_t body_bytes = 0;
  while (head_end == std::string::npos || text.size() < head_end + 4 + body_bytes) {
    std::array<char, 4096> some{};
    if (!is_readable(connection.get(), kPatienceMs)) return;
    const ssize_t got = ::recv(connection.get(), some.data(), some.size(), 0);
    if (got <= 0) return;
    text.append(some.data(), static_cast<std::size_t>(got));
    head_end = text.find("\r\n\r\n");
    if (head_end != std::string::npos)
      body_bytes = std::strtoull(header_of(text, "Content-Length").c_str(), nullptr, 10);
  }
  const std::string head = text.substr(0, head_end);
  const std::size_t path = head.find(' ') + 1;
  const Asked asked{.path = head.substr(path, head.find(' ', path) - path),
                    .body = text.substr(head_end + 4),
                    .token = header_of(head, "Authorization")};
  {
    const std::lock_guard<std::mutex> one(lock_);
    asked_.push_back(asked);
  }
  const Answer answer = handler_(asked);
  if (answer.is_silent) {
    silent_.push_back(std::move(connection));
    return;
  }
  const std::string said =
      fmt::format("HTTP/1.1 {} said\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
                  answer.status, answer.body.size(), answer.body);
  (void)::send(connection.get(), said.data(), said.size(), MSG_NOSIGNAL);
  (void)::shutdown(connection.get(), SHUT_WR);
  (void)is_readable(connection.get(), kPatienceMs);  // until the other side has read it
}

}  // namespace portcullis::fleet
