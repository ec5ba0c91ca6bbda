// SPDX-License-Identifier: BSD-3-Clause
#include "wire/account.hpp"

#include <charconv>
#include <system_error>

#include "wire/messages.hpp"

namespace portcullis::wire {
namespace {

constexpr std::string_view kScheme = "URI:portcullis:";

}  // namespace

std::optional<Role> parse_role(std::string_view text) noexcept {
  for (const auto each : {Role::Client, Role::Operator, Role::Observer})
    if (name(each) == text) return each;
  return std::nullopt;
}

std::string certificate_name(const Account& account) {
  return std::string(kScheme) + std::to_string(account.tenant) + ":" +
         std::string(name(account.role));
}

std::optional<Account> read_certificate_name(std::string_view text) {
  if (text.substr(0, kScheme.size()) != kScheme) return std::nullopt;
  const std::string_view said = text.substr(kScheme.size());
  const std::size_t colon = said.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Account account;
  const char* end = said.data() + colon;
  const auto [at, error] = std::from_chars(said.data(), end, account.tenant);
  const auto role = parse_role(said.substr(colon + 1));
  if (error != std::errc{} || at != end || !role || account.tenant == kEveryTenant)
    return std::nullopt;
  account.role = *role;
  // One tenant has one name: "07" is not "7".
  return certificate_name(account) == text ? std::optional(account) : std::nullopt;
}

}  // namespace portcullis::wire
