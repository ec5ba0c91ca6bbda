// SPDX-License-Identifier: BSD-3-Clause
//
// What leasectl report writes: one page of HTML with its pictures in it, no script, no network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/messages.hpp"

namespace portcullis::tools::leasectl {

/// Leases that ended from `since_unix_ms` to `until_unix_ms`, the newest first.
struct Past {
  std::uint64_t since_unix_ms = 0;
  std::uint64_t until_unix_ms = 0;
  std::uint64_t from_unix_ms = 0;  // of what ended earlier the server may know nothing any more
  bool has_more = false;           // older ones were not asked for
  std::vector<wire::HistoryRow> rows = {};
};

/// A line for each part of that time that was not looked at.
[[nodiscard]] std::vector<std::string> limits_of(const Past& past);

struct Reported {
  std::string server;
  std::uint64_t tenant = 0;  // or wire::kEveryTenant
  wire::StatusAnswer status;
  std::vector<wire::LeaseRow> now;
  Past past;
};

[[nodiscard]] std::string report_page(const Reported& reported);

}  // namespace portcullis::tools::leasectl
