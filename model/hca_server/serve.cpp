// SPDX-License-Identifier: BSD-3-Clause
#include "model/hca_server/serve.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "model/vfio_user/lost_pages.hpp"

namespace portcullis::model {
namespace {

// Between two messages the function's timers run this often; a message is served at once.
constexpr int kTickMs = 1;
constexpr int kIdleMs = 100;  // without a client: how late a stop is seen

/// True when `fd` can be read. An interrupted wait is a wait that ended, and so is one that the
/// function's wire ends.
Result<bool> wait_for(int fd, std::vector<pollfd> entries, int timeout_ms) {
  entries.insert(entries.begin(), {.fd = fd, .events = POLLIN, .revents = 0});
  const int ready = poll(entries.data(), entries.size(), timeout_ms);
  if (ready < 0 && errno != EINTR)
    return fail(Errc::System, std::string("poll: ") + std::strerror(errno));
  return ready > 0 && entries[0].revents != 0;
}

/// Between any two messages the function works, until it has seen every store to the BAR.
Result<void> serve_client(HcaFunction& function, vfio_user::Server& server,
                          const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    const bool has_more = function.serve();
    if (vfio_user::LostPages::take())
      return fail(Errc::System,
                  "a page of its memory file is gone: the file was cut short while it was mapped, "
                  "or its file system is full");
    if (!server.is_broken()) {
      if (function.has_stores()) continue;
      PORTCULLIS_TRY_ASSIGN(const bool ready,
                            wait_for(server.fd(), function.wire_waits(), has_more ? 0 : kTickMs));
      if (!ready) continue;
    }
    PORTCULLIS_TRY_ASSIGN(const bool connected, server.serve_one());
    if (!connected) return {};
  }
  return {};
}

}  // namespace

Result<void> serve_clients(HcaFunction& function, vfio_user::Listener& listener,
                           const std::atomic<bool>& stop,
                           const std::function<void(std::string_view)>& log) {
  const vfio_user::LostPages lost_pages;
  while (!stop.load(std::memory_order_relaxed)) {
    const bool has_more = function.serve();
    PORTCULLIS_TRY_ASSIGN(const bool ready,
                          wait_for(listener.fd(), function.wire_waits(), has_more ? 0 : kIdleMs));
    if (!ready) continue;
    PORTCULLIS_TRY_ASSIGN(UniqueFd client, listener.accept());
    log("client connected");
    vfio_user::Server server(function, std::move(client));
    server.on_refusal([&log](std::string_view why) {
      log(std::string(why) + "; the client is told an errno, and no more of it is said here");
    });
    function.attach(&server);
    const auto served = serve_client(function, server, stop);
    function.attach(nullptr);
    log(served ? std::string("client gone") : "client hung up on: " + served.error().text);
  }
  return {};
}

}  // namespace portcullis::model
