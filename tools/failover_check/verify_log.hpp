// SPDX-License-Identifier: BSD-3-Clause
//
// A dump for `classify` from what `lease-verify --revoke-test --json` saw: the operation that
// failed when the lease was revoked, and those that had been posted behind it and have no
// completion.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "tools/failover_check/capture.hpp"

namespace portcullis::tools::failover_check {

/// Whether it is JSON, which no capture is.
[[nodiscard]] bool is_log(std::string_view text) noexcept;

/// As "FILE:LINE: FIELD: what": no log of lease-verify, or one that does not say what is
/// outstanding. No requests where nothing failed: then all was answered.
[[nodiscard]] Result<Capture> read_verify_log(std::string_view text, std::string_view file);

}  // namespace portcullis::tools::failover_check
