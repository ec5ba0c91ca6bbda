// SPDX-License-Identifier: BSD-3-Clause
//
// Names as they come, in what we write as CSV.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::pfc {

/// A field of a CSV file as RFC 4180 has it.
[[nodiscard]] inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace portcullis::pfc
