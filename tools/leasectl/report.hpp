// SPDX-License-Identifier: BSD-3-Clause
//
// What leasectl prints: tables and sentences for people, one JSON object a line for programs. No
// key but the one a holder has just been granted is ever printed.
#pragma once

#include <span>
#include <string>

#include "client/connection.hpp"
#include "wire/messages.hpp"

namespace portcullis::tools::leasectl {

[[nodiscard]] std::string name_text(std::uint64_t id, std::uint64_t epoch);

[[nodiscard]] std::string text_of(const wire::StatusAnswer& status);
[[nodiscard]] std::string text_of(std::span<const wire::LeaseRow> rows);
[[nodiscard]] std::string text_of(const wire::AllocAnswer& lease);
[[nodiscard]] std::string text_of(const wire::RevokeAnswer& answer);
[[nodiscard]] std::string text_of(const wire::RevokeTenantAnswer& answer);
[[nodiscard]] std::string text_of(const client::News& news);

[[nodiscard]] std::string json_of(const wire::StatusAnswer& status);
/// A line for each.
[[nodiscard]] std::string json_of(std::span<const wire::LeaseRow> rows);
[[nodiscard]] std::string json_of(const wire::AllocAnswer& lease);
[[nodiscard]] std::string json_of(const wire::RevokeAnswer& answer);
[[nodiscard]] std::string json_of(const wire::RevokeTenantAnswer& answer);
[[nodiscard]] std::string json_of(const client::News& news);

}  // namespace portcullis::tools::leasectl
