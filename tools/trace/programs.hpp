// SPDX-License-Identifier: BSD-3-Clause
//
// trace-diff and trace-import without main: arguments in, text and exit status out.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace portcullis::tools::trace {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

inline constexpr int kExitSame = 0;
inline constexpr int kExitDifferent = 1;
inline constexpr int kExitBad = 2;  // usage, or a file that is none

/// `arguments` without the program's name. "-" is standard input.
[[nodiscard]] Outcome trace_diff(std::span<const std::string_view> arguments);
[[nodiscard]] Outcome trace_import(std::span<const std::string_view> arguments);

/// Runs `program`, which is called `name`, on main's arguments: prints, and gives the exit status.
int run_program(std::string_view name, Outcome (*program)(std::span<const std::string_view>),
                int argc, char** argv);

}  // namespace portcullis::tools::trace
