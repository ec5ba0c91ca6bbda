// SPDX-License-Identifier: BSD-3-Clause
//
// Where leased listens and leasectl asks when neither is told.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace portcullis::program {

/// /run/portcullis/leased.sock for root; in the user's own run directory (XDG_RUNTIME_DIR) for
/// everybody else, or under /tmp where there is none.
[[nodiscard]] std::filesystem::path leased_socket();
/// A folder that somebody else than root and this process's user may change is no place for a
/// socket, or a journal, that is believed: System, naming it. A sticky one is: there nobody
/// replaces what is another's.
[[nodiscard]] Result<void> check_folder(const std::filesystem::path& folder);

}  // namespace portcullis::program
