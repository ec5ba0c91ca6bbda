// SPDX-License-Identifier: BSD-3-Clause
//
// leasectl revoke-tenant --everywhere: asks etcd, and through it every node; no server of its own.
#pragma once

#include <string>

#include "base/result.hpp"
#include "fleet/revocation.hpp"
#include "tools/leasectl/commands.hpp"

namespace portcullis::tools::leasectl {

/// The exit status; an error: nothing is known of any node, and the epoch may have been raised.
[[nodiscard]] Result<int> revoke_everywhere(const Options& options, const World& world);

struct Everywhere {
  const fleet::Revocation& revocation;
  bool is_one_cluster = true;  // otherwise nothing is known of the other one's nodes
};
/// What the nodes' standings come to; the worst decides.
[[nodiscard]] int status_of(const Everywhere& answer) noexcept;
/// A row for each node, and a line of what is certain.
[[nodiscard]] std::string text_of(const Everywhere& answer);
/// An object a line: each node, then the whole.
[[nodiscard]] std::string json_of(const Everywhere& answer);

}  // namespace portcullis::tools::leasectl
