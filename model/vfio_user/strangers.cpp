// SPDX-License-Identifier: BSD-3-Clause
#include "model/vfio_user/strangers.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "model/vfio_user/messages.hpp"

namespace portcullis::model::vfio_user {
namespace {

/// Whether there is nothing more to be said to it.
bool is_answered(int fd) {
  Header header;
  const ssize_t got = recv(fd, &header, sizeof header, MSG_DONTWAIT);
  if (got < 0) return errno != EAGAIN && errno != EINTR;
  if (got < static_cast<ssize_t>(sizeof header)) return true;  // gone, or nobody we understand
  header.message_bytes = sizeof header;
  header.flags = Header::kTypeReply | Header::kError;
  header.error = EBUSY;
  (void)!send(fd, &header, sizeof header, MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

}  // namespace

void Strangers::add(UniqueFd connection) {
  if (connections_.size() == kMost) connections_.pop_front();
  connections_.push_back(std::move(connection));
}

void Strangers::serve() {
  std::erase_if(connections_, [](const UniqueFd& each) { return is_answered(each.get()); });
}

}  // namespace portcullis::model::vfio_user
