// SPDX-License-Identifier: BSD-3-Clause
//
// Sessions without sockets, threads, device and file: a test says what comes, and sees what goes.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "service/daemon/sessions.hpp"
#include "wire/frame.hpp"

namespace portcullis::service::daemon {

class SessionWorld : public testing::Test {
 protected:
  static constexpr std::uint64_t kIncarnation = 42;
  static constexpr pmd::Gid kServer = pmd::Gid::from_ipv4(192, 0, 2, 1);

  void SetUp() override { start({}, {}); }

  void start(const Limits& limits, std::vector<PastEnding> past) {
    sessions = std::make_unique<Sessions>(
        Beginning{.incarnation = kIncarnation, .past = std::move(past)}, limits,
        Facts{.gid = kServer,
              .mac = {.octets = {2, 0, 0, 0, 0, 1}},
              .description = "a device",
              .is_emulated = true,
              .isolation = isolation},
        ports());
  }
  SessionPorts ports() {
    SessionPorts made{
        .ask = [this](Request request) { asked.push_back(std::move(request)); },
        .look_up = [this](const LookUp& wanted) { looked_up.push_back(wanted); },
        .send = [this](ConnectionId to,
                       const wire::FrameBytes& frame) { sent[to].push_back(frame); },
        .hang_up = [this](ConnectionId id) { hung_up.push_back(id); },
        .log = [this](std::string_view line) { logged.emplace_back(line); },
        .observer = {.refused = [this](wire::Code code) { refused_grants.push_back(code); }},
        .clock = Clock::simulated(&SessionWorld::now, this)};
    if (is_node) made.fenced = [this](TenantFenced each) { fenced.push_back(each); };
    if (is_node)
      made.want_share = [this](const fleet::ShareWanted& each) { shares_wanted.push_back(each); };
    return made;
  }
  static std::uint64_t now(const void* world) noexcept {
    return static_cast<const SessionWorld*>(world)->now_ns;
  }

  /// A connection that has not said HELLO.
  void open(ConnectionId id, std::uint64_t tenant = 7, wire::Role role = wire::Role::Client) {
    sessions->opened(id, {.tenant = tenant, .role = role, .peer = "a test"});
  }
  /// One that has, and whose answer has been taken.
  void greet(ConnectionId id, std::uint64_t tenant = 7, wire::Role role = wire::Role::Client) {
    open(id, tenant, role);
    say(id, wire::Op::Hello, wire::HelloRequest{});
    sent[id].clear();
  }

  template <class Body>
  std::uint64_t say(ConnectionId id, wire::Op op, const Body& body) {
    sessions->received(id, wire::make_frame(wire::number(op), ++last_request, body));
    if (has_room) give_shares();
    return last_request;
  }

  /// etcd has room for whatever is wanted.
  void give_shares() {
    for (; !shares_wanted.empty(); shares_wanted.pop_front())
      give_share(shares_wanted.front(), shares_wanted.front().most);
  }
  void give_share(const fleet::ShareWanted& to, const fleet::Amount& most, bool has_quota = false) {
    sessions->hear(fleet::ShareIs{
        .tenant = to.tenant, .number = to.number, .most = most, .has_quota = has_quota});
  }

  static wire::AllocRequest wanted() {
    return {.bytes = 4096,
            .gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 9},
            .mac = {2, 0, 0, 0, 0, 9},
            .qpn = 0x11};
  }
  /// The oldest request to the device that nobody has looked at; it must be of that kind.
  template <class T>
  T next_asked() {
    EXPECT_FALSE(asked.empty());
    T got = std::get<T>(asked.front());
    asked.pop_front();
    return got;
  }
  static lease::LeaseName name(std::uint64_t id) { return {.id = id, .epoch = id + 1000}; }

  /// The device and the journal have granted what was asked for last.
  void grant(std::uint64_t id) {
    const Alloc alloc = next_asked<Alloc>();
    hear_granted(alloc, id);
    sessions->hear(Recorded{.ticket = alloc.ticket, .done = {}});
  }
  void hear_granted(const Alloc& alloc, std::uint64_t id) {
    lease::Grant made{.lease = {.id = id, .epoch = id + 1000},
                      .qpn = prm::QpNumber{0x41},
                      .rkey = prm::Rkey{0xabcdef01},
                      .bytes = alloc.wanted.bytes,
                      .ack_timeout = alloc.wanted.ack_timeout,
                      .retry_count = alloc.wanted.retry_count};
    sessions->hear(Granted{
        .ticket = alloc.ticket,
        .record = {.name = name(id), .tenant = alloc.wanted.tenant, .bytes = alloc.wanted.bytes},
        .grant = made});
  }
  /// A lease that `id` holds, granted and answered.
  lease::LeaseName holds(ConnectionId id, std::uint64_t lease_id) {
    say(id, wire::Op::LeaseAlloc, wanted());
    grant(lease_id);
    sent[id].clear();
    return name(lease_id);
  }
  void end(lease::LeaseName of, std::uint64_t tenant = 7,
           wire::Outcome outcome = wire::Outcome::TornDown,
           wire::Cause cause = wire::Cause::Holder) {
    sessions->hear(Ended{{.name = of,
                          .tenant = tenant,
                          .unix_ms = 99,
                          .outcome = outcome,
                          .memory = wire::Memory::Mkey,
                          .cause = cause}});
  }

  /// Ops of what was sent to a connection, in order.
  std::vector<std::uint16_t> ops(ConnectionId id) {
    std::vector<std::uint16_t> found;
    for (const auto& frame : sent[id]) found.push_back(wire::read_frame(frame)->header.op);
    return found;
  }
  /// The last frame that was sent there, which must be of that body.
  template <class Body>
  Body last(ConnectionId id) {
    const auto frame = wire::read_frame(sent[id].back());
    return *wire::read_body<Body>(*frame);
  }
  wire::Refusal refusal(ConnectionId id) {
    EXPECT_EQ(ops(id).back(), wire::kRefused);
    return last<wire::Refusal>(id);
  }
  std::string refusal_text(ConnectionId id) { return wire::text_of(refusal(id).text); }

  std::uint64_t now_ns = 1'000'000'000;
  std::uint64_t last_request = 0;
  bool is_node = false;  // of a fleet
  std::optional<fleet::Isolation> isolation;
  std::vector<TenantFenced> fenced;
  std::deque<fleet::ShareWanted> shares_wanted;
  bool has_room = true;  // in each tenant's quota, and etcd says so at once
  std::deque<Request> asked;
  std::vector<LookUp> looked_up;
  std::map<ConnectionId, std::vector<wire::FrameBytes>> sent;
  std::vector<ConnectionId> hung_up;
  std::vector<std::string> logged;
  std::vector<wire::Code> refused_grants;  // as statistics hear of them
  std::unique_ptr<Sessions> sessions;
};

}  // namespace portcullis::service::daemon
