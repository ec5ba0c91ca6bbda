// SPDX-License-Identifier: BSD-3-Clause
//
// A node's share of a tenant's quota, as those speak of it who need it and who take it in etcd
// (shares.hpp). No I/O.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "fleet/directory.hpp"

namespace portcullis::fleet {

/// What a node needs of a tenant's quota. A later one takes the place of an earlier one.
struct ShareWanted {
  std::uint64_t tenant = 0;
  std::uint64_t number = 0;  // that the answer has
  Amount held = {};          // there already; no quota takes it away
  Amount wanted = {};        // at least `held`
  Amount most = {};          // where no quota says less, so much is taken at once
  /// What servers before this one have left of the tenant is not known to be gone: the share that
  /// the node has in etcd when it is first looked at stays taken beside what is wanted.
  bool keeps_before = false;
};

/// What came of it.
struct ShareIs {
  std::uint64_t tenant = 0;
  std::uint64_t number = 0;
  Amount most = {};  // that the node may hold of the tenant
  bool has_quota = false;
  std::optional<Error> why = {};  // less than was wanted: OutOfResources by the quota
};

/// A tenant's quota and shares as they were at one revision, without `keeps_before`'s part.
struct Room {
  Amount quota{.leases = kNoLimit, .bytes = kNoLimit};
  Amount others = {};  // shares of other nodes
  Amount own = {};
};

/// What a node is to have then: all that it wants where that fits, with something to spare for the
/// next grants; otherwise what there is, and never less than it holds.
[[nodiscard]] Amount share_of(const ShareWanted& wanted, const Room& room) noexcept;

}  // namespace portcullis::fleet
