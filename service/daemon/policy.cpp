// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/policy.hpp"

#include <algorithm>

namespace portcullis::service::daemon {

std::vector<Account> Certificates::all_of(std::span<const std::string> names) const {
  std::vector<Account> said;
  for (const std::string& name : names) {
    const auto listed = by_name.find(name);
    const auto account =
        listed != by_name.end() ? std::optional(listed->second) : wire::read_certificate_name(name);
    if (account && std::find(said.begin(), said.end(), *account) == said.end())
      said.push_back(*account);
  }
  return said;
}

std::optional<Account> Certificates::of(std::span<const std::string> names) const {
  const auto said = all_of(names);
  return said.size() == 1 ? std::optional(said.front()) : std::nullopt;
}

bool Certificates::is_torn(std::span<const std::string> names) const {
  return all_of(names).size() > 1;
}

}  // namespace portcullis::service::daemon
