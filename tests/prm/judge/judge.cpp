// SPDX-License-Identifier: BSD-3-Clause
//
// judge ROWS.tsv..: compares rows of prm/ with what the installed headers say of the same names. A
// row is "layout field offset width" or "name value". Prints each difference and one line of sums;
// exits 0 without differences, 1 with, 2 when it cannot judge.
#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/prm/judge/judge.h"

namespace {

struct Row {
  std::string key;
  unsigned long long first = 0, second = 0;
};

struct Sums {
  std::size_t compared = 0, differences = 0, unjudged = 0, required = 0, later = 0;
};

constexpr std::string_view kUnjudged = "unjudged ";

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream stream(line);
  for (std::string column; std::getline(stream, column, '\t');) columns.push_back(column);
  return columns;
}

/// False when `text` is not a number from its first to its last character.
bool parse(const std::string& text, unsigned long long& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stopped == end;
}

/// False when a line is no row or the file cannot be read.
bool read_rows(const char* path, std::vector<Row>& rows) {
  std::ifstream file(path);
  if (!file) return false;
  for (std::string line; std::getline(file, line);) {
    const auto columns = columns_of(line);
    const bool is_field = columns.size() == 4;
    if (!is_field && columns.size() != 2) return false;
    Row row{is_field ? columns[0] + " " + columns[1] : columns[0]};
    if (!parse(columns[is_field ? 2 : 1], row.first)) return false;
    if (is_field && !parse(columns[3], row.second)) return false;
    rows.push_back(std::move(row));
  }
  return true;
}

std::multimap<std::string_view, const reference*> all_references() {
  std::multimap<std::string_view, const reference*> all;
  for (const reference* const* table = references; *table != nullptr; ++table)
    for (const reference* r = *table; r->key != nullptr; ++r) all.emplace(r->key, r);
  return all;
}

bool is_known_of_later(const Row& row, const reference& theirs) {
  for (const later_linux* known = later; known->key != nullptr; ++known)
    if (row.key == known->key && row.first == known->ours[0] && row.second == known->ours[1])
      return theirs.first == known->theirs[0] && theirs.second == known->theirs[1];
  return false;
}

void compare(const Row& row, const std::multimap<std::string_view, const reference*>& all,
             Sums& sums) {
  if (row.key.starts_with(kUnjudged)) {
    fmt::print("in no installed header: {} {:#x}\n", row.key.substr(kUnjudged.size()), row.first);
    ++sums.unjudged;
    return;
  }
  const auto [begin, end] = all.equal_range(row.key);
  if (begin == end) {
    fmt::print("difference: {} is in no header\n", row.key);
    ++sums.differences;
  }
  for (auto at = begin; at != end; ++at) {
    const reference& theirs = *at->second;
    if (*theirs.header == '\0') {
      fmt::print("in no installed header: {}\n", row.key);
      ++sums.unjudged;
      continue;
    }
    ++sums.compared;
    if (theirs.first == row.first && theirs.second == row.second) continue;
    const bool is_known = is_known_of_later(row, theirs);
    ++(is_known ? sums.later : sums.differences);
    fmt::print("{}: {} is {} {} here and {} {} in {}\n", is_known ? "later Linux" : "difference",
               row.key, row.first, row.second, theirs.first, theirs.second, theirs.header);
  }
}

/// A member is there when a row names it, or a member of it.
void require(const std::string& member, const std::vector<Row>& rows, Sums& sums) {
  ++sums.required;
  for (const Row& row : rows)
    if (row.key == member || row.key.starts_with(member + ".")) return;
  ++sums.differences;
  fmt::print("difference: {} is in mlx5_ifc.h and not here\n", member);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Row> rows;
  for (int i = 1; i < argc; ++i)
    if (!read_rows(argv[i], rows)) {
      fmt::print(stderr, "judge: {} cannot be read or has a line that is no row\n", argv[i]);
      return 2;
    }
  if (rows.empty()) {
    fmt::print(stderr, "judge: no rows; usage: judge ROWS.tsv..\n");
    return 2;
  }
  Sums sums;
  const auto all = all_references();
  for (const Row& row : rows) compare(row, all, sums);
  for (const char* const* member = required; *member != nullptr; ++member)
    require(*member, rows, sums);
  fmt::print(
      "{} rows, {} comparisons with headers, {} members required, {} in no header, {} otherwise in "
      "later Linux: {} differences\n",
      rows.size(), sums.compared, sums.required, sums.unjudged, sums.later, sums.differences);
  return sums.differences == 0 ? 0 : 1;
}
