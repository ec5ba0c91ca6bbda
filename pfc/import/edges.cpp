// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/import/edges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "pfc/csv.hpp"

namespace portcullis::pfc::import {
namespace {

constexpr const char* kNetBoxSide = "side_a_device";

struct Columns {
  std::size_t node_a = 0;
  std::size_t node_b = 0;
  std::optional<std::size_t> port_a, port_b, gbps;
  bool is_netbox = false;
};

Result<Columns> columns_of(const Csv& csv, std::string_view file) {
  for (const auto& [a, b, port_a, port_b] :
       {std::tuple("node_a", "node_b", "port_a", "port_b"),
        std::tuple(kNetBoxSide, "side_b_device", "side_a_name", "side_b_name")})
    if (csv.column(a) && csv.column(b))
      return Columns{*csv.column(a),     *csv.column(b),     csv.column(port_a),
                     csv.column(port_b), csv.column("gbps"), a == std::string_view(kNetBoxSide)};
  return bad(file, csv.header_line, "header",
             "neither node_a and node_b nor side_a_device and side_b_device; one of these pairs is "
             "accepted");
}

Result<double> gbps_of(const File& file, const CsvRow& row, std::size_t column) {
  const std::string& text = row.fields[column];
  double gbps = 0;
  if (text.empty()) return gbps;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gbps);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (const auto problem = bad_speed(is_whole ? std::optional(gbps) : std::nullopt, text))
    return bad(file.name, row.line, "gbps", *problem);
  return gbps;
}

/// NetBox keeps cables that are not there yet, and such of which one end is free.
class NetBoxRows {
 public:
  NetBoxRows(const Csv& csv, const Columns& columns)
      : columns_(columns), status_(columns.is_netbox ? csv.column("status") : std::nullopt) {}

  /// Whether the row is a cable that data can take; counts it where it is none.
  [[nodiscard]] bool is_cable(const CsvRow& row) {
    if (!columns_.is_netbox) return true;
    if (row.fields[columns_.node_a].empty() || row.fields[columns_.node_b].empty()) {
      ++open_;
      return false;
    }
    if (!status_) return true;
    const std::string& status = row.fields[*status_];
    const bool is_planned = is_like("planned", status);
    if (is_planned) ++planned_;
    if (!is_planned && !status.empty() && !is_like("connected", status)) ++others_[status];
    return !is_planned;
  }

  void tell(Draft& to) const {
    if (open_ > 0) to.note(fmt::format("{} cables with a free end, left out", open_));
    if (planned_ > 0)
      to.note(
          fmt::format("{} cables of status planned, left out; what is there already is "
                      "\"connected\"",
                      planned_));
    for (const auto& [status, count] : others_)
      to.note(fmt::format("{} cables of status \"{}\", taken for there as if connected", count,
                          one_line(status)));
  }

 private:
  /// As the export of a table has it too: "Planned".
  [[nodiscard]] static bool is_like(std::string_view status, std::string_view text) {
    return std::ranges::equal(status, text, {}, {}, [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  }

  const Columns& columns_;
  std::optional<std::size_t> status_;
  std::size_t open_ = 0;
  std::size_t planned_ = 0;
  std::map<std::string, std::size_t> others_;  // by status
};

}  // namespace

Result<void> add_edges(const File& file, Draft& to) {
  PORTCULLIS_TRY(expect_utf8(file));
  PORTCULLIS_TRY_ASSIGN(const Csv csv, parse_csv(file.text, file.name));
  PORTCULLIS_TRY_ASSIGN(const Columns columns, columns_of(csv, file.name));
  NetBoxRows netbox(csv, columns);
  for (const CsvRow& row : csv.rows) {
    if (!netbox.is_cable(row)) continue;
    const auto end = [&](std::size_t node, const std::optional<std::size_t>& port) {
      return End{row.fields[node], port ? row.fields[*port] : ""};
    };
    double gbps = 0;
    if (columns.gbps) {
      PORTCULLIS_TRY_ASSIGN(gbps, gbps_of(file, row, *columns.gbps));
    }
    for (const std::size_t column : {columns.node_a, columns.node_b})
      if (row.fields[column].empty())
        return bad(file.name, row.line, csv.header[column], "empty; a node's name is accepted");
    const auto added = to.add_cable(end(columns.node_a, columns.port_a),
                                    end(columns.node_b, columns.port_b), gbps);
    if (!added) return bad(file.name, row.line, "cable", added.error().text);
  }
  netbox.tell(to);
  if (csv.rows.empty()) return bad(file.name, 1, "rows", "none; a cable a line is accepted");
  return {};
}

Result<Imported> from_edges(const File& file) {
  Draft draft(file.name);
  PORTCULLIS_TRY(add_edges(file, draft));
  draft.find_hosts();
  Imported imported;
  PORTCULLIS_TRY(draft.finish(imported));
  return imported;
}

}  // namespace portcullis::pfc::import
