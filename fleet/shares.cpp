// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace portcullis::fleet {
namespace {

constexpr std::uint64_t kTryAgainNs = 500 * kNsPerMs;

std::uint64_t plus(std::uint64_t one, std::uint64_t other) noexcept {
  return one > kNoLimit - other ? kNoLimit : one + other;
}
std::uint64_t minus(std::uint64_t one, std::uint64_t other) noexcept {
  return one - std::min(one, other);
}
Amount plus(const Amount& one, const Amount& other) noexcept {
  return {.leases = plus(one.leases, other.leases), .bytes = plus(one.bytes, other.bytes)};
}
Amount minus(const Amount& one, const Amount& other) noexcept {
  return {.leases = minus(one.leases, other.leases), .bytes = minus(one.bytes, other.bytes)};
}
Amount least(const Amount& one, const Amount& other) noexcept {
  return {.leases = std::min(one.leases, other.leases), .bytes = std::min(one.bytes, other.bytes)};
}
bool fits(const Amount& inner, const Amount& outer) noexcept {
  return inner.leases <= outer.leases && inner.bytes <= outer.bytes;
}

/// Of leases, or of bytes, when more is wanted than there is.
struct Part {
  std::uint64_t held = 0;
  std::uint64_t wanted = 0;
  std::uint64_t most = 0;
  std::uint64_t quota = 0;
  std::uint64_t others = 0;
  std::uint64_t own = 0;
};

std::uint64_t grown(const Part& part) noexcept {
  // An eighth of what is left, so that what nodes spare never keeps many of them from the rest.
  constexpr std::uint64_t kOfTheRest = 8;
  constexpr std::uint64_t kGrants = 16;
  if (part.quota == kNoLimit) return std::max(part.wanted, part.most);
  const std::uint64_t room = minus(part.quota, part.others);
  std::uint64_t share = std::min(part.wanted, std::max(room, part.own));
  const std::uint64_t growth = minus(part.wanted, part.held);
  std::uint64_t spare = std::min(minus(room, share) / kOfTheRest,
                                 growth > kNoLimit / kGrants ? kNoLimit : kGrants * growth);
  if (growth != 0) spare -= spare % growth;  // what suffices for no such grant is left to others
  return std::max(plus(share, spare), part.held);
}

std::string text_of(const Amount& amount) {
  const auto number = [](std::uint64_t value, const char* of) {
    return value == kNoLimit ? fmt::format("any {}", of) : fmt::format("{} {}", value, of);
  };
  return fmt::format("{}, {}", number(amount.leases, "leases"), number(amount.bytes, "bytes"));
}

}  // namespace

std::string lost_text(const OwnKey& own, std::uint64_t revision) {
  return fmt::format("it has {} {}, and this node wrote it at revision {}", own.key,
                     revision == 0 ? "no more" : fmt::format("as of revision {}", revision),
                     own.revision);
}

Amount share_of(const ShareWanted& wanted, const Room& room) noexcept {
  if (fits(wanted.wanted, room.own)) return wanted.wanted;  // the rest is given back
  return {.leases = grown({.held = wanted.held.leases,
                           .wanted = wanted.wanted.leases,
                           .most = wanted.most.leases,
                           .quota = room.quota.leases,
                           .others = room.others.leases,
                           .own = room.own.leases}),
          .bytes = grown({.held = wanted.held.bytes,
                          .wanted = wanted.wanted.bytes,
                          .most = wanted.most.bytes,
                          .quota = room.quota.bytes,
                          .others = room.others.bytes,
                          .own = room.own.bytes})};
}

void Shares::want(const ShareWanted& wanted) {
  Tenant& tenant = tenants_[wanted.tenant];
  tenant.wanted = wanted;
  tenant.due_ns = 0;
  tenant.tries = 0;
}

void Shares::begin() {
  for (auto& [number, tenant] : tenants_) tenant = Tenant{.before = tenant.before};
}

std::optional<std::uint64_t> Shares::due_ns() const {
  std::optional<std::uint64_t> due;
  for (const auto& [number, tenant] : tenants_)
    if (tenant.wanted && (!due || tenant.due_ns < *due)) due = tenant.due_ns;
  return due;
}

