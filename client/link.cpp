// SPDX-License-Identifier: BSD-3-Clause
#include "client/link.hpp"

#include "client/quic_link.hpp"
#include "client/unix_link.hpp"

namespace portcullis::client {

Result<std::unique_ptr<Link>> Link::open(const ServerAddress& server, std::uint64_t until_ns,
                                         const Stop& stop) {
  if (server.quic) return QuicLink::open(*server.quic, until_ns, stop);
  return UnixLink::open(server.socket, until_ns, stop);
}

}  // namespace portcullis::client
