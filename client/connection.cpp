// SPDX-License-Identifier: BSD-3-Clause
#include "client/connection.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/clock.hpp"

namespace portcullis::client {
namespace {

using wire::Op;

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
  PORTCULLIS_TRY_ASSIGN(auto link, Link::open(server, until_ns));
  Connection connection(std::move(link), options);
  const std::uint64_t now = now_ns();
  connection.options_.deadline_ms = now < until_ns ? (until_ns - now) / kNsPerMs + 1 : 1;
  PORTCULLIS_TRY(connection.greet());
  connection.options_.deadline_ms = options.deadline_ms;
  return connection;
}

Result<void> Connection::greet() {
  wire::HelloRequest hello{.known_incarnation = options_.known_incarnation};
  wire::put_text(hello.client_name, options_.name);
  PORTCULLIS_TRY_ASSIGN(server_, ask<wire::HelloAnswer>(Op::Hello, hello));
  return {};
}

Result<void> Connection::send(const wire::FrameBytes& frame) {
  if (gone_) return tl::unexpected<Error>(*gone_);
  auto sent = link_->send(frame, now_ns() + options_.deadline_ms * kNsPerMs);
  if (!sent && sent.error().code == Errc::DeviceGone) return gone(sent.error().text);
  return sent;
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
    return {};
  }
  if (op != wire::number(wire::Notice::Revoked) && op != wire::number(wire::Notice::Expired))
    return gone(fmt::format("the server said op {:#06x} that nobody had asked for", op));
  const auto body = wire::read_body<wire::EndedNotice>(frame);
  if (!body) return gone(wire::text_of(body.error().text));
  news_.emplace_back(LeaseEnded{.notice = static_cast<wire::Notice>(op), .body = *body});
  return {};
}

bool Connection::is_late(const wire::Frame& frame) {
  if (given_up_.erase(frame.header.request_id) == 0) return false;
  if (frame.header.op != wire::answer_to(Op::LeaseAlloc)) return true;
  const auto lease = wire::read_body<wire::AllocAnswer>(frame);
  if (!lease) return true;
  const std::uint64_t request_id = next_request_++;
  given_up_.insert(request_id);
  (void)send(wire::make_frame(wire::number(Op::LeaseRevoke), request_id,
                              wire::RevokeRequest{.id = lease->id, .epoch = lease->epoch}));
  return true;
}

Result<wire::FrameBytes> Connection::await(std::uint64_t request_id, Op op) {
  const std::uint64_t until_ns = now_ns() + options_.deadline_ms * kNsPerMs;
  for (;;) {
    PORTCULLIS_TRY_ASSIGN(auto bytes, receive(until_ns));
    if (!bytes && now_ns() < until_ns) continue;
    if (!bytes) {
      given_up_.insert(request_id);
      return fail(Errc::Timeout,
                  fmt::format("{}: no answer in {} ms", wire::name(op), options_.deadline_ms));
    }
    const auto frame = wire::read_frame(*bytes);
    if (!frame) return gone(wire::text_of(frame.error().text));
    const bool is_refusal = frame->header.op == wire::kRefused;
    // A refusal without a request is of the connection: a user whom nobody named, for one.
    if (is_refusal && (frame->header.request_id == request_id || frame->header.request_id == 0)) {
      const auto refusal = wire::read_body<wire::Refusal>(*frame);
      if (!refusal) return gone(wire::text_of(refusal.error().text));
      return refused(*refusal);
    }
    if (frame->header.request_id == request_id && frame->header.op == wire::answer_to(op))
      return *std::move(bytes);
    if (is_late(*frame)) continue;
    PORTCULLIS_TRY(keep(*frame));
  }
}

template <class Answer, class Body>
Result<Answer> Connection::ask(Op op, const Body& body) {
  const std::uint64_t request_id = next_request_++;
  PORTCULLIS_TRY(send(wire::make_frame(wire::number(op), request_id, body)));
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
    const std::uint64_t request_id = next_request_++;
    PORTCULLIS_TRY(send(wire::make_frame(wire::number(Op::LeaseList), request_id, wanted)));
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

Result<std::optional<News>> Connection::next_news(std::uint64_t most_ms) {
  const std::uint64_t until_ns = now_ns() + most_ms * kNsPerMs;
  while (news_.empty()) {
    PORTCULLIS_TRY_ASSIGN(const auto bytes, receive(until_ns));
    if (!bytes) return std::nullopt;
    const auto frame = wire::read_frame(*bytes);
    if (!frame) return gone(wire::text_of(frame.error().text));
    if (is_late(*frame)) continue;
    PORTCULLIS_TRY(keep(*frame));
  }
  std::optional<News> oldest(news_.front());
  news_.pop_front();
  return oldest;
}

}  // namespace portcullis::client
