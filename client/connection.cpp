// SPDX-License-Identifier: BSD-3-Clause
#include "client/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace portcullis::client {
namespace {

using wire::Op;

constexpr std::uint64_t kSliceNs = 100 * kNsPerMs;
constexpr std::uint64_t kMomentNs = 700 * kNsPerMs;  // for answers once it is told to stop
/// More are not asked for nobody, of a server that answers none.
constexpr std::size_t kMostUnanswered = 64;

std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

Errc errc_of(wire::Code code) noexcept {
  switch (code) {
    case wire::Code::InvalidValue:
      return Errc::InvalidArgument;
    case wire::Code::NotAllowed:
    case wire::Code::UnknownOp:
    case wire::Code::UnknownVersion:
      return Errc::Unsupported;
    case wire::Code::Limit:
    case wire::Code::NoResources:
      return Errc::OutOfResources;
    case wire::Code::Busy:
    case wire::Code::Ending:
      return Errc::Busy;
    case wire::Code::NotFound:
      return Errc::NotFound;
    case wire::Code::Unavailable:
      return Errc::DeviceFailed;
    case wire::Code::Malformed:
    case wire::Code::HelloFirst:
      break;
  }
  return Errc::Malformed;
}

tl::unexpected<Error> refused(const wire::Refusal& refusal) {
  return fail(errc_of(refusal.code),
              fmt::format("{}: {}", wire::name(refusal.code), wire::text_of(refusal.text)));
}

}  // namespace

tl::unexpected<Error> Connection::gone(const std::string& why) {
  if (!gone_) gone_ = Error{Errc::DeviceGone, why, std::nullopt};
  return tl::unexpected<Error>(*gone_);
}

Result<Connection> Connection::open(const ServerAddress& server, const Options& options) {
  const std::uint64_t until_ns = now_ns() + options.deadline_ms * kNsPerMs;
  PORTCULLIS_TRY_ASSIGN(auto link, Link::open(server, until_ns, options.stop));
  Connection connection(std::move(link), options);
  const std::uint64_t now = now_ns();
  connection.options_.deadline_ms = now < until_ns ? (until_ns - now) / kNsPerMs + 1 : 1;
  PORTCULLIS_TRY(connection.greet());
  connection.options_.deadline_ms = options.deadline_ms;
  return connection;
}

Result<void> Connection::greet() {
  wire::HelloRequest hello{.known_incarnation = options_.known_incarnation};
  std::string name = options_.name;  // of a program's own choice; the protocol wants ASCII
  std::replace_if(
      name.begin(), name.end(), [](char each) { return each < ' ' || each > '~'; }, '?');
  wire::put_text(hello.client_name, name);
  PORTCULLIS_TRY_ASSIGN(server_, ask<wire::HelloAnswer>(Op::Hello, hello));
  return {};
}

template <class Body>
Result<std::uint64_t> Connection::request(Op op, const Body& body) {
  const std::uint64_t id = next_request_++;
  const std::uint64_t now = now_ns();
  last_asked_ns_ = now;
  asked_[id] = {.at_ns = now};
  const auto sent =
      send(wire::make_frame(wire::number(op), id, body), now + options_.deadline_ms * kNsPerMs);
  if (sent) return id;
  asked_.erase(id);
  return tl::unexpected<Error>(sent.error());
}

Result<void> Connection::send(const wire::FrameBytes& frame, std::uint64_t until_ns) {
  for (;;) {
    if (gone_) return tl::unexpected<Error>(*gone_);
    auto sent = link_->send(frame, std::min(until_ns, now_ns() + kSliceNs));
    if (sent) return sent;
    if (sent.error().code == Errc::DeviceGone) return gone(sent.error().text);
    if (sent.error().code != Errc::Timeout || now_ns() >= until_ns || is_stopped()) return sent;
    tell_waiting();
  }
}

void Connection::tell_waiting() {
  if (!meanwhile_.waiting || now_ns() - told_waiting_ns_ < kSliceNs) return;
  told_waiting_ns_ = now_ns();
  meanwhile_.waiting();
}

bool Connection::is_stopped() {
  if (!options_.stop || !options_.stop()) return false;
  if (stopped_ns_ == 0) stopped_ns_ = now_ns();
  return now_ns() - stopped_ns_ >= kMomentNs;
}

