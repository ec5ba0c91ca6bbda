// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/policy.hpp"

namespace portcullis::service::daemon {

std::optional<Account> Certificates::of(std::span<const std::string> names) const {
  std::optional<Account> found;
  for (const std::string& name : names) {
    const auto listed = by_name.find(name);
    const auto said =
        listed != by_name.end() ? std::optional(listed->second) : wire::read_certificate_name(name);
    if (!said) continue;
    if (found && *found != *said) return std::nullopt;
    found = said;
  }
  return found;
}

}  // namespace portcullis::service::daemon
