// SPDX-License-Identifier: BSD-3-Clause
//
// What a figure is worth: device, timing, behaviours, clock, lcores, versions, build. Goes into
// Google Benchmark's context, hence into every JSON, and under the title of every picture.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attach/open_device.hpp"
#include "bench/common/options.hpp"
#include "proof/session.hpp"

namespace portcullis::bench {

/// Key and value, in the order of printing.
using RunContext = std::vector<std::pair<std::string, std::string>>;

/// `clocks` names the clocks of the series: "virtual", "wall" or both.
[[nodiscard]] RunContext describe_run(const Options& options, const attach::DeviceSpec& spec,
                                      proof::Session& session, const std::string& clocks,
                                      const std::vector<std::string>& lcore_findings);
/// One line of it, without the clock, which stands in the name of each series and picture. Says
/// "emulated, not NIC latency" of a model.
[[nodiscard]] std::string subtitle_of(const RunContext& context);
/// Whether the lcores are fit for polling; one line a finding, none when all is well.
[[nodiscard]] std::vector<std::string> find_lcore_faults(const attach::DeviceSpec& spec);

}  // namespace portcullis::bench
