// SPDX-License-Identifier: BSD-3-Clause
//
// Which host this is, for a journal that may be carried to another: there a function of the same
// name is another function, whose reset ends nothing that the first one holds.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace portcullis::service::daemon {

/// 16 hex digits that the host keeps over its boots; empty where it has no machine id. That itself
/// is confidential, so this is the start of a keyed hash of it, as machine-id(5) wants: "with a
/// cryptographic, keyed hash function, using a fixed, application-specific key" (HMAC-SHA-256).
[[nodiscard]] std::string host_identity(
    const std::filesystem::path& machine_id = "/etc/machine-id");

/// A function's name in the journal: "0000:03:00.0@61c35e9a0b6f1d24"; the name alone where the host
/// is not known.
[[nodiscard]] std::string function_on_host(std::string_view function, std::string_view host);

/// And without the host again.
[[nodiscard]] std::string_view function_alone(std::string_view function) noexcept;

}  // namespace portcullis::service::daemon
