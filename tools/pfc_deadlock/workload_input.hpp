// SPDX-License-Identifier: BSD-3-Clause
//
// --workload: messages from a file, or of a named kind.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/packet/workload.hpp"
#include "pfc/topology.hpp"

namespace portcullis::tools::pfc_deadlock {

/// For --help.
inline constexpr const char* kWorkloadHelp =
    "messages: a .csv of from,to,bytes,start_us,priority; incast:SENDERS,BYTES,EVERY_US (0: once); "
    "permutation:BYTES; web-search:LOAD, storage:LOAD or cdf:FILE,LOAD, at random between all "
    "hosts, "
    "LOAD the share of each host's link";

/// The file that workload_of() would read; empty: none.
[[nodiscard]] std::string workload_file(const std::string& spec);

/// InvalidArgument names the option, or the file and its line.
[[nodiscard]] Result<std::vector<pfc::packet::Message>> workload_of(
    const std::string& spec, const pfc::Topology& topology, const pfc::packet::MadeUp& made);

}  // namespace portcullis::tools::pfc_deadlock
