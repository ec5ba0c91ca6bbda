// SPDX-License-Identifier: BSD-3-Clause
//
// The compiled part of fmt, for a program that is linked without shared libraries: Debian has it as
// a shared library only. With FMT_HEADER_ONLY, which CMake sets for this file, fmt's functions are
// inline here; naming the one that the program's other files call brings it and what it calls.
#include <fmt/format.h>

namespace portcullis::tools::failover_check {

extern std::string (*const formatting)(fmt::string_view, fmt::format_args);
std::string (*const formatting)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace portcullis::tools::failover_check
