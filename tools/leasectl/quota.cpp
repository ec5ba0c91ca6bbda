// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/quota.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "fleet/etcd.hpp"
#include "fleet/tenant.hpp"
#include "tools/leasectl/one_cluster.hpp"
#include "tools/leasectl/printing.hpp"

namespace portcullis::tools::leasectl {
namespace {

using fleet::Amount;
using fleet::NodeShare;
using fleet::QuotaUse;

std::string limit_text(std::uint64_t limit) {
  return limit == fleet::kNoLimit ? "no limit" : fmt::to_string(limit);
}

std::string row(const std::string& who, const std::string& leases, const std::string& bytes,
                const std::string& remark) {
  std::string text =
      fmt::format("{:<20} {:>12} {:>20}  {}", one_line(who), leases, bytes, one_line(remark));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string remark_of(const NodeShare& share) {
  if (!share.fault.empty()) return "it cannot be read, and nobody takes more: " + share.fault;
  if (share.is_free) return "counts for nothing: no member, or ended with nothing held";
  return share.has_session ? "" : "no session: taken until the node is back, or Expired";
}

nlohmann::json of(const Amount& amount) {
  const auto number = [](std::uint64_t value) {
    return value == fleet::kNoLimit ? nlohmann::json(nullptr) : nlohmann::json(value);
  };
  return {{"leases", number(amount.leases)}, {"bytes", number(amount.bytes)}};
}

}  // namespace

std::string text_of(const std::vector<QuotaUse>& uses) {
  std::string text = row("", "leases", "bytes", "");
  for (const QuotaUse& use : uses) {
    const Amount taken = use.taken();
    const std::string fault =
        use.fault.empty() ? "" : "it cannot be read, and nothing is granted: " + use.fault;
    const bool is_known = use.fault.empty();
    text += "\n" + row(fmt::format("tenant {}", use.tenant),
                       is_known ? limit_text(use.quota.most.leases) : "unknown",
                       is_known ? limit_text(use.quota.most.bytes) : "unknown", fault);
    text += "\n" + row("  taken", fmt::to_string(taken.leases), fmt::to_string(taken.bytes), "");
    if (uses.size() > 1) continue;
    for (const NodeShare& each : use.shares)
      text += "\n" + row("    " + each.name, fmt::to_string(each.taken.leases),
                         fmt::to_string(each.taken.bytes), remark_of(each));
  }
  return text;
}

std::string json_of(const std::vector<QuotaUse>& uses) {
  std::string text;
  const auto line = [&text](const nlohmann::json& object) {
    if (!text.empty()) text += "\n";
    text += object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  for (const QuotaUse& use : uses) {
    for (const NodeShare& each : use.shares)
      line({{"tenant", use.tenant},
            {"node", each.name},
            {"taken", of(each.taken)},
            {"has_session", each.has_session},
            {"is_free", each.is_free},
            {"fault", each.fault}});
    line({{"tenant", use.tenant},
          {"has_quota", use.has_quota},
          {"most", of(use.quota.most)},
          {"taken", of(use.taken())},
          {"fault", use.fault}});
  }
  return text;
}

Result<int> quota(const Options& options, const World& world) {
  const fleet::QuotaChange& change = options.quota;
  const bool changes = change.lifts || change.leases || change.bytes;
  if (changes && !options.tenant)
    return fail(Errc::InvalidArgument, "quota: whose is not said; a tenant's number is accepted");
  if (options.tenant) PORTCULLIS_TRY(fleet::check_tenant(*options.tenant));
  PORTCULLIS_TRY_ASSIGN(const auto etcd, fleet::Etcd::create(options.etcd));
  PORTCULLIS_TRY_ASSIGN(const bool is_one, is_one_cluster(*etcd, world));
  if (!is_one) return kNotCertain;
  if (!changes) {
    PORTCULLIS_TRY_ASSIGN(const auto quotas, fleet::read_quotas(*etcd, options.tenant));
    print(options, world, quotas.uses);
    for (const std::string& each : quotas.strange)
      if (world.warn)
        world.warn(
            fmt::format("{} in etcd is no tenant's, and counts for nothing", one_line(each)));
    for (const QuotaUse& each : quotas.uses)
      if (!each.fault.empty())
        return fail(Errc::Malformed, fmt::format("the quota of tenant {} cannot be read: {}",
                                                 each.tenant, each.fault));
    return kDone;
  }
  PORTCULLIS_TRY_ASSIGN(auto use, fleet::set_quota(*etcd, *options.tenant, change));
  print(options, world, std::vector<QuotaUse>{std::move(use)});
  return kDone;
}

}  // namespace portcullis::tools::leasectl