void Connection::pulse(std::uint64_t every_ms) {
  const std::uint64_t now = now_ns();
  if (gone_ || now - last_asked_ns_ < every_ms * kNsPerMs || asked_.size() >= kMostUnanswered)
    return;
  last_asked_ns_ = now;
  const std::uint64_t id = next_request_++;
  asked_[id] = {.at_ns = now, .is_awaited = false};
  if (!send(wire::make_frame(wire::number(Op::Status), id, wire::StatusRequest{}), now))
    asked_.erase(id);
}

Result<std::optional<wire::FrameBytes>> Connection::receive(std::uint64_t until_ns) {
  if (gone_) return tl::unexpected<Error>(*gone_);
  auto frame = link_->receive(until_ns);
  if (!frame) return gone(frame.error().text);
  return frame;
}

/// A notice goes to the news; anything else unasked for is what no server says.
Result<void> Connection::keep(const wire::Frame& frame) {
  const std::uint16_t op = frame.header.op;
  if (op == wire::number(wire::Notice::ServerRestarted)) {
    const auto body = wire::read_body<wire::RestartedNotice>(frame);
    if (!body) return gone(wire::text_of(body.error().text));
    news_.emplace_back(*body);
    if (meanwhile_.news) meanwhile_.news(news_.back());
    return {};
  }
  if (op != wire::number(wire::Notice::Revoked) && op != wire::number(wire::Notice::Expired))
    return gone(fmt::format("the server said op {:#06x} that nobody had asked for", op));
  const auto body = wire::read_body<wire::EndedNotice>(frame);
  if (!body) return gone(wire::text_of(body.error().text));
  news_.emplace_back(LeaseEnded{.notice = static_cast<wire::Notice>(op), .body = *body});
  if (meanwhile_.news) meanwhile_.news(news_.back());
  return {};
}

/// Whoever waits for it, and whatever it says: the server has read that request.
void Connection::note_answer(const wire::Frame& frame) {
  const auto asked = asked_.find(frame.header.request_id);
  if (asked != asked_.end()) answered_ns_ = std::max(answered_ns_, asked->second.at_ns);
}

bool Connection::is_late(const wire::Frame& frame) {
  const auto asked = asked_.find(frame.header.request_id);
  if (asked == asked_.end() || asked->second.is_awaited) return false;
  asked_.erase(asked);
  if (frame.header.op != wire::answer_to(Op::LeaseAlloc)) return true;
  if (const auto lease = wire::read_body<wire::AllocAnswer>(frame)) give_back(*lease);
  return true;
}

void Connection::give_back(const wire::AllocAnswer& lease) {
  const auto id =
      request(Op::LeaseRevoke, wire::RevokeRequest{.id = lease.id, .epoch = lease.epoch});
  if (id) asked_[*id].is_awaited = false;
}

tl::unexpected<Error> Connection::give_up(std::uint64_t request_id, Op op) {
  asked_[request_id].is_awaited = false;
  if (stopped_ns_ != 0)
    return fail(Errc::Timeout, fmt::format("{}: told to stop before it was answered; the server "
                                           "may carry it out all the same",
                                           wire::name(op)));
  return fail(Errc::Timeout,
              fmt::format("{}: no answer in {} ms", wire::name(op), options_.deadline_ms));
}

Result<wire::FrameBytes> Connection::await(std::uint64_t request_id, Op op) {
  const std::uint64_t until_ns = now_ns() + options_.deadline_ms * kNsPerMs;
  for (;;) {
    tell_waiting();
    PORTCULLIS_TRY_ASSIGN(auto bytes, receive(std::min(until_ns, now_ns() + kSliceNs)));
    const bool is_over = !bytes && (now_ns() >= until_ns || is_stopped());
    if (is_over) return give_up(request_id, op);
    if (!bytes) continue;
    const auto frame = wire::read_frame(*bytes);
    if (!frame) return gone(wire::text_of(frame.error().text));
    note_answer(*frame);
    const bool is_refusal = frame->header.op == wire::kRefused;
    // A refusal without a request is of the connection: a user whom nobody named, for one.
    if (is_refusal && (frame->header.request_id == request_id || frame->header.request_id == 0)) {
      const auto refusal = wire::read_body<wire::Refusal>(*frame);
      if (!refusal) return gone(wire::text_of(refusal.error().text));
      asked_.erase(request_id);
      return refused(*refusal);
    }
    if (frame->header.request_id == request_id && frame->header.op == wire::answer_to(op)) {
      asked_.erase(request_id);
      return *std::move(bytes);
    }
    if (is_late(*frame)) continue;
    PORTCULLIS_TRY(keep(*frame));
  }
}

