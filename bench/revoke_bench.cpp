// SPDX-License-Identifier: BSD-3-Clause
//
// How long a revoke takes: from the call until every outcome stands, per plan, idle and while the
// clients write, for one lease and for many.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/common/suite.hpp"
#include "bench/common/tenancy.hpp"
#include "lease/fence_plan.hpp"

namespace portcullis::bench {
namespace {

constexpr std::uint64_t kLeastRounds = 20;

/// `samples` counts revoked leases, so that many leases take no longer than one; but a handful of
/// rounds is no distribution.
std::uint64_t rounds_of(std::uint64_t samples, std::uint32_t leases) {
  return std::max(samples / leases, std::min(samples, kLeastRounds));
}

Result<std::optional<std::uint64_t>> one_round(Session& session, Tenancy& tenancy,
                                               const lease::Plan& plan, bool has_traffic) {
  PORTCULLIS_TRY(tenancy.grant_all());
  if (has_traffic) PORTCULLIS_TRY(tenancy.start_traffic());
  const std::uint64_t start = session.now_ns();
  PORTCULLIS_TRY(tenancy.revoke_all(plan));
  const std::uint64_t time = session.now_ns() - start;
  PORTCULLIS_TRY(tenancy.finish());
  return std::optional<std::uint64_t>(time);
}

SeriesPlan series_of(const Options& options, const lease::Plan& plan, std::uint32_t leases,
                     bool has_traffic) {
  const char* traffic = has_traffic ? "write" : "none";
  SeriesPlan series;
  series.name =
      fmt::format("revoke/plan:{}/leases:{}/traffic:{}", plan.full_name(), leases, traffic);
  series.picture = has_traffic ? "under WRITE traffic" : "idle";
  series.wall_samples = rounds_of(options.samples, leases);
  const auto timeout = static_cast<std::uint8_t>(options.timeout);
  const auto retry = static_cast<std::uint8_t>(options.retry);
  series.prepare = [=](Session& session) -> Result<Sampler> {
    PORTCULLIS_TRY_ASSIGN(auto made, Tenancy::create(session, {leases, timeout, retry}));
    std::shared_ptr<Tenancy> tenancy = std::move(made);
    return Sampler([&session, tenancy, plan, has_traffic] {
      return one_round(session, *tenancy, plan, has_traffic);
    });
  };
  return series;
}

std::vector<SeriesPlan> series(const Options& options) {
  std::vector<SeriesPlan> all;
  for (const bool has_traffic : {false, true})
    for (const std::uint32_t leases : options.leases)
      for (const lease::Plan& plan : plans_of(options))
        all.push_back(series_of(options, plan, leases, has_traffic));
  return all;
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  using portcullis::bench::Suite;
  Suite suite;
  suite.info = {.name = "revoke_bench",
                .summary = "How long a revoke takes: from the call until its outcome stands.",
                .has_plans = true,
                .has_leases = true,
                .has_retry = false,
                .default_samples = 200,
                .quick_samples = 5};
  suite.title = "revoke_bench: call to outcome";
  suite.references = {{"12 ms recall with a flow entry (001)", 12'000'000},
                      {"1.5 ms without (001)", 1'500'000}};
  suite.series = portcullis::bench::series;
  return portcullis::bench::run_suite(argc, argv, suite);
}
