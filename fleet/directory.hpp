// SPDX-License-Identifier: BSD-3-Clause
//
// What the fleet keeps in etcd, key by key:
//
//   /portcullis/epochs/TENANT         raised to fence TENANT everywhere. The tenant's fence epoch
//   is
//                                     the revision of that write, so one write raises it, and none
//                                     can lower it.
//   /portcullis/members/NAME          which node has that name, for good; whether it holds leases
//   /portcullis/sessions/NAME         the same node as long as it is there: goes with its session
//   /portcullis/offers/NAME           what it has left, some seconds ago: goes with its session
//   /portcullis/outcomes/TENANT/NAME  up to which epoch that node has fenced that tenant, and how
//   /portcullis/quotas/TENANT         what the tenant may have in all
//   /portcullis/shares/TENANT/NAME    how much of that the node has taken: what it may grant
//
// Whoever fences reads the members in the transaction that raises the epoch: a node that joins
// later reads the epoch before its first grant, a node that has joined is in the list.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "fleet/gateway.hpp"

namespace portcullis::fleet {

inline constexpr std::string_view kEpochs = "/portcullis/epochs/";
inline constexpr std::string_view kMembers = "/portcullis/members/";
inline constexpr std::string_view kSessions = "/portcullis/sessions/";
inline constexpr std::string_view kOffers = "/portcullis/offers/";
inline constexpr std::string_view kOutcomes = "/portcullis/outcomes/";
inline constexpr std::string_view kQuotas = "/portcullis/quotas/";
inline constexpr std::string_view kShares = "/portcullis/shares/";

[[nodiscard]] std::string epoch_key(std::uint64_t tenant);
[[nodiscard]] std::string member_key(std::string_view name);
[[nodiscard]] std::string session_key(std::string_view name);
/// Of every node's outcome of that tenant.
[[nodiscard]] std::string outcome_prefix(std::uint64_t tenant);
[[nodiscard]] std::string outcome_key(std::uint64_t tenant, std::string_view name);
[[nodiscard]] std::string offer_key(std::string_view name);
[[nodiscard]] std::string quota_key(std::uint64_t tenant);
/// Of every node's share of that tenant.
[[nodiscard]] std::string share_prefix(std::uint64_t tenant);
[[nodiscard]] std::string share_key(std::uint64_t tenant, std::string_view name);
/// Everything that begins so.
[[nodiscard]] Range all_of(std::string_view prefix);
/// None for a key that is of nobody's making here.
[[nodiscard]] std::optional<std::uint64_t> tenant_of_epoch_key(std::string_view key);
[[nodiscard]] std::optional<std::uint64_t> tenant_of_quota_key(std::string_view key);
/// Of a share's key: whose, and which node's. None for what is no such key.
struct ShareKey {
  std::uint64_t tenant = 0;
  std::string name = {};
};
[[nodiscard]] std::optional<ShareKey> read_share_key(std::string_view key);
/// What stands behind the prefix.
[[nodiscard]] std::string name_of(std::string_view key, std::string_view prefix);

/// 1 to 64 letters, digits, dots, dashes and underscores; InvalidArgument for anything else.
[[nodiscard]] Result<void> check_node_name(std::string_view name);
/// KEY=VALUE, each 1 to 64 letters, digits, dots, dashes and underscores: where a node is, for
/// whoever looks for one. At most 16, and none of a key twice. InvalidArgument names what is none.
[[nodiscard]] Result<void> check_labels(const std::vector<std::string>& labels);

/// What a node does that has been without etcd for long, as it has promised.
struct Isolation {
  std::uint64_t after_s = 0;  // since it asked for what was the last to show that its session lives
  /// What is due is done within so long, or the server is ended within as much again: the word of
  /// whoever configured it. 0: nobody says so, and then no time makes anything certain.
  std::uint64_t stall_s = 0;
  std::vector<std::uint64_t> tenants = {};  // whose leases it revokes then; empty: everybody's
  /// Without a session it renews no lease, so none outlives the TTL that it has then, and after_s
  /// is more than any. Nothing may be left to be revoked then, and is revoked all the same.
  bool ends_by_ttl = false;