template <class Answer, class Body>
Result<Answer> Connection::ask(Op op, const Body& body) {
  PORTCULLIS_TRY_ASSIGN(const auto request_id, request(op, body));
  PORTCULLIS_TRY_ASSIGN(const auto bytes, await(request_id, op));
  const auto answer = wire::read_body<Answer>(*wire::read_frame(bytes));
  if (!answer) return gone(wire::text_of(answer.error().text));
  return *answer;
}

Result<wire::AllocAnswer> Connection::alloc(const wire::AllocRequest& wanted) {
  return ask<wire::AllocAnswer>(Op::LeaseAlloc, wanted);
}
Result<wire::RenewAnswer> Connection::renew(const wire::RenewRequest& wanted) {
  return ask<wire::RenewAnswer>(Op::LeaseRenew, wanted);
}
Result<wire::ChallengeAnswer> Connection::challenge(const wire::ChallengeRequest& wanted) {
  auto answer = ask<wire::ChallengeAnswer>(Op::LeaseChallenge, wanted);
  if (!answer && answer.error().code == Errc::Unsupported) return wire::ChallengeAnswer{};
  return answer;
}
Result<wire::RevokeAnswer> Connection::revoke(const wire::RevokeRequest& wanted) {
  return ask<wire::RevokeAnswer>(Op::LeaseRevoke, wanted);
}
Result<wire::RevokeTenantAnswer> Connection::revoke_tenant(std::uint64_t tenant) {
  return ask<wire::RevokeTenantAnswer>(Op::RevokeTenant,
                                       wire::RevokeTenantRequest{.tenant = tenant});
}
Result<wire::WatchAnswer> Connection::watch(std::uint64_t tenant) {
  return ask<wire::WatchAnswer>(Op::LeaseWatch, wire::WatchRequest{.tenant = tenant});
}
Result<wire::StatusAnswer> Connection::status() {
  return ask<wire::StatusAnswer>(Op::Status, wire::StatusRequest{});
}

Result<std::vector<wire::LeaseRow>> Connection::list(std::uint64_t tenant) {
  std::vector<wire::LeaseRow> rows;
  wire::ListRequest wanted{.tenant = tenant};
  do {
    PORTCULLIS_TRY_ASSIGN(const auto request_id, request(Op::LeaseList, wanted));
    PORTCULLIS_TRY_ASSIGN(const auto bytes, await(request_id, Op::LeaseList));
    const auto part = wire::read_list(*wire::read_frame(bytes));
    if (!part) return gone(wire::text_of(part.error().text));
    if (part->next_cursor != 0 && part->next_cursor <= wanted.cursor)
      return gone("the server's list goes round in a circle");
    rows.insert(rows.end(), part->rows.begin(), part->rows.end());
    wanted.cursor = part->next_cursor;
  } while (wanted.cursor != 0);
  return rows;
}

Result<wire::History> Connection::history(const wire::HistoryRequest& wanted) {
  PORTCULLIS_TRY_ASSIGN(const auto request_id, request(Op::LeaseHistory, wanted));
  PORTCULLIS_TRY_ASSIGN(const auto bytes, await(request_id, Op::LeaseHistory));
  const auto history = wire::read_history(*wire::read_frame(bytes));
  if (!history) return gone(wire::text_of(history.error().text));
  return *history;
}

Result<std::optional<News>> Connection::next_news(std::uint64_t most_ms) {
  const std::uint64_t until_ns = now_ns() + most_ms * kNsPerMs;
  while (news_.empty()) {
    PORTCULLIS_TRY_ASSIGN(const auto bytes, receive(until_ns));
    if (!bytes) return std::nullopt;
    const auto frame = wire::read_frame(*bytes);
    if (!frame) return gone(wire::text_of(frame.error().text));
    note_answer(*frame);
    if (is_late(*frame)) continue;
    PORTCULLIS_TRY(keep(*frame));
  }
  std::optional<News> oldest(news_.front());
  news_.pop_front();
  return oldest;
}

}  // namespace portcullis::client
