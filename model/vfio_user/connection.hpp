// SPDX-License-Identifier: BSD-3-Clause
//
// One client on a UNIX stream socket: whole messages in and out, file descriptors with them. The
// other end is untrusted: a length that cannot be is an error, and the caller hangs up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "model/vfio_user/messages.hpp"

namespace portcullis::model::vfio_user {

struct Message {
  Header header;
  std::vector<std::byte> payload;
  std::vector<UniqueFd> fds;
};

/// A listening socket at a path; the path is removed on destruction.
class Listener {
 public:
  /// Takes over a socket file that nobody listens on any more. InvalidArgument for a path that is
  /// too long or something else than a socket, Busy when somebody listens, System.
  [[nodiscard]] static Result<Listener> create(const std::string& path);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) noexcept = default;
  ~Listener();
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] Result<UniqueFd> accept();

 private:
  Listener(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

class Connection {
 public:
  explicit Connection(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// The next message; blocks until it is whole, at most kStallMs between two bytes of it. Nothing
  /// when the client hung up between messages. Malformed, Timeout, System.
  [[nodiscard]] Result<std::optional<Message>> receive();
  /// Sends one message whole; Timeout when the client takes nothing of it for kStallMs.
  [[nodiscard]] Result<void> send(Header header, std::span<const std::byte> payload,
                                  std::span<const int> fds = {});
  /// A command from us and its reply, at most `deadline_ms` for all of it. Commands of the client
  /// that come between go to `serve`, which answers them: the client may be unable to answer ours
  /// before it has its own reply.
  [[nodiscard]] Result<Message> request(Command command, std::span<const std::byte> payload,
                                        int deadline_ms,
                                        const std::function<Result<void>(Message&)>& serve);

  static constexpr int kStallMs = 5000;

 private:
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> to, std::vector<UniqueFd>& fds);
  [[nodiscard]] Result<bool> read_exactly(std::span<std::byte> to, std::vector<UniqueFd>& fds);

  UniqueFd fd_;
  std::uint16_t next_id_ = 1;
};

/// The first sizeof(T) bytes of `payload` as T, or nothing when it is shorter.
template <class T>
[[nodiscard]] std::optional<T> decode(std::span<const std::byte> payload) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (payload.size() < sizeof(T)) return std::nullopt;
  T value;
  std::copy_n(payload.data(), sizeof(T), static_cast<std::byte*>(static_cast<void*>(&value)));
  return value;
}

/// Appends the bytes of `value`.
template <class T>
void encode(std::vector<std::byte>& to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = static_cast<const std::byte*>(static_cast<const void*>(&value));
  to.insert(to.end(), bytes, bytes + sizeof(T));
}

}  // namespace portcullis::model::vfio_user
