// SPDX-License-Identifier: BSD-3-Clause
//
// What no program takes as an argument, whatever it is for: what would make its own message one
// that nobody can read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace portcullis::program {

/// Bytes of one argument; a path has 4096 at most.
inline constexpr std::size_t kMostArgumentBytes = 16'384;

/// One line about the first argument that is too long or has a control character; empty when there
/// is none. `command_line` is as /proc/self/cmdline has it: each argument with a 0 behind it, the
/// program's name first.
[[nodiscard]] std::string wrong_argument(std::string_view command_line);

}  // namespace portcullis::program
