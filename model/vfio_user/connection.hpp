// SPDX-License-Identifier: BSD-3-Clause
//
// One client on a UNIX stream socket: whole messages in and out, file descriptors with them. The
// other end is untrusted: a length that cannot be is an error, and the caller hangs up.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "base/unix_socket.hpp"
#include "model/vfio_user/messages.hpp"

namespace portcullis::model::vfio_user {

struct Message {
  Header header;
  std::vector<std::byte> payload;
  std::vector<UniqueFd> fds;
};

/// A listening socket at a path, whose file goes with it.
class Listener {
 public:
  /// Takes over a socket file that nobody listens on any more. InvalidArgument for a path that is
  /// too long or something else than a socket, Busy when somebody listens, System.
  [[nodiscard]] static Result<Listener> create(const std::string& path);
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] Result<UniqueFd> accept();

 private:
  Listener(UniqueFd fd, SocketPath path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  SocketPath path_;
};

/// When a wait ends, however many bytes have come by then.
class Deadline {
 public:
  explicit Deadline(int patience_ms)
      : patience_ms_(patience_ms), at_(Clock::now() + std::chrono::milliseconds(patience_ms)) {}

  [[nodiscard]] bool has_passed() const { return Clock::now() >= at_; }
  /// For poll(), rounded up; 0: it has passed.
  [[nodiscard]] int left_ms() const;
  /// How long it was when it was set.
  [[nodiscard]] int patience_ms() const noexcept { return patience_ms_; }

 private:
  using Clock = std::chrono::steady_clock;
  int patience_ms_;
  Clock::time_point at_;
};

class Connection {
 public:
  explicit Connection(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// The next message, whole by `deadline`; nothing when the client hung up between messages.
  /// Malformed, Timeout, System.
  [[nodiscard]] Result<std::optional<Message>> receive(const Deadline& deadline);
  /// Sends one message; Timeout when the client has not taken all of it by `deadline`.
  [[nodiscard]] Result<void> send(Header header, std::span<const std::byte> payload,
                                  const Deadline& deadline, std::span<const int> fds = {});

 private:
  [[nodiscard]] Result<std::optional<std::size_t>> read_some(std::span<std::byte> to,
                                                             std::vector<UniqueFd>& fds);
  [[nodiscard]] Result<bool> read_exactly(std::span<std::byte> to, std::vector<UniqueFd>& fds,
                                          const Deadline& deadline);

  UniqueFd fd_;
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
