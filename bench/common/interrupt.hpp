// SPDX-License-Identifier: BSD-3-Clause
//
// Ctrl-C in the middle of a long program: what was measured so far is still printed and written,
// and what was not is named. The second time the program ends as if there were no handler.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace portcullis::bench {

/// Heeds SIGINT and SIGTERM from now on.
void heed_interrupts() noexcept;
[[nodiscard]] bool is_interrupted() noexcept;
/// An error of this text once somebody has asked the program to end.
inline constexpr std::string_view kInterrupted = "interrupted";
[[nodiscard]] Result<void> check_not_interrupted();

}  // namespace portcullis::bench
