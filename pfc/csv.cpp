// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.hpp"

namespace portcullis::pfc {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

CsvReader::CsvReader(std::string_view text, std::string_view file) noexcept
    : text_(text), file_(file), at_(text.starts_with("\xef\xbb\xbf") ? 3 : 0) {}

Result<bool> CsvReader::next(CsvRow& row) {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      skip_line();
      continue;
    }
    row.line = line_;
    row.fields.clear();
    PORTCULLIS_TRY(read(row));
    if (row.fields.size() > 1 || !row.fields[0].empty()) return true;
  }
  return false;
}

void CsvReader::skip_line() noexcept {
  at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1;
  ++line_;
}

Result<void> CsvReader::read(CsvRow& row) {
  while (true) {
    if (at_ < text_.size() && text_[at_] == '"') {
      PORTCULLIS_TRY_ASSIGN(auto field, quoted());
      row.fields.push_back(std::move(field));
    } else {
      row.fields.push_back(plain());
    }
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ == text_.size()) return {};
    const char end = text_[at_++];
    if (end == ',') continue;
    if (end != '\n')
      return fail(Errc::Malformed,
                  fmt::format("{}:{}: text behind a closing quote; a comma or the end of the line "
                              "is accepted",
                              file_, line_));
    ++line_;
    return {};
  }
}

std::string CsvReader::plain() {
  const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
  std::string field(text_.substr(at_, end - at_));
  at_ = end;
  return field;
}

Result<std::string> CsvReader::quoted() {
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

std::optional<std::size_t> Csv::column(std::string_view name) const {
  const auto found = std::ranges::find(header, name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

Result<Csv> parse_csv(std::string_view text, std::string_view file) {
  CsvReader reader(text, file);
  CsvRow row;
  PORTCULLIS_TRY_ASSIGN(const bool has_header, reader.next(row));
  if (!has_header) return fail(Errc::Malformed, fmt::format("{}:1: no header line", file));
  Csv csv{row.line, std::move(row.fields), {}};
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const bool is_row, reader.next(row));
    if (!is_row) return csv;
    if (row.fields.size() != csv.header.size())
      return fail(Errc::Malformed,
                  fmt::format("{}:{}: {} fields; {}, as the header has, are accepted", file,
                              row.line, row.fields.size(), csv.header.size()));
    csv.rows.push_back(std::move(row));
    row = {};
  }
}

}  // namespace portcullis::pfc
