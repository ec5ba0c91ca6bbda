// SPDX-License-Identifier: BSD-3-Clause
//
// One run as one HTML file: what was concluded, what was not looked at, pictures and tables. No
// script and nothing from a network, so that it can be kept and sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pfc/topology.hpp"
#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {

class Page {
 public:
  /// `arguments` are those of the command, so that the run can be repeated.
  Page(std::string_view command, Arguments arguments, const pfc::Topology& topology);

  void heading(std::string_view text);
  /// As the program printed it, line by line.
  void printed(std::string_view text);
  /// What the reader must not take the rest for; a line each.
  void not_looked_at(const std::vector<std::string>& lines);
  /// From base/svg_parts.hpp.
  void picture(std::string_view svg);
  /// The fabric, and the links that wait for each other in red; where it has too many nodes to tell
  /// apart, a line that says so.
  void fabric(const std::vector<pfc::LinkId>& cycle);
  /// The first column is text.
  void table(const std::vector<std::string>& head,
             const std::vector<std::vector<std::string>>& rows);

  /// For --report, at the end of the work (program::keep_output).
  void keep(const std::string& path) const;

 private:
  const pfc::Topology& topology_;
  std::string body_;
};

/// For --help.
inline constexpr const char* kReportHelp = "write this run as one HTML page to this file";

/// "time, 1 is 8 us" and "data, 1 is 40 KB", as the scenario has its units.
[[nodiscard]] std::string time_axis(const pfc::Topology& topology);
[[nodiscard]] std::string data_axis(const pfc::Topology& topology);
/// "61.5 us" and "12.4 KB" of what is in the scenario's units; "unlimited".
[[nodiscard]] std::string time_text(const pfc::Topology& topology, double time);
[[nodiscard]] std::string data_text(const pfc::Topology& topology, double data);

}  // namespace portcullis::tools::pfc_deadlock
