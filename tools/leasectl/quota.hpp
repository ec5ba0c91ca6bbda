// SPDX-License-Identifier: BSD-3-Clause
//
// leasectl quota: what tenants may have over all nodes, as etcd has it; no server of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "fleet/quotas.hpp"
#include "tools/leasectl/commands.hpp"

namespace portcullis::tools::leasectl {

/// The exit status; an error: it was not read, and may have been set where it was to be.
[[nodiscard]] Result<int> quota(const Options& options, const World& world);

/// A row for each tenant; of one, a row for each node as well.
[[nodiscard]] std::string text_of(const std::vector<fleet::QuotaUse>& uses);
/// An object a line: of each tenant its nodes, then the whole.
[[nodiscard]] std::string json_of(const std::vector<fleet::QuotaUse>& uses);

}  // namespace portcullis::tools::leasectl
