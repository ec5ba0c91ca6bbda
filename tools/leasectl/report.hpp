// SPDX-License-Identifier: BSD-3-Clause
//
// What leasectl prints: tables and sentences for people, one JSON object a line for programs. No
// key but the one a holder has just been granted, with its challenge, is ever printed.
#pragma once

#include <span>
#include <string>

#include "client/connection.hpp"
#include "wire/messages.hpp"

namespace portcullis::tools::leasectl {

/// "2026-11-23 15:04:05.678Z".
[[nodiscard]] std::string time_text(std::uint64_t unix_ms);
/// From its grant to its end; 0 where a clock was set back meanwhile.
[[nodiscard]] constexpr std::uint64_t held_ms(const wire::HistoryRow& row) noexcept {
  return row.ended_unix_ms < row.granted_unix_ms ? 0 : row.ended_unix_ms - row.granted_unix_ms;
}

[[nodiscard]] std::string text_of(const wire::StatusAnswer& status);
[[nodiscard]] std::string text_of(std::span<const wire::LeaseRow> rows);
[[nodiscard]] std::string text_of(std::span<const wire::HistoryRow> rows);
[[nodiscard]] std::string text_of(const wire::AllocAnswer& lease);
/// Empty where nothing is asked for.
[[nodiscard]] std::string text_of(const wire::ChallengeAnswer& challenge);
[[nodiscard]] std::string text_of(const wire::RevokeAnswer& answer);
[[nodiscard]] std::string text_of(const wire::RevokeTenantAnswer& answer);
[[nodiscard]] std::string text_of(const client::News& news);

[[nodiscard]] std::string json_of(const wire::StatusAnswer& status);
/// A line for each.
[[nodiscard]] std::string json_of(std::span<const wire::LeaseRow> rows);
[[nodiscard]] std::string json_of(std::span<const wire::HistoryRow> rows);
[[nodiscard]] std::string json_of(const wire::AllocAnswer& lease);
[[nodiscard]] std::string json_of(const wire::ChallengeAnswer& challenge);
[[nodiscard]] std::string json_of(const wire::RevokeAnswer& answer);
[[nodiscard]] std::string json_of(const wire::RevokeTenantAnswer& answer);
[[nodiscard]] std::string json_of(const client::News& news);

}  // namespace portcullis::tools::leasectl
