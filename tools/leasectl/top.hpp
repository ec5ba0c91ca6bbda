// SPDX-License-Identifier: BSD-3-Clause
//
// leasectl top: the server and its tenants, again and again.
#pragma once

#include "client/connection.hpp"
#include "tools/leasectl/commands.hpp"

namespace portcullis::tools::leasectl {

[[nodiscard]] Result<int> top(const Options& options, const World& world,
                              client::Connection& leased);

}  // namespace portcullis::tools::leasectl