Result<Shares::Found> Shares::look(Etcd& etcd, const std::vector<Compare>& standing,
                                   std::uint64_t tenant, bool with_members) const {
  Txn txn{.compare = standing,
          .success = {Range{.key = quota_key(tenant)}, all_of(share_prefix(tenant))}};
  if (with_members) {
    txn.success.emplace_back(all_of(kMembers));
    txn.success.emplace_back(all_of(kSessions));
  }
  PORTCULLIS_TRY_ASSIGN(const auto answer, etcd.txn(txn));
  if (!answer.has_succeeded || answer.found.size() != txn.success.size())
    return fail(Errc::NotFound, fmt::format("the session of node {} is not there any more", name_));
  Found found{.revision = answer.header.revision};
  for (const KeyValue& each : answer.found[0]) {
    found.quota_revision = each.mod_revision;
    const auto quota = read_quota(each.value);
    if (quota) found.room.quota = quota->most;
    if (!quota) found.fault = "the tenant's quota in etcd cannot be read: " + quota.error().text;
  }
  found.has_quota = found.room.quota != Amount{.leases = kNoLimit, .bytes = kNoLimit};
  const auto holders =
      with_members ? std::optional(Holders(answer.found[2], answer.found[3])) : std::nullopt;
  for (const KeyValue& each : answer.found[1]) {
    const std::string of = name_of(each.key, share_prefix(tenant));
    const auto share = read_share(each.value);
    if (of == name_) {
      found.own_revision = each.mod_revision;
      // Of another node that had this name, nothing is held: that is what its name was freed for.
      if (share && share->node == node_) found.room.own = share->taken;
      continue;
    }
    if (!share && found.has_quota)
      found.fault = fmt::format("node {}'s share in etcd cannot be read", of);
    if (!share || (holders && !holders->may_hold(of, share->node))) continue;
    found.room.others = plus(found.room.others, share->taken);
  }
  // Whatever the limit is, nothing more is taken.
  if (!found.fault.empty()) found.room.quota = {};
  return found;
}

/// It only ever becomes newer: by this node, or by whoever finds it Expired.
Result<void> Shares::check_own(Etcd& etcd, const Tenant& tenant, const Found& found) const {
  if (found.own_revision >= tenant.revision) return {};
  return etcd.has_lost(
      lost_text({share_key(tenant.wanted->tenant, name_), tenant.revision}, found.own_revision));
}

ShareWanted Shares::with_before(Tenant& tenant, const Found& found) const {
  ShareWanted wanted = *tenant.wanted;
  if (!wanted.keeps_before) return wanted;
  if (!tenant.before) tenant.before = found.room.own;
  wanted.held = plus(wanted.held, *tenant.before);
  wanted.wanted = plus(wanted.wanted, *tenant.before);
  return wanted;
}

ShareIs Shares::answer(Tenant& tenant, const Found& found) const {
  const ShareWanted wanted = *std::exchange(tenant.wanted, std::nullopt);
  ShareIs is{.tenant = wanted.tenant,
             .number = wanted.number,
             .most = minus(tenant.sure, tenant.before.value_or(Amount{})),
             .has_quota = found.has_quota};
  if (fits(wanted.wanted, is.most)) return is;
  is.why = !found.fault.empty()
               ? Error{.code = Errc::System, .text = found.fault}
               : Error{.code = Errc::OutOfResources,
                       .text = fmt::format("quota in the fleet: {}; other nodes have {} of it",
                                           text_of(found.room.quota), text_of(found.room.others))};
  return is;
}

/// Whoever was faster gets on, and so does everybody in turn: the pauses differ from node to node.
void Shares::try_later(Tenant& tenant, std::uint64_t now_ns, bool is_contended) {
  constexpr std::uint32_t kMostDoublings = 6;
  if (!is_contended) {
    tenant.due_ns = now_ns + kTryAgainNs;
    return;
  }
  const std::uint64_t most_ns = kNsPerMs << std::min(++tenant.tries, kMostDoublings);
  tenant.due_ns = now_ns + (node_ ^ now_ns) * 0x9e3779b97f4a7c15U % most_ns;
}

