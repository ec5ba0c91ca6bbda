// SPDX-License-Identifier: BSD-3-Clause
//
// A connection to leased: asks, waits for the answer up to a deadline, and keeps the notices that
// come meanwhile. One thread at a time. A server that ends, or says what no server says, ends the
// connection: every later call says so.
//
//   PORTCULLIS_TRY_ASSIGN(auto leased, client::Connection::open({.socket = path}, {}));
//   PORTCULLIS_TRY_ASSIGN(const auto held, leased.alloc(request));
//   PORTCULLIS_TRY_ASSIGN(const auto answer, leased.revoke({.id = held.id, .epoch = held.epoch}));
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "client/link.hpp"
#include "wire/frame.hpp"

namespace portcullis::client {

/// REVOKED or EXPIRED, or that the server is another than it was.
struct LeaseEnded {
  wire::Notice notice = wire::Notice::Revoked;
  wire::EndedNotice body;
};
using News = std::variant<LeaseEnded, wire::RestartedNotice>;

struct ConnectionOptions {
  std::string name = "client";          // for the server's log
  std::uint64_t known_incarnation = 0;  // of the server when it was last seen
  /// For each answer. A revoke is answered within a second by contract.
  std::uint64_t deadline_ms = 5'000;
  /// Once it is true an answer has a moment more to come, for whoever is to be told of what was
  /// carried out; then what waits ends with Timeout. All in all within a second.
  Stop stop = {};
};

/// What goes on while an answer is waited for. Neither may ask anything, but for pulse().
struct Meanwhile {
  std::function<void()> waiting = {};          // some ten times a second
  std::function<void(const News&)> news = {};  // at once; next_news() hands it out none the less
};

class Connection {
 public:
  using Options = ConnectionOptions;

  /// Connects and says HELLO. As Link::open(), and what the server refuses.
  [[nodiscard]] static Result<Connection> open(const ServerAddress& server, const Options& options);

  [[nodiscard]] const wire::HelloAnswer& server() const noexcept { return server_; }
  /// Of answers that are asked for from now on.
  void set_deadline_ms(std::uint64_t deadline_ms) noexcept { options_.deadline_ms = deadline_ms; }

  // Each: Timeout, DeviceGone once the server is gone, and as refusals go: InvalidArgument,
  // OutOfResources, Busy, NotFound, Unsupported (the role does not), DeviceFailed (nothing is
  // granted), Malformed.
  [[nodiscard]] Result<wire::AllocAnswer> alloc(const wire::AllocRequest& wanted);
  [[nodiscard]] Result<wire::RenewAnswer> renew(const wire::RenewRequest& wanted);
  /// What the holder has to write. A server that does not know the question asks for nothing.
  [[nodiscard]] Result<wire::ChallengeAnswer> challenge(const wire::ChallengeRequest& wanted);
  [[nodiscard]] Result<wire::RevokeAnswer> revoke(const wire::RevokeRequest& wanted);
  [[nodiscard]] Result<wire::RevokeTenantAnswer> revoke_tenant(std::uint64_t tenant);
  [[nodiscard]] Result<wire::WatchAnswer> watch(std::uint64_t tenant);
  [[nodiscard]] Result<wire::StatusAnswer> status();
  /// One frame's rows of leases that have ended, the newest first; those before its last row are
  /// asked for next.
  [[nodiscard]] Result<wire::History> history(const wire::HistoryRequest& wanted);
  /// All of them, however many frames they fill.
  [[nodiscard]] Result<std::vector<wire::LeaseRow>> list(std::uint64_t tenant);

  /// The oldest notice; waits up to `most_ms` for one, then none.
  [[nodiscard]] Result<std::optional<News>> next_news(std::uint64_t most_ms);
  void attend(Meanwhile meanwhile) { meanwhile_ = std::move(meanwhile); }
  /// Readable when something has come; for whoever waits for more than this.
  [[nodiscard]] int fd() const noexcept { return link_->fd(); }
  /// The server may end this connection without a word that arrives.
  [[nodiscard]] bool may_fall_silent() const noexcept { return !link_->there_ns(); }
  /// By this side's clock, a time at which the server had not ended this connection. Where it may
  /// fall silent: when the newest request was asked that the server has answered. Packets prove
  /// less: they may be late, or somebody's who recorded them.
  [[nodiscard]] std::uint64_t there_ns() const noexcept {
    return link_->there_ns().value_or(answered_ns_);
  }
  /// Asks whether the server is there, for there_ns(), if nothing was asked for so long. Waits for
  /// nothing.
  void pulse(std::uint64_t every_ms);

 private:
  struct Asked {
    std::uint64_t at_ns = 0;
    bool is_awaited = true;
  };

  explicit Connection(std::unique_ptr<Link> link, const Options& options)
      : link_(std::move(link)), options_(options) {}
  [[nodiscard]] Result<void> greet();
  /// A request that is under way; its id.
  template <class Body>
  [[nodiscard]] Result<std::uint64_t> request(wire::Op op, const Body& body);
  [[nodiscard]] Result<void> send(const wire::FrameBytes& frame, std::uint64_t until_ns);
  /// The answer to `request_id`, which a refusal makes an error.
  [[nodiscard]] Result<wire::FrameBytes> await(std::uint64_t request_id, wire::Op op);
  /// Nobody waits for it any more.
  [[nodiscard]] tl::unexpected<Error> give_up(std::uint64_t request_id, wire::Op op);
  /// One message, or none when `until_ns` has passed.
  [[nodiscard]] Result<std::optional<wire::FrameBytes>> receive(std::uint64_t until_ns);
  [[nodiscard]] Result<void> keep(const wire::Frame& frame);
  void note_answer(const wire::Frame& frame);
  /// The answer to a request that nobody waits for; a lease that nobody does is given back.
  [[nodiscard]] bool is_late(const wire::Frame& frame);
  void give_back(const wire::AllocAnswer& lease);
  void tell_waiting();
  [[nodiscard]] bool is_stopped();
  template <class Answer, class Body>
  [[nodiscard]] Result<Answer> ask(wire::Op op, const Body& body);
  [[nodiscard]] tl::unexpected<Error> gone(const std::string& why);

  std::unique_ptr<Link> link_;
  Options options_;
  wire::HelloAnswer server_;
  std::uint64_t next_request_ = 1;
  std::deque<News> news_;
  std::map<std::uint64_t, Asked> asked_;  // by request id; not answered yet
  std::uint64_t last_asked_ns_ = 0;
  std::uint64_t answered_ns_ = 0;  // when what was answered was asked; the newest
  Meanwhile meanwhile_;
  std::uint64_t told_waiting_ns_ = 0;
  std::uint64_t stopped_ns_ = 0;  // when that was seen first
  std::optional<Error> gone_;
};

}  // namespace portcullis::client
