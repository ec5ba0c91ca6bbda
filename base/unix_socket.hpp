// SPDX-License-Identifier: BSD-3-Clause
//
// UNIX sockets bound to a path. The file that a server leaves when it is killed is taken over; one
// that somebody still has, and anything that is not a socket, is left alone.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace portcullis {

/// `what` names the path in an error: "socket path". InvalidArgument when it is too long.
[[nodiscard]] Result<sockaddr_un> unix_address(const std::string& path, std::string_view what);
/// The POSIX interface takes every address family through one type.
[[nodiscard]] inline const sockaddr* generic(const sockaddr_un& address) {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address));
}

/// The socket file of a bound socket; removed on destruction.
class SocketPath {
 public:
  SocketPath() = default;
  /// Binds `fd`, which is of `type` (SOCK_STREAM, SOCK_DGRAM or SOCK_SEQPACKET). InvalidArgument
  /// for a path that is too long or something else than a socket, Busy when somebody has it,
  /// System.
  [[nodiscard]] static Result<SocketPath> bind(int fd, int type, const std::string& path,
                                               std::string_view what);
  SocketPath(SocketPath&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SocketPath& operator=(SocketPath&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~SocketPath();
  [[nodiscard]] const std::string& text() const noexcept { return path_; }

 private:
  explicit SocketPath(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace portcullis
