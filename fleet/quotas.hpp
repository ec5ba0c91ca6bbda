// SPDX-License-Identifier: BSD-3-Clause
//
// Quotas from the operator's side: what a tenant may have over all nodes is set, and what they have
// taken of it is read. Nodes keep to it by themselves (shares.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "fleet/directory.hpp"
#include "fleet/etcd.hpp"

namespace portcullis::fleet {

/// What it says nothing of stays as it was.
struct QuotaChange {
  bool lifts = false;  // both limits, first
  std::optional<std::uint64_t> leases = {};
  std::optional<std::uint64_t> bytes = {};
};

struct NodeShare {
  std::string name = {};
  Amount taken = {};
  bool has_session = false;
  /// It has no session, and is no member or had ended with nothing held: its share is anybody's.
  bool is_free = false;
  std::string fault = {};  // not empty: it cannot be read, and nobody takes more while it is there
};

/// Of one tenant, at one revision.
struct QuotaUse {
  std::uint64_t tenant = 0;
  bool has_quota = false;
  Quota quota = {};
  std::string fault = {};  // not empty: it cannot be read, and nodes take nothing more
  std::vector<NodeShare> shares = {};

  /// By nodes whose share is not free.
  [[nodiscard]] Amount taken() const noexcept;
};

/// What it is then. Busy: others set it again and again at the same time. Timeout and System: it
/// may have been set all the same.
[[nodiscard]] Result<QuotaUse> set_quota(Etcd& etcd, std::uint64_t tenant,
                                         const QuotaChange& change);
struct Quotas {
  std::vector<QuotaUse> uses = {};
  std::vector<std::string> strange = {};  // keys that are no tenant's, and count for nothing
};
/// Of every tenant that has a quota or a share, or of that one.
[[nodiscard]] Result<Quotas> read_quotas(Etcd& etcd, std::optional<std::uint64_t> tenant);

/// The share of a node that is certain to hold nothing of the tenant any more becomes 0, unless the
/// node has joined since: then it says itself what it holds. True once it is 0.
struct GoneNode {
  std::string name = {};
  std::uint64_t node = 0;
  std::uint64_t member_revision = 0;  // of its member's key, when that became certain
};
[[nodiscard]] Result<bool> give_back_share(Etcd& etcd, std::uint64_t tenant, const GoneNode& gone);

}  // namespace portcullis::fleet