Result<bool> Shares::write(Etcd& etcd, const std::vector<Compare>& standing, Tenant& tenant,
                           const Found& found, const Amount& target) {
  const std::uint64_t number = tenant.wanted->tenant;
  const Compare own{.key = share_key(number, name_),
                    .of = Compare::Of::ModRevision,
                    .revision = found.own_revision};
  const Compare quota{
      .key = quota_key(number), .of = Compare::Of::ModRevision, .revision = found.quota_revision};
  const Put put{.key = own.key, .value = json_of(Share{.node = node_, .taken = target})};
  // Less than it has for certain takes from nobody, whatever the others do meanwhile.
  const bool is_less = fits(target, tenant.sure);
  Txn txn{.compare = standing, .success = {put}};
  txn.compare.push_back(own);
  if (!is_less) txn.compare.push_back(quota);
  // Without a quota nothing is taken from anybody, and none may come meanwhile.
  if (!is_less && found.has_quota)
    txn.compare.push_back(unchanged_since(all_of(share_prefix(number)), found.revision));
  tenant.sure = least(tenant.sure, target);
  tenant.has_unanswered = true;
  PORTCULLIS_TRY_ASSIGN(const auto written, etcd.txn(txn));
  // One that was sent twice may have succeeded the first time: nothing is known of it then.
  if (!written.has_succeeded) return false;
  tenant.sure = target;
  tenant.has_unanswered = false;
  tenant.revision = written.header.revision;
  newest_ = {.key = own.key, .revision = tenant.revision};
  return true;
}

Result<std::optional<ShareIs>> Shares::settle(Etcd& etcd, const std::vector<Compare>& standing,
                                              std::uint64_t now_ns) {
  const auto is_due = [now_ns](const auto& each) {
    return each.second.wanted && each.second.due_ns <= now_ns;
  };
  auto at = std::find_if(tenants_.upper_bound(turn_), tenants_.end(), is_due);
  if (at == tenants_.end()) at = std::find_if(tenants_.begin(), tenants_.end(), is_due);
  if (at == tenants_.end()) return std::nullopt;
  Tenant& tenant = at->second;
  turn_ = at->first;
  const auto later = [&](const Error& why) -> Result<std::optional<ShareIs>> {
    if (why.code == Errc::NotFound) {
      try_later(tenant, now_ns, true);
      return tl::unexpected<Error>(why);
    }
    const bool is_refused = why.code == Errc::CommandFailed || why.code == Errc::Malformed;
    if (!is_refused || fits(tenant.wanted->wanted, tenant.sure)) {
      try_later(tenant, now_ns, false);
      return std::nullopt;
    }
    ShareIs is = answer(tenant, {});
    is.why = Error{.code = Errc::System, .text = why.text};
    return is;
  };
  auto found = look(etcd, standing, turn_, false);
  if (!found) return later(found.error());
  PORTCULLIS_TRY(check_own(etcd, tenant, *found));
  ShareWanted wanted = with_before(tenant, *found);
  // What an earlier session has left may have been nobody's meanwhile, and others' since.
  const auto room_of = [&tenant](Room room) {
    room.own = tenant.sure;
    return room;
  };
  Amount target = share_of(wanted, room_of(found->room));
  if (!fits(wanted.wanted, target)) {  // shares of nodes that are gone for good are none
    found = look(etcd, standing, turn_, true);
    if (!found) return later(found.error());
    target = share_of(wanted, room_of(found->room));
  }
  const bool is_sure = !tenant.has_unanswered && found->own_revision == tenant.revision;
  if (is_sure && target == found->room.own) return answer(tenant, *found);
  const auto written = write(etcd, standing, tenant, *found, target);
  if (!written) return later(written.error());
  if (*written) return answer(tenant, *found);
  try_later(tenant, now_ns, true);
  return std::nullopt;
}

}  // namespace portcullis::fleet
