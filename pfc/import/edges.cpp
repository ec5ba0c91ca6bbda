// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/import/edges.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "pfc/import/csv.hpp"

namespace portcullis::pfc::import {
namespace {

struct Columns {
  std::size_t node_a = 0;
  std::size_t node_b = 0;
  std::optional<std::size_t> port_a, port_b, gbps;
};

Result<Columns> columns_of(const Csv& csv, std::string_view file) {
  for (const auto& [a, b, port_a, port_b] :
       {std::tuple("node_a", "node_b", "port_a", "port_b"),
        std::tuple("side_a_device", "side_b_device", "side_a_name", "side_b_name")})
    if (csv.column(a) && csv.column(b))
      return Columns{*csv.column(a), *csv.column(b), csv.column(port_a), csv.column(port_b),
                     csv.column("gbps")};
  return bad(file, csv.header_line, "header",
             "neither node_a and node_b nor side_a_device and side_b_device; one of these pairs is "
             "accepted");
}

Result<double> gbps_of(const File& file, const CsvRow& row, std::size_t column) {
  const std::string& text = row.fields[column];
  double gbps = 0;
  if (text.empty()) return gbps;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gbps);
  if (error != std::errc() || end != text.data() + text.size() || !(gbps > 0) ||
      !std::isfinite(gbps))
    return bad(file.name, row.line, "gbps",
               fmt::format("\"{}\"; a number above 0 is accepted", text));
  return gbps;
}

}  // namespace

Result<void> add_edges(const File& file, Draft& to) {
  PORTCULLIS_TRY(expect_utf8(file));
  PORTCULLIS_TRY_ASSIGN(const Csv csv, parse_csv(file.text, file.name));
  PORTCULLIS_TRY_ASSIGN(const Columns columns, columns_of(csv, file.name));
  for (const CsvRow& row : csv.rows) {
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
  if (csv.rows.empty()) return bad(file.name, 1, "rows", "none; a cable a line is accepted");
  return {};
}

Result<Imported> from_edges(const File& file) {
  Draft draft(file.name);
  PORTCULLIS_TRY(add_edges(file, draft));
  draft.find_hosts();
  Imported imported;
  PORTCULLIS_TRY_ASSIGN(imported.topology, draft.finish());
  return imported;
}

}  // namespace portcullis::pfc::import
