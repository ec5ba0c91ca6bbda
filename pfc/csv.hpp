// SPDX-License-Identifier: BSD-3-Clause
//
// CSV as RFC 4180 has it: rows as they come, tables whose header line names the fields, and the
// line of the file that each row began on. A byte order mark, as Excel's "CSV UTF-8" begins, is no
// part of it; empty lines are left out, and lines that begin with #.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::pfc {

/// A name as a field of a file that we write.
[[nodiscard]] std::string csv_field(std::string_view text);

struct CsvRow {
  std::size_t line = 0;
  std::vector<std::string> fields;
};

/// Row by row, for files that are too long to be held twice. The texts must outlive it.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view file) noexcept;

  /// False at the end. A quoted field may hold commas, quotes and ends of lines; Malformed, as
  /// "FILE:LINE: what", where one is not closed, or text stands behind it.
  [[nodiscard]] Result<bool> next(CsvRow& row);

 private:
  void skip_line() noexcept;
  [[nodiscard]] Result<void> read(CsvRow& row);
  [[nodiscard]] std::string plain();
  [[nodiscard]] Result<std::string> quoted();

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

struct Csv {
  std::size_t header_line = 1;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;  // with as many fields as the header

  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
};

/// The whole of a file with a header line. Malformed, as "FILE:LINE: what".
[[nodiscard]] Result<Csv> parse_csv(std::string_view text, std::string_view file);

}  // namespace portcullis::pfc
