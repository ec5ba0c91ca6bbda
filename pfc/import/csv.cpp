// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/import/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.hpp"

namespace portcullis::pfc::import {
namespace {

/// Splits the text into rows; a quoted field may hold commas, quotes and ends of lines.
class Splitter {
 public:
  Splitter(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<CsvRow>> run() {
    std::vector<CsvRow> rows;
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // as Excel's "CSV UTF-8" begins
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        skip_line();
        continue;
      }
      CsvRow row{line_, {}};
      PORTCULLIS_TRY(read(row));
      if (row.fields.size() > 1 || !row.fields[0].empty()) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  void skip_line() {
    at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
    ++line_;
  }

  Result<void> read(CsvRow& row) {
    while (true) {
      const bool is_quoted = at_ < text_.size() && text_[at_] == '"';
      PORTCULLIS_TRY_ASSIGN(auto field, is_quoted ? quoted() : plain());
      row.fields.push_back(std::move(field));
      if (at_ < text_.size() && text_[at_] == '\r') ++at_;
      if (at_ == text_.size()) return {};
      const char end = text_[at_++];
      if (end == ',') continue;
      if (end != '\n')
        return fail(Errc::Malformed,
                    fmt::format("{}:{}: text behind a closing quote; a comma or the end of the "
                                "line is accepted",
                                file_, line_));
      ++line_;
      return {};
    }
  }

  Result<std::string> plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string field(text_.substr(at_, end - at_));
    at_ = end;
    return field;
  }

  Result<std::string> quoted() {
    const std::size_t begun = line_;
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        field += text_[at_];
        continue;
      }
      ++at_;
      // A name may go over lines here.
      if (at_ == text_.size() || text_[at_] != '"') return one_line(std::move(field));
      field += '"';
    }
    return fail(Errc::Malformed, fmt::format("{}:{}: a quote that is never closed", file_, begun));
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

std::optional<std::size_t> Csv::column(std::string_view name) const {
  const auto found = std::ranges::find(header, name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

Result<Csv> parse_csv(std::string_view text, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(std::vector<CsvRow> rows, Splitter(text, file).run());
  if (rows.empty()) return fail(Errc::Malformed, fmt::format("{}:1: no header line", file));
  Csv csv{rows.front().line, std::move(rows.front().fields), {}};
  rows.erase(rows.begin());
  for (const CsvRow& row : rows)
    if (row.fields.size() != csv.header.size())
      return fail(Errc::Malformed,
                  fmt::format("{}:{}: {} fields; {}, as the header has, are accepted", file,
                              row.line, row.fields.size(), csv.header.size()));
  csv.rows = std::move(rows);
  return csv;
}

}  // namespace portcullis::pfc::import
