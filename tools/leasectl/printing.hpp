// SPDX-License-Identifier: BSD-3-Clause
//
// What the commands of leasectl share: whose leases are meant, and how something is printed.
#pragma once

#include <cstdint>
#include <string>

#include "tools/leasectl/commands.hpp"
#include "tools/leasectl/report.hpp"

namespace portcullis::tools::leasectl {

template <class T>
void print(const Options& options, const World& world, const T& what) {
  const std::string text = options.json ? json_of(what) : text_of(what);
  if (!text.empty()) world.print(text);
}

[[nodiscard]] inline std::uint64_t tenant_of(const Options& options,
                                             const client::Connection& leased) {
  if (options.every_tenant) return wire::kEveryTenant;
  return options.tenant.value_or(leased.server().tenant);
}

}  // namespace portcullis::tools::leasectl
