// SPDX-License-Identifier: BSD-3-Clause
//
// A fluid run as text: CSV, JSON, the verdict in words, and pictures.
#pragma once

#include <string>
#include <vector>

#include "pfc/fluid/fluid.hpp"
#include "tools/pfc_deadlock/second_run.hpp"

namespace portcullis::tools::pfc_deadlock {

struct Row {
  double time = 0;
  std::vector<double> values;
};

/// "t,S_f1,.." and 12 significant digits.
[[nodiscard]] std::string csv_of(const std::vector<std::string>& names,
                                 const std::vector<Row>& rows);
/// {"columns": [..], "rows": [[..], ..]} and, when there is a run, what it found, and by how much
/// the second one differs.
[[nodiscard]] std::string json_of(const pfc::Topology& topology, const pfc::FluidRun* run,
                                  const std::vector<std::string>& names,
                                  const std::vector<Row>& rows, const SecondRun& second);
/// "deadlock at t = 14.3: 1-2 waits for 2-3, .." or that there is none; then losses.
[[nodiscard]] std::string verdict_of(const pfc::Topology& topology, const pfc::FluidRun& run);
/// Service curves, queues of the ingresses and closed gates over time; needs a history.
[[nodiscard]] std::string timeline_svg(const pfc::Topology& topology, const pfc::FluidRun& run,
                                       const std::string& subtitle);
/// The first two ingresses that store something, against each other; needs a history.
[[nodiscard]] std::string phase_svg(const pfc::Topology& topology, const pfc::FluidRun& run,
                                    const std::string& subtitle);

}  // namespace portcullis::tools::pfc_deadlock
