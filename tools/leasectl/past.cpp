// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/past.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "program/output_file.hpp"
#include "tools/leasectl/printing.hpp"
#include "tools/leasectl/report_page.hpp"

namespace portcullis::tools::leasectl {
namespace {

using client::Connection;

constexpr std::uint64_t kMostOfReport = 1'000'000;

std::uint64_t unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

/// Frame by frame, until nothing is older or `most` rows are there.
Result<Past> look_back(const Options& options, Connection& leased, std::uint64_t most,
                       bool fenced_only) {
  const std::uint64_t now = unix_ms();
  Past past{.since_unix_ms = now - std::min(now, options.since_ms), .until_unix_ms = now};
  wire::HistoryRequest wanted{.tenant = tenant_of(options, leased),
                              .since_unix_ms = past.since_unix_ms,
                              .fenced_only = static_cast<std::uint8_t>(fenced_only)};
  for (past.has_more = true; past.has_more && past.rows.size() < most;) {
    PORTCULLIS_TRY_ASSIGN(const auto part, leased.history(wanted));
    past.rows.insert(past.rows.end(), part.rows.begin(), part.rows.end());
    past.from_unix_ms = part.from_unix_ms;
    past.has_more = part.has_more && !part.rows.empty();
    if (part.rows.empty()) break;
    const wire::HistoryRow& last = part.rows.back();
    wanted.before_unix_ms = last.ended_unix_ms;
    wanted.before_id = last.id;
    wanted.before_epoch = last.epoch;
  }
  if (past.rows.size() > most) {
    past.rows.resize(most);
    past.has_more = true;
  }
  return past;
}

/// What was not looked at, so that nobody takes silence for "there was none".
void print_limits(const Options& options, const World& world, const Past& past) {
  const bool is_whole = !past.has_more && past.from_unix_ms <= past.since_unix_ms;
  if (options.json)
    return world.print(
        fmt::format(R"({{"rows":{},"complete":{},"since_unix_ms":{},"from_unix_ms":{}}})",
                    past.rows.size(), is_whole, past.since_unix_ms, past.from_unix_ms));
  for (const std::string& each : limits_of(past)) world.print(each);
}

}  // namespace

Result<int> history(const Options& options, const World& world, Connection& leased) {
  PORTCULLIS_TRY_ASSIGN(const auto past, look_back(options, leased, options.most_rows, false));
  print(options, world, std::span<const wire::HistoryRow>(past.rows));
  print_limits(options, world, past);
  return kDone;
}

Result<int> fenced(const Options& options, const World& world, Connection& leased) {
  PORTCULLIS_TRY_ASSIGN(auto now, leased.list(tenant_of(options, leased)));
  std::erase_if(now, [](const wire::LeaseRow& row) { return row.state != wire::State::Fenced; });
  PORTCULLIS_TRY_ASSIGN(const auto past, look_back(options, leased, options.most_rows, true));
  if (!options.json) world.print(fmt::format("{} slots are out of use", now.size()));
  if (!now.empty()) print(options, world, std::span<const wire::LeaseRow>(now));
  if (!options.json)
    world.print(fmt::format("{}{} leases ended Fenced since {}", now.empty() ? "" : "\n",
                            past.rows.size(), time_text(past.since_unix_ms)));
  if (!past.rows.empty()) print(options, world, std::span<const wire::HistoryRow>(past.rows));
  print_limits(options, world, past);
  return now.empty() && past.rows.empty() ? kDone : kFenced;
}

Result<int> report(const Options& options, const World& world, Connection& leased) {
  PORTCULLIS_TRY(program::check_output(options.report_file));
  PORTCULLIS_TRY_ASSIGN(const auto status, leased.status());
  PORTCULLIS_TRY_ASSIGN(const auto now, leased.list(tenant_of(options, leased)));
  PORTCULLIS_TRY_ASSIGN(auto past, look_back(options, leased, kMostOfReport, false));
  const std::uint64_t tenant = tenant_of(options, leased);
  PORTCULLIS_TRY(
      program::write_output(options.report_file, report_page({.server = options.server.text(),
                                                              .tenant = tenant,
                                                              .status = status,
                                                              .now = now,
                                                              .past = past})));
  if (!options.json)
    world.print(fmt::format("{}: {} leases that ended since {}", options.report_file,
                            past.rows.size(), time_text(past.since_unix_ms)));
  print_limits(options, world, past);
  return kDone;
}

}  // namespace portcullis::tools::leasectl
