// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/quotas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "fleet/tenant.hpp"

namespace portcullis::fleet {
namespace {

NodeShare share_of(const KeyValue& entry, const std::string& name, const Holders& holders) {
  const auto share = read_share(entry.value);
  if (!share) return {.name = name, .fault = share.error().text};
  return {.name = name,
          .taken = share->taken,
          .has_session = holders.has_session(name, share->node),
          .is_free = !holders.may_hold(name, share->node)};
}

void note_quota(QuotaUse& use, const KeyValue& entry) {
  const auto quota = read_quota(entry.value);
  use.has_quota = !quota || quota->most != Quota{}.most;
  if (quota) use.quota = *quota;
  if (!quota) use.fault = quota.error().text;
}

}  // namespace

Amount QuotaUse::taken() const noexcept {
  Amount sum;
  for (const NodeShare& each : shares) {
    if (each.is_free) continue;
    sum.leases += std::min(each.taken.leases, kNoLimit - sum.leases);
    sum.bytes += std::min(each.taken.bytes, kNoLimit - sum.bytes);
  }
  return sum;
}

Result<QuotaUse> set_quota(Etcd& etcd, std::uint64_t tenant, const QuotaChange& change) {
  constexpr int kTries = 10;
  PORTCULLIS_TRY(check_tenant(tenant));
  const std::string key = quota_key(tenant);
  for (int tried = 0; tried < kTries; ++tried) {
    PORTCULLIS_TRY_ASSIGN(const auto there, etcd.range({.key = key}));
    Quota quota;
    std::uint64_t revision = 0;
    for (const KeyValue& each : there.found) {
      revision = each.mod_revision;
      const bool is_all = change.lifts || (change.leases && change.bytes);
      if (is_all) continue;  // what was there before does not count
      auto was = read_quota(each.value);
      if (!was)
        return fail(Errc::Malformed,
                    fmt::format("tenant {}: the quota in etcd cannot be read ({}); both limits "
                                "together replace it",
                                tenant, was.error().text));
      quota = *was;
    }
    if (change.leases) quota.most.leases = *change.leases;
    if (change.bytes) quota.most.bytes = *change.bytes;
    const Compare same{.key = key, .of = Compare::Of::ModRevision, .revision = revision};
    PORTCULLIS_TRY_ASSIGN(
        const auto written,
        etcd.txn({.compare = {same}, .success = {Put{.key = key, .value = json_of(quota)}}}));
    if (!written.has_succeeded) continue;
    PORTCULLIS_TRY_ASSIGN(auto quotas, read_quotas(etcd, tenant));
    return quotas.uses.empty() ? QuotaUse{.tenant = tenant} : std::move(quotas.uses.front());
  }
  return fail(Errc::Busy, fmt::format("tenant {}: its quota is set by others all the time; again "
                                      "later",
                                      tenant));
}

Result<Quotas> read_quotas(Etcd& etcd, std::optional<std::uint64_t> tenant) {
  Txn txn;
  txn.success = {tenant ? Range{.key = quota_key(*tenant)} : all_of(kQuotas),
                 all_of(tenant ? share_prefix(*tenant) : std::string(kShares)), all_of(kMembers),
                 all_of(kSessions)};
  PORTCULLIS_TRY_ASSIGN(const auto answer, etcd.txn(txn));
  if (answer.found.size() != txn.success.size())
    return fail(Errc::Malformed, "etcd answers four reads with others");
  const Holders holders(answer.found[2], answer.found[3]);
  Quotas all;
  std::map<std::uint64_t, QuotaUse> uses;
  const auto use_of = [&uses](std::uint64_t of) -> QuotaUse& {
    QuotaUse& use = uses[of];
    use.tenant = of;
    return use;
  };
  if (tenant) use_of(*tenant);
  for (const KeyValue& each : answer.found[0])
    if (const auto of = tenant_of_quota_key(each.key))
      note_quota(use_of(*of), each);
    else
      all.strange.push_back(each.key);
  for (const KeyValue& each : answer.found[1])
    if (const auto key = read_share_key(each.key))
      use_of(key->tenant).shares.push_back(share_of(each, key->name, holders));
    else
      all.strange.push_back(each.key);
  for (auto& [of, use] : uses) all.uses.push_back(std::move(use));
  return all;
}

Result<bool> give_back_share(Etcd& etcd, std::uint64_t tenant, const GoneNode& gone) {
  const std::string key = share_key(tenant, gone.name);
  PORTCULLIS_TRY_ASSIGN(const auto there, etcd.range({.key = key}));
  if (there.found.empty()) return true;
  const auto share = read_share(there.found[0].value);
  if (!share || share->node != gone.node) return false;
  if (share->taken == Amount{}) return true;
  // Whoever joins writes its member's key, and has a session.
  PORTCULLIS_TRY_ASSIGN(
      const auto written,
      etcd.txn({.compare = {{.key = key,
                             .of = Compare::Of::ModRevision,
                             .revision = there.found[0].mod_revision},
                            {.key = member_key(gone.name),
                             .of = Compare::Of::ModRevision,
                             .revision = gone.member_revision},
                            {.key = session_key(gone.name), .revision = 0}},
                .success = {Put{.key = key, .value = json_of(Share{.node = gone.node})}}}));
  return written.has_succeeded;
}

}  // namespace portcullis::fleet
