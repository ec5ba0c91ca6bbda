// SPDX-License-Identifier: BSD-3-Clause
//
// Whether --etcd's endpoints are all of one cluster: of another one's nodes nothing is known.
#pragma once

#include "base/result.hpp"
#include "fleet/etcd.hpp"
#include "tools/leasectl/commands.hpp"

namespace portcullis::tools::leasectl {

/// DeviceFailed names one that is of another cluster than what has answered so far. One that does
/// not answer is named by a line, and may be of any.
[[nodiscard]] Result<void> check_one_cluster(fleet::Etcd& etcd, const World& world);
/// The same before anything else is asked, or written. False: a line says which is of another.
[[nodiscard]] Result<bool> is_one_cluster(fleet::Etcd& etcd, const World& world);

}  // namespace portcullis::tools::leasectl
