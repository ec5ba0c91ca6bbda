// SPDX-License-Identifier: BSD-3-Clause
//
// What somebody may be to the server, and how a certificate says it: by a subject alternative name
// of type URI, "portcullis:TENANT:ROLE" (docs/wire.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/ops.hpp"

namespace portcullis::wire {

struct Account {
  std::uint64_t tenant = 0;
  Role role = Role::Client;
  bool operator==(const Account&) const = default;
};

/// "URI:portcullis:7:client".
[[nodiscard]] std::string certificate_name(const Account& account);
/// None for any other name.
[[nodiscard]] std::optional<Account> read_certificate_name(std::string_view name);
/// "client", "operator" or "observer".
[[nodiscard]] std::optional<Role> parse_role(std::string_view text) noexcept;

}  // namespace portcullis::wire
