// SPDX-License-Identifier: BSD-3-Clause
//
// A recording of commands (docs/trace-format.md) in memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "trace/command_text.hpp"

namespace portcullis::trace {

/// Bytes of all messages of one recording together: a few bytes of text may announce long messages,
/// and a reader must not take what it is told for what it has.
inline constexpr std::size_t kMaxRecordingBytes = std::size_t{1} << 28;

struct Recording {
  std::string source;
  std::vector<TraceCommand> commands;  // by sequence
};

/// Malformed, as "FILE:LINE: what; what is accepted", for text that is no recording or a damaged
/// one. `file` is only a name.
[[nodiscard]] Result<Recording> parse_recording(std::string_view text, std::string_view file);
[[nodiscard]] std::string to_text(const Recording& recording);

}  // namespace portcullis::trace
