// SPDX-License-Identifier: BSD-3-Clause
//
// The other half of Sessions: what the device's thread and the journal tell, and who hears of it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "prm/enums.hpp"
#include "service/daemon/session_answers.hpp"
#include "service/daemon/sessions.hpp"

namespace portcullis::service::daemon {
namespace {

using wire::Code;
using wire::Op;

wire::Code code_of(const Error& error) noexcept {
  switch (error.code) {
    case Errc::InvalidArgument:
      return Code::InvalidValue;
    case Errc::OutOfResources:
      return Code::NoResources;
    case Errc::Busy:
    case Errc::Timeout:
      return Code::Busy;
    default:
      return Code::Unavailable;
  }
}

/// What a client is told of a grant that failed. The device's own words name slots, numbers and
/// counts of others; they go to the log.
std::string told_of(wire::Code code) {
  switch (code) {
    case Code::NoResources:
      return "the server has no slot or no memory left";
    case Code::Busy:
      return "the device is busy, or did not answer in time; again later";
    case Code::InvalidValue:
      return "the device does not take these values";
    default:
      return "the device did not grant it";
  }
}

wire::AllocAnswer answer_of(const lease::Grant& grant, const Facts& facts,
                            const wire::AllocRequest& wanted, std::uint64_t ttl_ms) {
  wire::AllocAnswer answer{.id = grant.lease.id,
                           .epoch = grant.lease.epoch,
                           .address = grant.address,
                           .bytes = grant.bytes,
                           .ttl_ms = ttl_ms};
  for (std::size_t i = 0; i < answer.gid.size(); ++i)
    answer.gid[i] = static_cast<std::uint8_t>(facts.gid.bytes[i]);
  answer.mac = facts.mac.octets;
  answer.mtu =
      static_cast<std::uint16_t>(std::min<std::uint32_t>(prm::bytes_of(grant.mtu), wanted.mtu));
  answer.qpn = prm::number(grant.qpn);
  answer.psn = grant.psn;
  answer.rkey = prm::number(grant.rkey);
  answer.ack_timeout = grant.ack_timeout;
  answer.retry_count = grant.retry_count;
  answer.access = wanted.access;
  return answer;
}

}  // namespace

wire::FrameBytes notice_of(const Ending& ending) {
  const wire::EndedNotice body{.id = ending.name.id,
                               .epoch = ending.name.epoch,
                               .tenant = ending.tenant,
                               .unix_ms = ending.unix_ms,
                               .failed_mask = ending.failed_mask,
                               .outcome = ending.outcome,
                               .memory = ending.memory,
                               .cause = ending.cause};
  const bool by_time = ending.cause == wire::Cause::Expired;
  return wire::make_notice(by_time ? wire::Notice::Expired : wire::Notice::Revoked, body);
}

void Sessions::hear(const Event& event) {
  struct Hear {
    Sessions& to;
    void operator()(const Granted& each) const { to.hear_granted(each); }
    void operator()(const NotGranted& each) const { to.hear_not_granted(each); }
    void operator()(const Renewed& each) const { to.hear_renewed(each); }
    void operator()(const Ended& each) const { to.hear_ended(each.ending); }
    void operator()(const ChallengeMet& each) const { to.hear_challenge_met(each); }
  };
  std::visit(Hear{*this}, event);
}

void Sessions::hear_granted(const Granted& granted) {
  const auto at = asked_.find(granted.ticket);
  if (at == asked_.end()) return;
  AskedAlloc& asked = at->second;
  asked.name = granted.record.name;
  // Told or not, it will have an outcome, which is counted too.
  ++granted_;
  if (ports_.observer.granted) ports_.observer.granted();
  asked.answer = answer_of(granted.grant, facts_, asked.wanted, asked.ttl_ms);
  book_.note_refused(asked.tenant, asked.charged_bytes);
  book_.note_asked(asked.tenant, granted.record.bytes);
  if (is_node()) {
    uncharge_share(asked.tenant, asked.charged_bytes);
    charge_share(asked.tenant, granted.record.bytes);
  }
  BookedLease& lease =
      book_.enter({.record = granted.record,
                   .holders = {asked.connection},
                   .granted_ns = now_ns(),
                   .ends_ns = now_ns() + asked.ttl_ms * kNsPerMs,
                   .rest_ns = lease::number_rest_ns(facts_.rest, asked.wanted.ack_timeout,
                                                    asked.wanted.retry_count),
                   .fence_epoch = asked.fence_epoch});
  if (is_ending_) start_revoke(lease, wire::Cause::Server, wire::Plan::Default);
  if (is_cut_off(asked.tenant)) start_revoke(lease, wire::Cause::Server, wire::Plan::Default);
  if (lease.fence_epoch < epoch_of(asked.tenant))  // raised while the device was at it
    start_revoke(lease, wire::Cause::Operator, wire::Plan::Default);
}

void Sessions::hear_not_granted(const NotGranted& refused) {
  const auto at = asked_.find(refused.ticket);
  if (at == asked_.end()) return;
  const AskedAlloc asked = at->second;
  asked_.erase(at);
  book_.note_refused(asked.tenant, asked.charged_bytes);
  if (is_node()) uncharge_share(asked.tenant, asked.charged_bytes);
  note_gone(asked.tenant, asked.fence_epoch, false);
  const wire::Code code = code_of(refused.why);
  if (ports_.observer.refused) ports_.observer.refused(code);
  // The first and then every thousandth: whoever is refused may ask again at once.
  if (refused_++ % 1000 == 0 && ports_.log)
    ports_.log(fmt::format("a grant was refused ({} so far): {}", refused_, refused.why.text));
  refuse_later(asked.connection, asked.request_id, Op::LeaseAlloc, code, told_of(code));
}

void Sessions::hear(const Recorded& recorded) {
  const auto at = asked_.find(recorded.ticket);
  if (at == asked_.end()) return;
  const AskedAlloc asked = at->second;
  asked_.erase(at);
  BookedLease* lease = book_.find(asked.name);
  if (lease != nullptr) lease->is_recorded = recorded.done.has_value();
  const bool is_fenced =
      lease != nullptr && (lease->fence_epoch < epoch_of(asked.tenant) || is_cut_off(asked.tenant));
  if (is_fenced) lease->holders.clear();  // whoever asked for it hears of no lease
  if (asked.has_ended || lease == nullptr || !asked.answer || is_fenced)
    return refuse_later(asked.connection, asked.request_id, Op::LeaseAlloc, Code::Busy,
                        "the lease was revoked before it could be told of");
  if (!recorded.done) {
    start_revoke(*lease, wire::Cause::Server, wire::Plan::Default);
    return refuse_later(asked.connection, asked.request_id, Op::LeaseAlloc, Code::Unavailable,
                        "the journal cannot be written; nothing is granted until it can");
  }
  if (!connections_.contains(asked.connection)) {  // gone, and knows of nothing
    lease->holders.clear();
    return start_revoke(*lease, wire::Cause::Server, wire::Plan::Default);
  }
  if (const auto begun = begin_challenge(*lease, asked.wanted.access); !begun) {
    if (ports_.log) ports_.log("no challenge can be drawn: " + begun.error().text);
    lease->holders.clear();  // nobody was told of it
    start_revoke(*lease, wire::Cause::Server, wire::Plan::Default);
    return refuse_later(asked.connection, asked.request_id, Op::LeaseAlloc, Code::Unavailable,
                        "the server has no random number for a challenge");
  }
  reply_later(asked.connection, asked.request_id, Op::LeaseAlloc, *asked.answer);
}

void Sessions::hear(const Looked& looked) {
  const auto at = lookups_.find(looked.ticket);
  if (at == lookups_.end()) return;
  const AskedHistory asked = at->second;
  lookups_.erase(at);
  if (!looked.found) {
    // The first and then every thousandth: whoever is refused may ask again at once.
    if (not_found_++ % 1000 == 0 && ports_.log)
      ports_.log(fmt::format("a look at the past was refused ({} so far): {}", not_found_,
                             looked.found.error().text));
    return refuse_later(asked.connection, asked.request_id, Op::LeaseHistory, Code::Unavailable,
                        "the server's journal cannot be read, or there is none");
  }
  const wire::HistoryAnswer head{.from_unix_ms = looked.found->from_unix_ms,
                                 .has_more = static_cast<std::uint8_t>(looked.found->has_more)};
  send_answer(asked.connection, wire::make_history(asked.request_id, head, looked.found->rows));
}

void Sessions::hear_renewed(const Renewed& renewed) {
  const auto at = renewals_.find(renewed.ticket);
  if (at == renewals_.end()) return;  // a holder went, and nobody waits
  const AskedRenew asked = at->second;
  renewals_.erase(at);
  BookedLease* lease = book_.find(asked.name);
  const bool is_done = renewed.done && lease != nullptr && !lease->fenced;
  if (lease != nullptr) lease->note_renewed(asked.connection);
  if (is_done) lease->ends_ns = now_ns() + asked.ttl_ms * kNsPerMs;
  // A client that came back may be here before the server has seen its first connection end: each
  // that renews holds, and the last one's end makes an orphan of the lease.
  if (is_done && asked.is_own && connections_.contains(asked.connection))
    lease->holders.insert(asked.connection);
  // Who renewed it, or held it meanwhile, may have gone since. What an operator of another tenant
  // has put off stays so: that is nobody's who could go.
  if (lease != nullptr && (asked.is_own || !is_done)) shorten_orphan(*lease);
  if (!is_done)
    return refuse_later(asked.connection, asked.request_id, Op::LeaseRenew, Code::NotFound,
                        "there is no such lease to renew");
  reply_later(asked.connection, asked.request_id, Op::LeaseRenew,
              wire::RenewAnswer{.ttl_ms = asked.ttl_ms});
}

void Sessions::hear_ended(const Ending& ending) {
  auto was = book_.end(ending, incarnation_, now_ns());
  if (!was) return;
  was->waiters.reverse();  // who asked first is told first
  ++(ending.outcome == wire::Outcome::Fenced ? fenced_ : torn_down_);
  // What nothing proves stays the tenant's, for its client may write there still.
  const bool is_proved =
      ending.outcome == wire::Outcome::TornDown || ending.memory != wire::Memory::Unproved;
  if (is_node() && is_proved) uncharge_share(was->record.tenant, was->record.bytes);
  if (ports_.observer.ended) {
    std::optional<std::uint64_t> revoke_ns;
    if (!was->waiters.empty()) revoke_ns = now_ns() - was->waiters.front().asked_ns;
    ports_.observer.ended(ending, was->plan, revoke_ns);
  }
  if (!was->is_recorded) {
    for (auto& [ticket, asked] : asked_)
      if (asked.name == ending.name) asked.has_ended = true;
  } else {
    notify(ending, was->holders);
  }
  for (const Waiter& waiter : was->waiters) answer(waiter, ending);
  note_gone(was->record.tenant, was->fence_epoch, ending.outcome == wire::Outcome::TornDown);
}

/// Holders at once. Watchers may be thousands, and a thousand leases may end together: whoever
/// waits for an outcome does not wait for all of that.
void Sessions::notify(const Ending& ending, const Connections& holders) {
  for (const ConnectionId id : holders)
    if (connections_.contains(id)) ports_.send(id, notice_of(ending));
  ++ended_;
  if (watchers_.empty()) return;
  untold_.push_back({.number = ended_, .ending = ending, .holders = holders});
  tell_watchers();
}

bool Sessions::Untold::is_for(ConnectionId id, const Watch& watch) const {
  return watch.since < number && !holders.contains(id) &&
         (watch.tenant == wire::kEveryTenant || watch.tenant == ending.tenant);
}

bool Sessions::tell_watchers() {
  constexpr int kAtOnce = 64;
  for (int left = kAtOnce; !untold_.empty(); untold_.pop_front()) {
    Untold& next = untold_.front();
    for (auto at = watchers_.upper_bound(next.last); at != watchers_.end(); ++at) {
      if (left-- == 0) return true;
      next.last = at->first;
      if (next.is_for(at->first, at->second)) ports_.send(at->first, notice_of(next.ending));
    }
  }
  return false;
}

void Sessions::answer(const Waiter& waiter, const Ending& ending) {
  const std::uint64_t revoke_us = us_since(waiter.asked_ns);
  if (ending.outcome != wire::Outcome::NotFound)
    longest_revoke_us_ = std::max(longest_revoke_us_, revoke_us);
  if (waiter.tenant) {
    TenantRevoke& all = *waiter.tenant;
    ++(ending.outcome == wire::Outcome::Fenced ? all.fenced : all.torn_down);
    if (--all.left == 0)
      reply_later(all.connection, all.request_id, Op::RevokeTenant,
                  wire::RevokeTenantAnswer{
                      .revoke_us = revoke_us, .torn_down = all.torn_down, .fenced = all.fenced});
    return;
  }
  reply_later(waiter.connection, waiter.request_id, Op::LeaseRevoke,
              wire::RevokeAnswer{.id = ending.name.id,
                                 .epoch = ending.name.epoch,
                                 .revoke_us = revoke_us,
                                 .failed_mask = ending.failed_mask,
                                 .outcome = ending.outcome,
                                 .memory = ending.memory,
                                 .cause = ending.cause});
}

void Sessions::refuse_later(ConnectionId connection, std::uint64_t request_id, Op op, Code code,
                            const std::string& text) {
  send_answer(connection, wire::make_frame(wire::kRefused, request_id,
                                           wire::refusal(code, wire::number(op), text)));
}

void Sessions::end() {
  if (std::exchange(is_ending_, true)) return;
  Revoke all{.names = {}, .cause = wire::Cause::Server};
  for (BookedLease* lease : book_.held_by(wire::kEveryTenant))
    if (!std::exchange(lease->is_revoking, true)) all.names.push_back(lease->record.name);
  for (auto& [tenant, share] : shares_)
    refuse_all_waiting(share, Code::Ending, "the server is ending");
  if (!all.names.empty()) ports_.ask(std::move(all));
}

}  // namespace portcullis::service::daemon
