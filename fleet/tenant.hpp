// SPDX-License-Identifier: BSD-3-Clause
//
// Which numbers are tenants.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/result.hpp"

namespace portcullis::fleet {

/// Where there is a choice it stands for every tenant (wire::kEveryTenant), so it is none's.
inline constexpr std::uint64_t kNoTenant = ~std::uint64_t{0};

/// InvalidArgument for that one: whoever fences, or sets a quota, names a tenant.
[[nodiscard]] inline Result<void> check_tenant(std::uint64_t tenant) {
  if (tenant != kNoTenant) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("tenant {}: one tenant at a time, from 0 to {}, is accepted", tenant,
                          kNoTenant - 1));
}

}  // namespace portcullis::fleet
