// SPDX-License-Identifier: BSD-3-Clause
//
// Stores to a BAR that another process maps are no events: the function looks for them, again and
// again, as Model::run does.
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "model/engine_lock.hpp"
#include "model/hca_server/serve.hpp"
#include "model/vfio_user/lost_pages.hpp"
#include "model/vfio_user/strangers.hpp"

namespace portcullis::model {
namespace {

// How many looks in vain it takes until the function sleeps between two, and for how long: a few
// times what a driver needs between a command and the next.
constexpr std::uint32_t kLooksBeforeANap = 5'000;
constexpr long kNapNs = 50'000;
// Sockets are looked at with every so many looks at the BAR, which are far cheaper.
constexpr std::uint32_t kLooksPerPoll = 64;
// Nobody owns it: only the wire and who connects may have something.
constexpr long kIdleNs = 1'000'000;

using Log = std::function<void(std::string_view)>;

class Owners {
 public:
  Owners(HcaFunction& function, vfio_user::Listener& listener, const std::atomic<bool>& stop,
         const Log& log)
      : function_(&function), listener_(&listener), stop_(&stop), log_(&log) {}

  /// Until somebody owns the function, or it is to stop.
  [[nodiscard]] Result<void> wait() {
    while (!stop_->load(std::memory_order_relaxed)) {
      const bool has_more = function_->serve();
      PORTCULLIS_TRY_ASSIGN(const bool is_there, is_readable(-1, has_more ? 0 : kIdleNs));
      if (is_there) return {};
    }
    return {};
  }

  /// Until the owner hangs up, which is true, or must be hung up on.
  [[nodiscard]] Result<bool> serve(vfio_user::Server& server) {
    for (std::uint32_t looks = 0; !stop_->load(std::memory_order_relaxed);) {
      looks = function_->serve() ? 0 : looks + 1;
      if (vfio_user::LostPages::take())
        return fail(Errc::System, "a page of its memory file is gone: the file was cut short");
      const bool naps = looks > kLooksBeforeANap;
      if (!naps && looks % kLooksPerPoll != 0) {
        pause_cpu();
        continue;
      }
      PORTCULLIS_TRY_ASSIGN(const bool is_asked, is_readable(server.fd(), naps ? kNapNs : 0));
      if (!is_asked) continue;
      looks = 0;
      PORTCULLIS_TRY_ASSIGN(const bool is_connected, server.serve_one());
      if (!is_connected) return true;
    }
    return false;
  }

  /// The owner has gone and does not know what its device does.
  [[nodiscard]] Result<void> linger(std::chrono::milliseconds how_long) {
    const Clock clock = Clock::wall();
    const std::uint64_t until_ns =
        clock.now_ns() + static_cast<std::uint64_t>(how_long.count()) * kNsPerMs;
    while (clock.now_ns() < until_ns && !stop_->load(std::memory_order_relaxed)) {
      const bool has_more = function_->serve();
      if (vfio_user::LostPages::take()) return {};
      const timespec nap{.tv_sec = 0, .tv_nsec = has_more ? 0 : kNapNs};
      std::vector<pollfd> wires = function_->wire_waits();
      PORTCULLIS_TRY(wait_on(wires, nap));
    }
    return {};
  }

 private:
  static Result<void> wait_on(std::span<pollfd> entries, const timespec& most) {
    if (ppoll(entries.data(), entries.size(), &most, nullptr) >= 0 || errno == EINTR) return {};
    return fail(Errc::System, std::string("ppoll: ") + std::strerror(errno));
  }

  /// Asked after a stranger was seen: who connects when the owner has gone is none.
  static bool has_gone(int owner) {
    pollfd entry{.fd = owner, .events = POLLRDHUP, .revents = 0};
    return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
  }

  /// Whether the owner (-1: there is none, and whoever connects would be) has something to say; who
  /// else connects is told that it is not alone.
  [[nodiscard]] Result<bool> is_readable(int owner, long most_ns) {
    std::vector<pollfd> entries = function_->wire_waits();
    const pollfd theirs{.fd = owner, .events = POLLIN, .revents = 0};
    const pollfd strangers{.fd = listener_->fd(), .events = POLLIN, .revents = 0};
    entries.insert(entries.begin(), {theirs, strangers});
    PORTCULLIS_TRY(wait_on(entries, {.tv_sec = 0, .tv_nsec = most_ns}));
    const bool has_stranger = entries[1].revents != 0;
    if (owner < 0) return has_stranger;
    if (has_stranger && !has_gone(owner)) {
      PORTCULLIS_TRY_ASSIGN(UniqueFd stranger, listener_->accept());
      (*log_)("another process connected while the function is owned, and was refused");
      strangers_.add(std::move(stranger));
    }
    if (strangers_.waiting() != 0) strangers_.serve();
    return entries[0].revents != 0;
  }

  HcaFunction* function_;
  vfio_user::Listener* listener_;
  const std::atomic<bool>* stop_;
  const Log* log_;
  vfio_user::Strangers strangers_;
};

}  // namespace

Result<void> serve_owners(HcaFunction& function, vfio_user::Listener& listener,
                          std::chrono::milliseconds linger, const std::atomic<bool>& stop,
                          const Log& log) {
  const vfio_user::LostPages lost_pages;
  Owners owners(function, listener, stop, log);
  while (true) {
    PORTCULLIS_TRY(owners.wait());
    if (stop.load(std::memory_order_relaxed)) return {};
    PORTCULLIS_TRY_ASSIGN(UniqueFd connection, listener.accept());
    log("owner connected");
    vfio_user::Server server(function, std::move(connection));
    server.on_refusal([&log](std::string_view why) {
      log(std::string(why) + "; the owner is told an errno, and no more of it is said here");
    });
    function.attach(&server);
    const auto served = owners.serve(server);
    log(served ? std::string("owner gone") : "owner hung up on: " + served.error().text);
    if (served && *served) PORTCULLIS_TRY(owners.linger(linger));
    function.reset();  // before its memory goes with the server
    function.attach(nullptr);
    log("function reset: nobody owns it");
  }
}

}  // namespace portcullis::model
