// SPDX-License-Identifier: BSD-3-Clause
//
// Where driver and leases say what is no error but worth knowing: that the link is down, that a
// hypothesis held. A program repeats much, so each line is told once.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include "base/log_sink.hpp"

namespace portcullis::program {

/// More are left out, and that is told too.
inline constexpr std::size_t kMostLogLines = 200;

/// "PROGRAM: LINE" to `file`, which must stay open; a line that was told already is not told again.
[[nodiscard]] LogSink log_once_to(std::FILE* file, std::string program);
/// The same for standard error and this program's name, whoever asks for it: once a process.
[[nodiscard]] LogSink log_to_stderr();

}  // namespace portcullis::program