  [[nodiscard]] bool covers(std::uint64_t tenant) const noexcept;
  bool operator==(const Isolation&) const = default;
};

/// Value of a member's key.
struct Member {
  std::uint64_t node = 0;  // drawn once for each journal: two nodes have never the same
  /// It has ended, and every lease that it had is TornDown. It grants nothing before it has joined
  /// again, which makes this false.
  bool has_ended = false;
  std::optional<Isolation> isolation = {};  // of the server that joined last
};

/// Value of a session's key: what a node says of itself.
struct Registration {
  std::uint64_t node = 0;
  std::uint64_t incarnation = 0;
  std::string device = {};
  std::string address = {};  // the port's RoCE address
  std::string socket = {};
  std::string quic = {};  // empty: not served
  std::uint32_t slots = 0;
  std::string version = {};
  std::vector<std::string> labels = {};  // "rack=r1"
  std::uint64_t memory_bytes = 0;        // that it gives to leases in all; 0: it does not say
  std::uint64_t residence_ms = 0;        // of packets in the fabric, as it is configured
};

/// Leases, and the bytes of their regions.
struct Amount {
  std::uint64_t leases = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Amount&) const = default;
};
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

/// Value of an offer's key: what the node had left when it wrote it. It grants by what it has, and
/// not by this.
struct Offer {
  std::uint64_t node = 0;
  Amount left = {};
};

/// Value of a quota's key: the most that all nodes together may grant to the tenant.
struct Quota {
  Amount most{.leases = kNoLimit, .bytes = kNoLimit};
};

/// Value of a share's key: what the node may hold of the tenant, at most. It stays when the node
/// goes: what that holds is the tenant's still.
struct Share {
  std::uint64_t node = 0;
  Amount taken = {};
};

/// Value of an outcome's key.
struct Outcome {
  std::uint64_t epoch = 0;  // nothing that was granted below it is left
  std::uint64_t node = 0;
  std::uint64_t incarnation = 0;
  std::uint32_t torn_down = 0;  // by this fence
  std::uint32_t fenced = 0;     // of the tenant in all, whenever they ended so
};

[[nodiscard]] std::string json_of(const Member& member);
[[nodiscard]] std::string json_of(const Registration& registration);
[[nodiscard]] std::string json_of(const Outcome& outcome);
[[nodiscard]] std::string json_of(const Offer& offer);
[[nodiscard]] std::string json_of(const Quota& quota);
[[nodiscard]] std::string json_of(const Share& share);
// Malformed for what is none; the text says which field.
[[nodiscard]] Result<Member> read_member(std::string_view json);
/// Which node it is, of what it says of itself.
[[nodiscard]] Result<Registration> read_registration(std::string_view json);
[[nodiscard]] Result<Outcome> read_outcome(std::string_view json);
[[nodiscard]] Result<Offer> read_offer(std::string_view json);
[[nodiscard]] Result<Quota> read_quota(std::string_view json);
[[nodiscard]] Result<Share> read_share(std::string_view json);

/// Which node may hold something under which name: members but for those that had ended with
/// nothing held, and every node that has a session, whatever became of its member's key.
class Holders {
 public:
  Holders(const std::vector<KeyValue>& members, const std::vector<KeyValue>& sessions);

  [[nodiscard]] bool may_hold(const std::string& name, std::uint64_t node) const;
  /// A session that cannot be read may be anybody's.
  [[nodiscard]] bool has_session(const std::string& name, std::uint64_t node) const;

 private:
  std::map<std::string, std::uint64_t> members_;
  std::map<std::string, std::optional<std::uint64_t>> sessions_;  // none: it cannot be read
};

}  // namespace portcullis::fleet
