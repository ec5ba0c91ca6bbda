// SPDX-License-Identifier: BSD-3-Clause
//
// CSV as RFC 4180 has it, with a header line: fields by name, and the line that each row began on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::pfc::import {

struct CsvRow {
  std::size_t line = 0;
  std::vector<std::string> fields;  // as many as the header has
};

struct Csv {
  std::size_t header_line = 1;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
};

/// Malformed, as "FILE:LINE: what". Empty lines are left out, and lines that begin with #.
[[nodiscard]] Result<Csv> parse_csv(std::string_view text, std::string_view file);

}  // namespace portcullis::pfc::import
