// SPDX-License-Identifier: BSD-3-Clause
#include "base/unix_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.hpp"

namespace portcullis {
namespace {

tl::unexpected<Error> system_error(std::string_view what, const std::string& path) {
  return fail(Errc::System, fmt::format("{} '{}': {}", what, path, std::strerror(errno)));
}

/// Removes a socket file whose owner is gone: connect(2) finds nobody then, and only then.
Result<void> clear_stale(const sockaddr_un& address, int type, const std::string& path,
                         std::string_view what) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode))
    return fail(Errc::InvalidArgument,
                fmt::format("{} '{}': exists and is not a socket", what, path));
  // Without O_NONBLOCK one whose queue of clients is full would let us wait.
  const UniqueFd probe(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.is_open()) return system_error(what, path);
  const bool connected = connect(probe.get(), generic(address), sizeof address) == 0;
  if (connected || errno == EAGAIN || errno == EPROTOTYPE)
    return fail(Errc::Busy, fmt::format("{} '{}': another server listens there", what, path));
  if (errno != ECONNREFUSED || unlink(path.c_str()) != 0) return system_error(what, path);
  return {};
}

}  // namespace

Result<sockaddr_un> unix_address(const std::string& path, std::string_view what) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Errc::InvalidArgument, fmt::format("{} '{}': 1 to {} characters are accepted", what,
                                                   path, sizeof address.sun_path - 1));
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

Result<SocketPath> SocketPath::bind(int fd, int type, const std::string& path,
                                    std::string_view what) {
  PORTCULLIS_TRY_ASSIGN(const sockaddr_un address, unix_address(path, what));
  PORTCULLIS_TRY(clear_stale(address, type, path, what));
  if (::bind(fd, generic(address), sizeof address) != 0) return system_error(what, path);
  return SocketPath(path);
}

SocketPath::~SocketPath() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace portcullis
