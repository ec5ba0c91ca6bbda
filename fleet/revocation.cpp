// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/revocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fleet/quotas.hpp"
#include "fleet/tenant.hpp"

namespace portcullis::fleet {
namespace {

const KeyValue* find_key(const std::vector<KeyValue>& entries, const std::string& key) noexcept {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&key](const KeyValue& each) { return each.key == key; });
  return at == entries.end() ? nullptr : &*at;
}

}  // namespace

std::optional<std::uint64_t> expiry_ns(const Isolation& isolation) noexcept {
  if (isolation.stall_s == 0) return std::nullopt;
  return (isolation.after_s + 3 * isolation.stall_s) * (kNsPerSecond / 100 * 101);
}

Result<Revocation> Revocation::raise(Etcd& etcd, std::uint64_t tenant, Clock clock) {
  PORTCULLIS_TRY(check_tenant(tenant));
  Revocation revocation(etcd, tenant, clock);
  const std::uint64_t sent_ns = clock.now_ns();
  PORTCULLIS_TRY_ASSIGN(auto raised,
                        etcd.txn({.success = {Put{.key = epoch_key(tenant), .value = "fence"},
                                              all_of(kMembers), all_of(kSessions)}}));
  if (!raised.has_succeeded || raised.found.size() != 3)
    return fail(Errc::Malformed, "etcd answers one write and two reads with others");
  revocation.epoch_ = raised.header.revision;  // of the write
  revocation.list(raised.found[1], raised.found[2]);
  revocation.note_sessions(raised.found[2]);
  revocation.note_absences({.sent_ns = sent_ns,
                            .answered_ns = clock.now_ns(),
                            .members = std::move(raised.found[1]),
                            .sessions = std::move(raised.found[2])});
  return revocation;
}

/// A node that has a session may hold leases, whatever somebody has made of its member's key.
void Revocation::list(const std::vector<KeyValue>& members, const std::vector<KeyValue>& sessions) {
  for (const KeyValue& each : members) {
    NodeStanding& node = nodes_.emplace_back();
    node.name = name_of(each.key, kMembers);
    const auto member = read_member(each.value);
    if (!member) {
      node.remark = "what etcd has of it cannot be read: " + member.error().text;
      continue;
    }
    node.node = member->node;
    note_member(each, sessions);
  }
  for (const KeyValue& each : sessions) {
    const std::string name = name_of(each.key, kSessions);
    const auto session = read_registration(each.value);
    const NodeStanding* listed = find(name);
    // Both are written at once, by one node: another number was written by somebody else. And a
    // name that cannot be read stays so.
    const bool is_told =
        listed != nullptr && (!session || listed->node == session->node || listed->node == 0);
    if (is_told) continue;
    if (listed != nullptr) std::erase_if(nodes_, [&](const auto& one) { return one.name == name; });
    NodeStanding& node = nodes_.emplace_back();
    node.name = name;
    if (session) node.node = session->node;
    if (!session)
      node.remark = "what etcd has of its session cannot be read: " + session.error().text;
  }
  std::sort(nodes_.begin(), nodes_.end(),
            [](const auto& one, const auto& other) { return one.name < other.name; });
}

NodeStanding* Revocation::find(std::string_view name) noexcept {
  const auto at = std::find_if(nodes_.begin(), nodes_.end(),
                               [name](const NodeStanding& each) { return each.name == name; });
  return at == nodes_.end() ? nullptr : &*at;
}

/// A node that has ended held nothing then, and learns the epoch before it grants again. That stays
/// so when it comes back. While its session stands it may hold leases, whoever has written that.
void Revocation::note_member(const KeyValue& entry, const std::vector<KeyValue>& sessions) {
  NodeStanding* node = find(name_of(entry.key, kMembers));
  const auto member = read_member(entry.value);
  if (node == nullptr || !member || member->node != node->node || !member->has_ended) return;
  if (node->standing != Standing::Unreachable) return;
  if (find_key(sessions, session_key(node->name)) != nullptr) return;
  node->standing = Standing::TornDown;
  node->remark = "it had ended, with nothing held";
}

/// Of another node of the same name, or of an earlier epoch, it says nothing.
void Revocation::note_outcome(const KeyValue& entry) {
  NodeStanding* node = find(name_of(entry.key, outcome_prefix(tenant_)));
  if (node == nullptr || node->node == 0) return;
  const auto outcome = read_outcome(entry.value);
  if (!outcome || outcome->node != node->node || outcome->epoch < epoch_) return;
  node->standing = outcome->fenced == 0 ? Standing::TornDown : Standing::Fenced;
  node->torn_down = outcome->torn_down;
  node->fenced = outcome->fenced;
  node->has_session =
      true;  // it wrote that under one; a later look knows whether it is there still
  node->remark.clear();
}

