// SPDX-License-Identifier: BSD-3-Clause
//
// From the text of a kernel log with mlx5_core's dynamic debug to a recording: a real card's
// commands, to be compared with the model's. The text is a user's: lines are cut, rows are lost,
// commands on several slots run into each other, and none of that is fatal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "trace/recording.hpp"

namespace portcullis::trace {

struct ImportedLog {
  Recording recording;
  /// What is damaged or incomplete, "FILE:LINE: what"; at most kMostWarnings and a last line that
  /// counts the rest.
  std::vector<std::string> warnings;
};
inline constexpr std::size_t kMostWarnings = 50;

/// `device` as the log spells it ("0000:03:00.0"); empty where it has but one. Malformed when the
/// log holds no command, NotFound when none of `device`, InvalidArgument when `device` is empty and
/// the log has several; the text names them.
[[nodiscard]] Result<ImportedLog> import_log(std::string_view text, std::string_view file,
                                             std::string_view device);

}  // namespace portcullis::trace
