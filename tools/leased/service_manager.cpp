// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leased/service_manager.hpp"

#include <cstddef>
#include <cstdlib>
#include <string>

#include "base/unix_socket.hpp"

namespace portcullis::tools::leased {

ServiceManager::ServiceManager() {
  const char* named = std::getenv("NOTIFY_SOCKET");
  const std::string name = named == nullptr ? "" : named;
  const auto address = unix_address(name, "NOTIFY_SOCKET");
  // sd_notify(3) of Debian 12 takes these two, and no others, for a UNIX socket.
  if (!address || (name.front() != '/' && name.front() != '@')) return;
  address_ = *address;
  if (name.front() == '@') address_.sun_path[0] = '\0';  // unix(7), abstract
  length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void ServiceManager::tell(std::string_view word) const noexcept {
  if (!socket_.is_open()) return;
  (void)::sendto(socket_.get(), word.data(), word.size(), MSG_NOSIGNAL, generic(address_), length_);
}

}  // namespace portcullis::tools::leased