void Revocation::note_sessions(const std::vector<KeyValue>& sessions) {
  for (NodeStanding& each : nodes_) {
    const auto at = std::find_if(sessions.begin(), sessions.end(), [&](const KeyValue& entry) {
      const auto session = read_registration(entry.value);
      return entry.key == session_key(each.name) && session && session->node == each.node;
    });
    each.has_session = at != sessions.end();
    if (each.standing != Standing::Unreachable || each.node == 0) continue;
    each.remark = each.has_session ? "it has a session, and has not answered yet"
                                   : "it has no session; it may hold what it held";
  }
}

void Revocation::note_absences(const Look& look) {
  for (NodeStanding& each : nodes_)
    if (each.standing == Standing::Unreachable && each.node != 0) note_absence(each, look);
}

/// What showed the node last that its session lives was asked for before the session went, and the
/// session was gone by the first look's answer. So the node's own time began before then. It must
/// not have joined since, for then its time has begun anew: each joining writes the member's key.
void Revocation::note_absence(NodeStanding& node, const Look& look) {
  const KeyValue* entry = find_key(look.members, member_key(node.name));
  const auto member = entry != nullptr ? read_member(entry->value) : fail(Errc::NotFound, "");
  const bool has_session = find_key(look.sessions, session_key(node.name)) != nullptr;
  const bool promises = member && member->node == node.node && member->isolation &&
                        member->isolation->covers(tenant_);
  const auto expires_ns = promises ? expiry_ns(*member->isolation) : std::nullopt;
  if (has_session || !expires_ns) {
    away_.erase(node.name);
    return;
  }
  const auto [at, is_first] = away_.try_emplace(node.name);
  Away& away = at->second;
  if (is_first || away.member_revision != entry->mod_revision)
    away = {.member_revision = entry->mod_revision, .seen_ns = look.answered_ns};
  const std::uint64_t over_ns = away.seen_ns + *expires_ns;
  if (look.sent_ns >= over_ns) {
    node.standing = Standing::Expired;
    node.member_revision = away.member_revision;
    node.remark = fmt::format(
        "it has had no session for {} s, and {}", (look.sent_ns - away.seen_ns) / kNsPerSecond,
        member->isolation->ends_by_ttl ? "renews nothing without: every lease's TTL is over"
                                       : "ends by itself what it has");
    return;
  }
  node.remark =
      fmt::format("it has had no session for {} s; it may hold what it held, for {} s more at most",
                  (look.sent_ns - std::min(away.seen_ns, look.sent_ns)) / kNsPerSecond,
                  (over_ns - look.sent_ns + kNsPerSecond - 1) / kNsPerSecond);
}

Result<void> Revocation::look() {
  const std::uint64_t sent_ns = clock_.now_ns();
  PORTCULLIS_TRY_ASSIGN(auto now, etcd_->txn({.success = {all_of(outcome_prefix(tenant_)),
                                                          all_of(kMembers), all_of(kSessions)}}));
  if (now.found.size() != 3) return fail(Errc::Malformed, "etcd answers three reads with others");
  may_watch_ = true;
  for (const KeyValue& each : now.found[1]) note_member(each, now.found[2]);
  for (const KeyValue& each : now.found[0]) note_outcome(each);
  note_sessions(now.found[2]);
  note_absences({.sent_ns = sent_ns,
                 .answered_ns = clock_.now_ns(),
                 .members = std::move(now.found[1]),
                 .sessions = std::move(now.found[2])});
  give_shares_back();
  return {};
}

void Revocation::give_shares_back() {
  for (const NodeStanding& each : nodes_) {
    if (each.standing != Standing::Expired || given_back_.contains(each.name)) continue;
    // One that cannot be asked is asked at the next look; one that has joined says it itself.
    if (give_back_share(
            *etcd_, tenant_,
            {.name = each.name, .node = each.node, .member_revision = each.member_revision}))
      given_back_.insert(each.name);
  }
}

bool Revocation::wait(std::uint64_t most_ms) {
  // An etcd that refuses it would be asked again and again, without a pause: once for each look
  // that was answered.
  if (!is_watching_ && std::exchange(may_watch_, false))
    is_watching_ = etcd_->watch({all_of(outcome_prefix(tenant_))}, kFromNow).has_value();
  etcd_->wait(most_ms);
  bool has_news = false;
  bool has_missed = false;
  while (is_watching_) {
    const auto change = etcd_->next_change();
    is_watching_ = change.has_value();
    if (!change || !*change) break;
    has_news = has_news || !(*change)->events.empty();
    has_missed = has_missed || ((*change)->is_created && (*change)->header.revision > epoch_);
    for (const WatchEvent& each : (*change)->events)
      if (!each.is_delete) note_outcome(each.entry);
  }
  // Where that fails, the caller's next look finds it.
  return (has_missed && look().has_value()) || has_news;
}

bool Revocation::is_certain() const noexcept {
  return std::none_of(nodes_.begin(), nodes_.end(), [](const NodeStanding& each) {
    return each.standing == Standing::Unreachable;
  });
}

bool Revocation::may_come_soon() const noexcept {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const NodeStanding& each) {
    return each.standing == Standing::Unreachable && each.has_session;
  });
}

}  // namespace portcullis::fleet
