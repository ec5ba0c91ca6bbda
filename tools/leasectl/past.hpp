// SPDX-License-Identifier: BSD-3-Clause
//
// What the server's journal has of leases that have ended: history, fenced and report.
#pragma once

#include "client/connection.hpp"
#include "tools/leasectl/commands.hpp"

namespace portcullis::tools::leasectl {

// Each: the exit status, or why it could not be asked.
[[nodiscard]] Result<int> history(const Options& options, const World& world,
                                  client::Connection& leased);
[[nodiscard]] Result<int> fenced(const Options& options, const World& world,
                                 client::Connection& leased);
[[nodiscard]] Result<int> report(const Options& options, const World& world,
                                 client::Connection& leased);

}  // namespace portcullis::tools::leasectl
