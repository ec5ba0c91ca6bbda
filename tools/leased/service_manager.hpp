// SPDX-License-Identifier: BSD-3-Clause
//
// What the service manager is told, over the socket that sd_notify(3) names: NOTIFY_SOCKET, a path
// or "@" and an abstract name. sd_notify(3) itself waits where nobody reads that socket, and with
// the thread that serves clients every revoke would wait too; here such a word is lost instead.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string_view>

#include "base/unique_fd.hpp"

namespace portcullis::tools::leased {

class ServiceManager {
 public:
  /// From the environment; without NOTIFY_SOCKET there is nobody to tell.
  ServiceManager();

  void tell(std::string_view word) const noexcept;

 private:
  UniqueFd socket_;
  sockaddr_un address_{};
  socklen_t length_ = 0;
};

}  // namespace portcullis::tools::leased
