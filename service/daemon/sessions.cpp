// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "prm/enums.hpp"
#include "service/daemon/session_answers.hpp"

namespace portcullis::service::daemon {
namespace {

using wire::Code;
using wire::Op;
using wire::Role;

pmd::Gid gid_of(const wire::ByteArray<16>& bytes) {
  pmd::Gid gid;
  for (std::size_t i = 0; i < bytes.size(); ++i) gid.bytes[i] = std::byte{bytes[i]};
  return gid;
}
pmd::Mac mac_of(const wire::ByteArray<6>& bytes) { return {.octets = bytes}; }

constexpr std::uint32_t kMost24Bits = 0xffffff;
constexpr std::uint32_t kLeastQpn = 2;  // 0 and 1 are for management
constexpr std::uint8_t kEveryRight = wire::kMayWrite | wire::kMayRead | wire::kMayAtomic;

std::string out_of(const char* member, std::uint64_t value, std::uint64_t least,
                   std::uint64_t most) {
  return fmt::format("{} {}; {} to {} is accepted", member, value, least, most);
}

/// What no lease can have, whoever asks; none for what may be asked of the device.
std::optional<std::string> fault_of(const wire::AllocRequest& wanted, const Limits& limits,
                                    const pmd::Gid& own) {
  if (wanted.bytes == 0 || wanted.bytes > limits.lease_bytes)
    return out_of("bytes", wanted.bytes, 1, limits.lease_bytes);
  if (wanted.ttl_ms > limits.most_ttl_ms)
    return out_of("ttl_ms", wanted.ttl_ms, 0, limits.most_ttl_ms);
  if (wanted.qpn < kLeastQpn || wanted.qpn > kMost24Bits)
    return out_of("qpn", wanted.qpn, kLeastQpn, kMost24Bits);
  if (wanted.psn > kMost24Bits) return out_of("psn", wanted.psn, 0, kMost24Bits);
  if (wanted.ack_timeout == 0 || wanted.ack_timeout > 31)
    return out_of("ack_timeout", wanted.ack_timeout, 1, 31);
  if (wanted.retry_count > 7) return out_of("retry_count", wanted.retry_count, 0, 7);
  if (rest_ns_of(wanted) > limits.most_rest_ms * kNsPerMs)
    return fmt::format(
        "ack_timeout {} and retry_count {} let a number rest for {} ms; {} are "
        "accepted",
        wanted.ack_timeout, wanted.retry_count, rest_ns_of(wanted) / kNsPerMs, limits.most_rest_ms);
  if (wanted.mtu < 256 || wanted.mtu > 4096 || !std::has_single_bit(wanted.mtu))
    return fmt::format("mtu {}; 256, 512, 1024, 2048 or 4096 is accepted", wanted.mtu);
  if (wanted.access == 0 || (wanted.access & ~kEveryRight) != 0)
    return fmt::format("access {:#x}; bits 1 (write), 2 (read) and 4 (atomic) are accepted",
                       wanted.access);
  if (limits.challenge_ms != 0 && (wanted.access & wire::kMayWrite) == 0)
    return fmt::format("access {:#x}; bit 1 (write) is needed: this server's challenge is a WRITE",
                       wanted.access);
  const pmd::Gid gid = gid_of(wanted.gid);
  if (!gid.is_unicast()) return fmt::format("gid {}; a unicast address is accepted", gid.text());
  if (gid == own) return fmt::format("gid {} is the server's own", gid.text());
  if (gid.is_ipv4() != own.is_ipv4())
    return fmt::format("gid {}; the server has {}: an address of that family is accepted",
                       gid.text(), own.text());
  if (!mac_of(wanted.mac).is_unicast())
    return fmt::format("mac {}; a unicast address is accepted", mac_of(wanted.mac).text());
  return std::nullopt;
}

lease::GrantRequest request_of(const wire::AllocRequest& wanted, std::uint64_t tenant,
                               std::uint64_t ttl_ms) {
  return {.bytes = wanted.bytes,
          .peer = {.qpn = prm::QpNumber{wanted.qpn},
                   .psn = wanted.psn,
                   .gid = gid_of(wanted.gid),
                   .mac = mac_of(wanted.mac)},
          .access = {.local_write = true,
                     .remote_write = (wanted.access & wire::kMayWrite) != 0,
                     .remote_read = (wanted.access & wire::kMayRead) != 0,
                     .remote_atomic = (wanted.access & wire::kMayAtomic) != 0},
          .ack_timeout = wanted.ack_timeout,
          .retry_count = wanted.retry_count,
          .tenant = tenant,
          .ttl_ms = ttl_ms};
}

bool may_change(Role role) noexcept { return role != Role::Observer; }
bool sees_everything(Role role) noexcept { return role != Role::Client; }

}  // namespace

std::uint64_t charged_bytes(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kPageBytes = 4'096;
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

std::uint64_t rest_ns_of(const wire::AllocRequest& wanted) noexcept {
  return lease::number_rest_ns({}, wanted.ack_timeout, wanted.retry_count);
}

Sessions::Sessions(const Beginning& beginning, const Limits& limits, Facts facts,
                   SessionPorts ports)
    : incarnation_(beginning.incarnation),
      limits_(limits),
      facts_(std::move(facts)),
      ports_(std::move(ports)),
      book_(beginning.past),
      started_ns_(ports_.clock.now_ns()) {}

void Sessions::opened(ConnectionId connection, Identity identity) {
  connections_[connection].identity = std::move(identity);
}

void Sessions::closed(ConnectionId connection) {
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  const std::uint64_t tenant = at->second.identity.tenant;
  connections_.erase(at);
  watchers_.erase(connection);
  // Whoever held them may come back and renew; until then they live so long and no longer.
  for (BookedLease* lease : book_.held_at(connection, tenant)) {
    lease->leave(connection);
    shorten_orphan(*lease);
  }
}

void Sessions::finished(ConnectionId connection) {
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  at->second.has_finished = true;
  if (at->second.under_way == 0) ports_.hang_up(connection);
}

void Sessions::send_answer(ConnectionId connection, wire::FrameBytes frame) {
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  if (at->second.under_way > 0) --at->second.under_way;
  ports_.send(connection, std::move(frame));
  if (at->second.has_finished && at->second.under_way == 0) ports_.hang_up(connection);
}

/// A renewal that is under way was asked of the device before this would be, which would undo it
/// behind an answer that says otherwise: what it comes to is looked at when it is answered.
void Sessions::shorten_orphan(BookedLease& lease) {
  const std::uint64_t orphan_ns = limits_.orphan_ms * kNsPerMs;
  if (!lease.is_orphan() || !lease.is_recorded || lease.is_revoking ||
      lease.ends_ns <= now_ns() + orphan_ns)
    return;
  lease.ends_ns = now_ns() + orphan_ns;
  ports_.ask(Renew{.ticket = 0,
                   .name = lease.record.name,
                   .ttl_ms = std::max<std::uint64_t>(limits_.orphan_ms, 1)});
}

void Sessions::received(ConnectionId connection, std::span<const std::byte> bytes) {
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  const auto frame = wire::read_frame(bytes);
  wire::Frame nothing{};
  if (bytes.size() >= wire::kBytes<wire::Header>)  // whoever asked finds its request again
    nothing.header = *wire::decode<wire::Header>(bytes.first<wire::kBytes<wire::Header>>());
  Asking asking{.id = connection, .connection = &at->second, .frame = &nothing};
  if (!frame) {
    refuse(asking, frame.error());
    ports_.hang_up(connection);
    return;
  }
  asking.frame = &*frame;
  handle(asking);
}

void Sessions::handle(const Asking& asking) {
  const std::uint16_t op = asking.frame->header.op;
  if (!wire::is_known_op(op))
    return refuse(asking, Code::UnknownOp, fmt::format("op {:#06x} is no request", op));
  if ((op == number(Op::Hello)) == asking.connection->has_greeted)
    return refuse(asking, Code::HelloFirst, "HELLO comes first, and once");
  if (asking.connection->under_way >= limits_.requests)
    return refuse(asking, Code::Busy,
                  fmt::format("{} requests are under way on this connection, the most that are "
                              "accepted",
                              asking.connection->under_way));
  switch (static_cast<Op>(op)) {
    case Op::Hello:
      return hello(asking);
    case Op::LeaseAlloc:
      return alloc(asking);
    case Op::LeaseRenew:
      return renew(asking);
    case Op::LeaseList:
      return list(asking);
    case Op::LeaseWatch:
      return watch(asking);
    case Op::Status:
      return status(asking);
    case Op::LeaseHistory:
      return history(asking);
    case Op::LeaseChallenge:
      return challenge(asking);
    case Op::LeaseRevoke:
      return revoke(asking);
    case Op::RevokeTenant:
      return revoke_tenant(asking);
  }
}

void Sessions::hello(const Asking& asking) {
  const auto body = body_of<wire::HelloRequest>(asking);
  if (!body) return;
  if (!wire::is_text(body->client_name))
    return refuse(asking, Code::InvalidValue,
                  "client_name; printable ASCII is accepted, then zeros");
  asking.connection->has_greeted = true;
  asking.connection->name = wire::text_of(body->client_name);
  reply(asking, Op::Hello,
        wire::HelloAnswer{.incarnation = incarnation_,
                          .tenant = asking.connection->identity.tenant,
                          .most_bytes = limits_.lease_bytes,
                          .default_ttl_ms = limits_.default_ttl_ms,
                          .most_ttl_ms = limits_.most_ttl_ms,
                          .orphan_ms = limits_.orphan_ms,
                          .most_leases = limits_.tenant_leases,
                          .role = asking.connection->identity.role});
  if (body->known_incarnation != 0 && body->known_incarnation != incarnation_)
    tell_of_restart(asking, body->known_incarnation);
}

void Sessions::tell_of_restart(const Asking& asking, std::uint64_t known) {
  ports_.send(asking.id, wire::make_notice(wire::Notice::ServerRestarted,
                                           wire::RestartedNotice{.incarnation = incarnation_,
                                                                 .known_incarnation = known}));
  for (const Ending& each : book_.ended_with(known, asking.connection->identity.tenant))
    ports_.send(asking.id, notice_of(each));
}

std::optional<wire::Refusal> Sessions::state_objection(std::uint16_t op) const {
  if (is_ending_) return wire::refusal(Code::Ending, op, "the server is ending");
  if (counts_.is_lost)
    return wire::refusal(Code::Unavailable, op, "the device is lost; nothing is granted");
  if (is_journal_lost_)
    return wire::refusal(Code::Unavailable, op,
                         "the journal cannot be written; nothing is granted until it can");
  return std::nullopt;
}

std::optional<wire::Refusal> Sessions::objection(const Identity& identity,
                                                 const wire::AllocRequest& wanted) {
  book_.settle(now_ns());
  const std::uint16_t op = number(Op::LeaseAlloc);
  if (!may_change(identity.role))
    return wire::refusal(Code::NotAllowed, op, "an observer is granted nothing");
  if (auto state = state_objection(op)) return state;
  if (auto fleet = fleet_objection(op, identity.tenant)) return fleet;
  if (const auto fault = fault_of(wanted, limits_, facts_.gid))
    return wire::refusal(Code::InvalidValue, op, *fault);
  return limit_objection(op, identity.tenant, charged_bytes(wanted.bytes));
}

std::optional<wire::Refusal> Sessions::limit_objection(std::uint16_t op, std::uint64_t tenant,
                                                       std::uint64_t more) const {
  const auto use = book_.use_of(tenant);
  if (use.leases >= limits_.tenant_leases)
    return wire::refusal(Code::Limit, op,
                         fmt::format("{} leases of the tenant are held or rest; at most {} are "
                                     "accepted",
                                     use.leases, limits_.tenant_leases));
  if (use.bytes + more > limits_.tenant_bytes)
    return wire::refusal(Code::Limit, op,
                         fmt::format("{} bytes of the tenant and {} more; at most {} are accepted",
                                     use.bytes, more, limits_.tenant_bytes));
  if (facts_.memory_bytes != 0 && book_.bytes() + more > facts_.memory_bytes)
    return wire::refusal(Code::NoResources, op, "the server gives no more memory to leases");
  return std::nullopt;
}

void Sessions::alloc(const Asking& asking) {
  const auto wanted = body_of<wire::AllocRequest>(asking);
  if (!wanted) return;
  if (const auto why = objection(asking.connection->identity, *wanted)) return refuse(asking, *why);
  ++asking.connection->under_way;
  const WantedAlloc asked{.connection = asking.id,
                          .request_id = asking.frame->header.request_id,
                          .wanted = *wanted,
                          .tenant = asking.connection->identity.tenant};
  if (is_node()) return start_or_wait(asked);
  start_alloc(asked);
}

void Sessions::start_alloc(const WantedAlloc& from) {
  const wire::AllocRequest& wanted = from.wanted;
  const std::uint64_t ttl_ms = wanted.ttl_ms == 0 ? limits_.default_ttl_ms : wanted.ttl_ms;
  const std::uint64_t bytes = charged_bytes(wanted.bytes);
  const Ticket ticket = next_ticket_++;
  asked_.emplace(ticket, AskedAlloc{.connection = from.connection,
                                    .request_id = from.request_id,
                                    .wanted = wanted,
                                    .tenant = from.tenant,
                                    .ttl_ms = ttl_ms,
                                    .charged_bytes = bytes,
                                    .fence_epoch = epoch_of(from.tenant),
                                    .answer = {}});
  book_.note_asked(from.tenant, bytes);
  if (is_node()) charge_share(from.tenant, bytes);
  ports_.ask(Alloc{.ticket = ticket, .wanted = request_of(wanted, from.tenant, ttl_ms)});
}

bool Sessions::may_see(const Asking& asking, std::uint64_t tenant) const noexcept {
  const Identity& identity = asking.connection->identity;
  return sees_everything(identity.role) || identity.tenant == tenant;
}

BookedLease* Sessions::visible(const Asking& asking, lease::LeaseName name) {
  BookedLease* lease = book_.find(name);
  if (lease == nullptr || !may_see(asking, lease->record.tenant)) return nullptr;
  return lease->is_recorded ? lease : nullptr;  // its name has been told to nobody
}

void Sessions::renew(const Asking& asking) {
  const auto wanted = body_of<wire::RenewRequest>(asking);
  if (!wanted) return;
  if (!may_change(asking.connection->identity.role))
    return refuse(asking, Code::NotAllowed, "an observer renews nothing");
  if (wanted->ttl_ms > limits_.most_ttl_ms)
    return refuse(asking, Code::InvalidValue,
                  out_of("ttl_ms", wanted->ttl_ms, 0, limits_.most_ttl_ms));
  const lease::LeaseName name{.id = wanted->id, .epoch = wanted->epoch};
  BookedLease* lease = visible(asking, name);
  if (lease == nullptr || lease->is_revoking || lease->fenced || is_ending_)
    return refuse(asking, Code::NotFound, "there is no such lease to renew");
  if (const auto why = renewal_objection()) return refuse(asking, *why);
  lease->renewing.push_front(asking.id);
  const bool is_own = asking.connection->identity.tenant == lease->record.tenant;
  const std::uint64_t ttl_ms = wanted->ttl_ms == 0 ? limits_.default_ttl_ms : wanted->ttl_ms;
  const Ticket ticket = next_ticket_++;
  renewals_.emplace(ticket, AskedRenew{.connection = asking.id,
                                       .request_id = asking.frame->header.request_id,
                                       .name = name,
                                       .ttl_ms = ttl_ms,
                                       .is_own = is_own});
  ++asking.connection->under_way;
  ports_.ask(Renew{.ticket = ticket, .name = name, .ttl_ms = ttl_ms});
}

void Sessions::start_revoke(BookedLease& lease, wire::Cause cause, wire::Plan plan) {
  if (lease.is_revoking) return;
  lease.is_revoking = true;
  lease.plan = plan;
  ports_.ask(Revoke{.names = {lease.record.name}, .cause = cause, .plan = plan});
}

void Sessions::revoke(const Asking& asking) {
  const auto wanted = body_of<wire::RevokeRequest>(asking);
  if (!wanted) return;
  const Identity& identity = asking.connection->identity;
  if (!may_change(identity.role))
    return refuse(asking, Code::NotAllowed, "an observer revokes nothing");
  if (!wire::is_known(wanted->plan))
    return refuse(asking, Code::InvalidValue,
                  out_of("plan", static_cast<std::uint64_t>(wanted->plan), 0, 5));
  // It rests no number, which whoever gets that next would have to bear.
  if (wanted->plan == wire::Plan::Legacy && identity.role != Role::Operator)
    return refuse(asking, Code::NotAllowed, "plan legacy is for operators");
  const lease::LeaseName name{.id = wanted->id, .epoch = wanted->epoch};
  Waiter waiter{
      .connection = asking.id, .request_id = asking.frame->header.request_id, .asked_ns = now_ns()};
  ++asking.connection->under_way;
  if (BookedLease* lease = visible(asking, name); lease != nullptr) {
    if (lease->fenced) return answer(waiter, *lease->fenced);
    lease->waiters.push_front(std::move(waiter));
    const bool is_own = lease->record.tenant == identity.tenant;
    start_revoke(*lease, is_own ? wire::Cause::Holder : wire::Cause::Operator, wanted->plan);
    return;
  }
  const Ending* past = book_.past(name);
  if (past != nullptr && may_see(asking, past->tenant)) return answer(waiter, *past);
  answer(waiter, Ending{.name = name, .outcome = wire::Outcome::NotFound});
}

void Sessions::revoke_tenant(const Asking& asking) {
  const auto wanted = body_of<wire::RevokeTenantRequest>(asking);
  if (!wanted) return;
  const Identity& identity = asking.connection->identity;
  if (!may_change(identity.role) || !may_see(asking, wanted->tenant))
    return refuse(asking, Code::NotAllowed, "an operator, or a client of that tenant, may");
  if (wanted->tenant == wire::kEveryTenant)
    return refuse(asking, Code::InvalidValue, "tenant: one at a time is accepted");
  const auto held = book_.held_by(wanted->tenant);
  auto all = std::make_shared<TenantRevoke>();
  *all = {.connection = asking.id,
          .request_id = asking.frame->header.request_id,
          .asked_ns = now_ns(),
          .left = static_cast<std::uint32_t>(held.size())};
  if (held.empty()) return reply(asking, Op::RevokeTenant, wire::RevokeTenantAnswer{});
  ++asking.connection->under_way;
  Revoke batch{
      .names = {},
      .cause = identity.tenant == wanted->tenant ? wire::Cause::Holder : wire::Cause::Operator};
  for (BookedLease* lease : held) {
    lease->waiters.push_front({.asked_ns = all->asked_ns, .tenant = all});
    if (!std::exchange(lease->is_revoking, true)) batch.names.push_back(lease->record.name);
  }
  if (!batch.names.empty()) ports_.ask(std::move(batch));
}

void Sessions::watch(const Asking& asking) {
  const auto wanted = body_of<wire::WatchRequest>(asking);
  if (!wanted) return;
  if (!may_see(asking, wanted->tenant))
    return refuse(asking, Code::NotAllowed, "a client watches its own tenant");
  if (const auto before = watchers_.find(asking.id); before != watchers_.end())
    for (const Untold& each : untold_)  // what it has watched until now it hears of
      if (each.last < asking.id && each.is_for(asking.id, before->second))
        ports_.send(asking.id, notice_of(each.ending));
  watchers_[asking.id] = {.tenant = wanted->tenant, .since = ended_};
  reply(asking, Op::LeaseWatch, wire::WatchAnswer{.incarnation = incarnation_});
}

void Sessions::list(const Asking& asking) {
  const auto wanted = body_of<wire::ListRequest>(asking);
  if (!wanted) return;
  if (!may_see(asking, wanted->tenant))
    return refuse(asking, Code::NotAllowed, "a client lists its own tenant");
  const std::uint64_t now = now_ns();
  std::vector<wire::LeaseRow> rows;
  for (const BookedLease* lease : book_.rows(wanted->tenant, wanted->cursor, wire::kMostRows)) {
    wire::LeaseRow row{.id = lease->record.name.id,
                       .epoch = lease->record.name.epoch,
                       .tenant = lease->record.tenant,
                       .bytes = lease->record.bytes,
                       .age_ms = (now - lease->granted_ns) / kNsPerMs};
    row.state = lease->is_revoking ? wire::State::Revoking : wire::State::Active;
    if (lease->ends_ns > now) row.left_ms = (lease->ends_ns - now + kNsPerMs - 1) / kNsPerMs;
    if (lease->fenced) {
      row.state = wire::State::Fenced;
      row.failed_mask = lease->fenced->failed_mask;
      row.outcome = lease->fenced->outcome;
      row.memory = lease->fenced->memory;
      row.cause = lease->fenced->cause;
    }
    rows.push_back(row);
  }
  const std::uint64_t next = rows.size() == wire::kMostRows ? rows.back().id : 0;
  ports_.send(asking.id, wire::make_list(asking.frame->header.request_id, next, rows));
}

void Sessions::history(const Asking& asking) {
  const auto wanted = body_of<wire::HistoryRequest>(asking);
  if (!wanted) return;
  if (!may_see(asking, wanted->tenant))
    return refuse(asking, Code::NotAllowed, "a client looks at its own tenant's past");
  if (wanted->fenced_only > 1)
    return refuse(asking, Code::InvalidValue, out_of("fenced_only", wanted->fenced_only, 0, 1));
  const Ticket ticket = next_ticket_++;
  lookups_.emplace(
      ticket, AskedHistory{.connection = asking.id, .request_id = asking.frame->header.request_id});
  ++asking.connection->under_way;
  ports_.look_up({.ticket = ticket, .wanted = *wanted});
}

void Sessions::status(const Asking& asking) {
  const auto wanted = body_of<wire::StatusRequest>(asking);
  if (!wanted) return;
  if (wanted->flags != 0)
    return refuse(asking, Code::InvalidValue,
                  fmt::format("flags {:#x}; 0 is accepted", wanted->flags));
  wire::StatusAnswer answer{.incarnation = incarnation_,
                            .uptime_ms = (now_ns() - started_ns_) / kNsPerMs};
  if (sees_everything(asking.connection->identity.role)) {
    answer.granted = granted_;
    answer.torn_down = torn_down_;
    answer.fenced = fenced_;
    answer.longest_revoke_us = longest_revoke_us_;
    answer.slots = counts_.slots;
    answer.held = static_cast<std::uint32_t>(book_.held());
    answer.resting = counts_.resting;
    answer.out = counts_.out;
    answer.connections = static_cast<std::uint32_t>(connections_.size());
  } else {  // what others do is not the asker's business
    const std::uint64_t tenant = asking.connection->identity.tenant;
    answer.slots = limits_.tenant_leases;
    answer.held = static_cast<std::uint32_t>(book_.held_by(tenant).size());
  }
  answer.flags = (counts_.is_lost ? wire::kDeviceLost : 0) |
                 (is_journal_lost_ ? wire::kJournalLost : 0) |
                 (facts_.is_emulated ? wire::kEmulated : 0) | (is_ending_ ? wire::kIsEnding : 0);
  wire::put_text(answer.device, facts_.description);
  reply(asking, Op::Status, answer);
}

/// A grant that is refused is counted whatever for: not greeted, too many under way, malformed.
void Sessions::refuse(const Asking& asking, const wire::Refusal& refusal) {
  const bool is_grant = asking.frame->header.op == number(Op::LeaseAlloc);
  if (is_grant && ports_.observer.refused) ports_.observer.refused(refusal.code);
  ports_.send(asking.id,
              wire::make_frame(wire::kRefused, asking.frame->header.request_id, refusal));
}

void Sessions::refuse(const Asking& asking, Code code, const std::string& text) {
  refuse(asking, wire::refusal(code, asking.frame->header.op, text));
}

}  // namespace portcullis::service::daemon
