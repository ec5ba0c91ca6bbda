// SPDX-License-Identifier: BSD-3-Clause
//
// A tenant fenced on every node: the epoch is raised and the members are listed in one transaction,
// then each of them stands as what it has written down itself makes certain, and no better. Who has
// written nothing is Unreachable, whatever the reason, or Expired: it had promised to end by itself
// what it has, and the time for that is over by every clock. docs/fleet.md derives that time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "fleet/directory.hpp"
#include "fleet/etcd.hpp"

namespace portcullis::fleet {

enum class Standing : std::uint8_t {
  TornDown,     // nothing of the tenant is left that was granted below the epoch
  Fenced,       // the same, but slots of the tenant stay fenced: see the node's own words
  Expired,      // nothing is left either, by what the node had promised; how it ended is not known
  Unreachable,  // nothing is known; it may hold what it held
};

struct NodeStanding {
  std::string name = {};
  std::uint64_t node = 0;  // its number; 0: what etcd has of it cannot be read
  Standing standing = Standing::Unreachable;
  std::uint32_t torn_down = 0;
  std::uint32_t fenced = 0;
  bool has_session = false;
  std::string remark = {};            // what is known, in words
  std::uint64_t member_revision = 0;  // Expired: of its member's key, when it was seen to be away
};

/// How long after its session was seen to be gone a node has nothing left of what it promises to
/// end: the time it waits, one stop before it notices, the time it has for ending it, and one stop
/// before that is noticed; and a hundredth more, for clocks that do not run alike. None where it
/// promises nothing.
[[nodiscard]] std::optional<std::uint64_t> expiry_ns(const Isolation& isolation) noexcept;

class Revocation {
 public:
  /// Timeout and System: the epoch may have been raised all the same.
  [[nodiscard]] static Result<Revocation> raise(Etcd& etcd, std::uint64_t tenant,
                                                Clock clock = Clock::wall());

  [[nodiscard]] std::uint64_t tenant() const noexcept { return tenant_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// Every node that was a member when the epoch was raised, or had a session, by name.
  [[nodiscard]] const std::vector<NodeStanding>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] bool is_certain() const noexcept;
  /// One that has a session has not answered.
  [[nodiscard]] bool may_come_soon() const noexcept;
  /// Reads what has been written since.
  [[nodiscard]] Result<void> look();
  /// At most so long, and once the time of a look; true once an outcome may have come. What it
  /// makes certain stands without a look: of a thousand nodes each look reads a thousand entries.
  /// What was written before the watch began is looked for, once: a watch from the epoch on would
  /// tell it, and what follows, late.
  [[nodiscard]] bool wait(std::uint64_t most_ms);

 private:
  /// One look at etcd, at a time between the two.
  struct Look {
    std::uint64_t sent_ns = 0;
    std::uint64_t answered_ns = 0;
    std::vector<KeyValue> members = {};
    std::vector<KeyValue> sessions = {};
  };
  /// A node without a session, since the first look at which it had none.
  struct Away {
    std::uint64_t member_revision = 0;  // another one: it has joined in between
    std::uint64_t seen_ns = 0;
  };

  Revocation(Etcd& etcd, std::uint64_t tenant, Clock clock)
      : etcd_(&etcd), tenant_(tenant), clock_(clock) {}
  void list(const std::vector<KeyValue>& members, const std::vector<KeyValue>& sessions);
  void note_outcome(const KeyValue& entry);
  void note_member(const KeyValue& entry, const std::vector<KeyValue>& sessions);
  void note_sessions(const std::vector<KeyValue>& sessions);
  void note_absences(const Look& look);
  void note_absence(NodeStanding& node, const Look& look);
  /// What is certain to be gone is no part of the tenant's quota any more.
  void give_shares_back();
  [[nodiscard]] NodeStanding* find(std::string_view name) noexcept;

  Etcd* etcd_;
  std::uint64_t tenant_;
  Clock clock_;
  std::uint64_t epoch_ = 0;
  std::vector<NodeStanding> nodes_;
  std::map<std::string, Away> away_;  // by name
  std::set<std::string> given_back_;  // by name: the shares of Expired nodes
  bool is_watching_ = false;
  bool may_watch_ = true;  // etcd has answered since it was asked last
};

}  // namespace portcullis::fleet
