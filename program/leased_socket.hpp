// SPDX-License-Identifier: BSD-3-Clause
//
// Where leased listens and leasectl asks when neither is told.
#pragma once

#include <filesystem>

namespace portcullis::program {

/// /run/portcullis/leased.sock for root; in the user's own run directory (XDG_RUNTIME_DIR) for
/// everybody else, or under /tmp where there is none.
[[nodiscard]] std::filesystem::path leased_socket();

}  // namespace portcullis::program
