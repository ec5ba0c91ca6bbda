// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/top.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tools/leasectl/printing.hpp"

namespace portcullis::tools::leasectl {
namespace {

using client::Connection;

/// Home, and what is below is wiped away.
constexpr const char* kClear = "\x1b[H\x1b[2J";
constexpr std::size_t kMostTenants = 20;

struct Look {
  std::uint64_t at_ns = 0;
  wire::StatusAnswer status;
};

struct Tally {
  std::uint64_t held = 0;
  std::uint64_t revoking = 0;
  std::uint64_t fenced = 0;
  std::uint64_t bytes = 0;
};

std::map<std::uint64_t, Tally> tally(const std::vector<wire::LeaseRow>& rows) {
  std::map<std::uint64_t, Tally> tenants;
  for (const wire::LeaseRow& row : rows) {
    Tally& one = tenants[row.tenant];
    one.bytes += row.bytes;
    ++(row.state == wire::State::Active     ? one.held
       : row.state == wire::State::Revoking ? one.revoking
                                            : one.fenced);
  }
  return tenants;
}

/// A second; of a counter that began anew with another server nothing is said.
std::string rate(std::uint64_t now, std::uint64_t before, std::uint64_t ns) {
  if (now < before || ns == 0) return "-";
  return fmt::format("{:.1f}", static_cast<double>(now - before) * 1e9 / static_cast<double>(ns));
}

std::string rates_text(const Look& look, const std::optional<Look>& before) {
  if (!before) return {};
  const std::uint64_t ns = look.at_ns - before->at_ns;
  const auto& [now, then] = std::pair(look.status, before->status);
  return fmt::format("\na second     {} granted, {} TornDown, {} Fenced",
                     rate(now.granted, then.granted, ns), rate(now.torn_down, then.torn_down, ns),
                     rate(now.fenced, then.fenced, ns));
}

std::string tenants_text(const std::map<std::uint64_t, Tally>& tenants) {
  std::vector<std::pair<std::uint64_t, Tally>> sorted(tenants.begin(), tenants.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& one, const auto& other) {
    return one.second.bytes > other.second.bytes;
  });
  std::string text = fmt::format("\n{:>20} {:>8} {:>9} {:>7} {:>14}", "tenant", "held", "revoking",
                                 "fenced", "bytes");
  for (std::size_t i = 0; i < std::min(kMostTenants, sorted.size()); ++i)
    text += fmt::format("\n{:>20} {:>8} {:>9} {:>7} {:>14}", sorted[i].first, sorted[i].second.held,
                        sorted[i].second.revoking, sorted[i].second.fenced, sorted[i].second.bytes);
  if (sorted.size() > kMostTenants)
    text += fmt::format("\n{:>20}", fmt::format("{} more", sorted.size() - kMostTenants));
  return text;
}

/// Until then, or until it is told to stop; what the server says meanwhile is read.
Result<void> wait(const World& world, Connection& leased, std::uint64_t until_ns) {
  constexpr std::uint64_t kLookAgainMs = 100;
  for (std::uint64_t now = Clock::wall().now_ns(); !world.stop() && now < until_ns;
       now = Clock::wall().now_ns())
    PORTCULLIS_TRY(leased.next_news(std::min(kLookAgainMs, (until_ns - now) / kNsPerMs + 1)));
  return {};
}

}  // namespace

Result<int> top(const Options& options, const World& world, Connection& leased) {
  // Who may look at all is shown all.
  Options whose = options;
  whose.every_tenant |= !options.tenant && leased.server().role != wire::Role::Client;
  std::optional<Look> before;
  for (std::uint64_t round = 1; !world.stop(); ++round) {
    Look look{.at_ns = Clock::wall().now_ns(), .status = {}};
    PORTCULLIS_TRY_ASSIGN(look.status, leased.status());
    PORTCULLIS_TRY_ASSIGN(const auto rows, leased.list(tenant_of(whose, leased)));
    if (options.json) {
      world.print(json_of(look.status));
    } else {
      const bool is_own = leased.server().role == wire::Role::Client;
      world.print((world.is_terminal ? kClear : "") + text_of(look.status) +
                  (is_own ? "" : rates_text(look, before)) + tenants_text(tally(rows)));
    }
    before = look;
    if (round == options.rounds) return kDone;
    PORTCULLIS_TRY(wait(world, leased, look.at_ns + options.every_ms * kNsPerMs));
  }
  return kDone;
}

}  // namespace portcullis::tools::leasectl
