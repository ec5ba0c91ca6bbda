// SPDX-License-Identifier: BSD-3-Clause
//
// What the hardware of all nodes lets clients write into, and whether that may be so: after a fence
// was answered nothing that was asked for before it was raised, or of a node that did not know of
// it; nothing of a node without a session; and of a tenant with a quota never more than it. A lease
// counts from when a client could write until its fence is in effect, whatever servers know of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/revocation.hpp"
#include "tests/fleet/simulation/cluster.hpp"
#include "tests/fleet/simulation/operations.hpp"
#include "tests/fleet/simulation/world.hpp"

namespace portcullis::fleet::simulation {

struct HardwareLease {
  std::uint64_t id = 0;
  std::uint64_t tenant = 0;
  std::uint64_t asked_ns = 0;  // its server had the client's request then
  std::uint64_t epoch = 0;     // and had been told to fence the tenant below this
  bool is_unproved = false;    // it ended, and nothing proves that it did
};

/// Of one node; it outlives servers.
using Hardware = std::map<std::uint64_t, HardwareLease>;  // by id

class Judge {
 public:
  Judge(World& world, Cluster& cluster, std::size_t nodes)
      : world_(world), cluster_(cluster), hardware_(nodes) {}

  [[nodiscard]] Hardware& hardware(std::size_t node) { return hardware_.at(node); }
  [[nodiscard]] const Hardware& hardware(std::size_t node) const { return hardware_.at(node); }
  /// A server, by its incarnation, asks its device for a lease.
  void asked(std::size_t node, std::uint64_t incarnation);
  /// From now on its client may write.
  void begins(std::size_t node, const HardwareLease& lease);
  /// Its client has been told of it.
  void told(std::size_t node, const HardwareLease& lease);
  /// From now on it may not.
  void ends(std::size_t node, std::uint64_t id);
  void reset(std::size_t node);

  /// A fence that was asked for then has been raised.
  void raised(std::uint64_t asked_ns, std::uint64_t tenant, std::uint64_t epoch);
  /// What whoever asked for it is told of a node.
  void answered(std::size_t node, std::uint64_t tenant, std::uint64_t epoch, Standing standing);

  /// Whether the whole, as operations on epochs and regions, is linearizable.
  void judge_the_whole();

  struct Counts {
    std::uint64_t granted = 0;
    std::uint64_t raised = 0;
    std::array<std::uint64_t, 4> answers{};  // by Standing
    std::uint64_t most_of_a_quota = 0;       // leases at once

    void add(const Counts& other);
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  struct Answered {
    std::uint64_t epoch = 0;
    std::uint64_t raised_ns = 0;  // what was asked for before is over
    bool lets_unproved_be = false;
    std::uint64_t told_ns = 0;

    [[nodiscard]] bool is_above(const HardwareLease& lease) const noexcept {
      return (lease.asked_ns < raised_ns || lease.epoch < epoch) &&
             !(lease.is_unproved && lets_unproved_be);
    }
  };
  struct Raised {
    std::uint64_t asked_ns = 0;
    std::uint64_t answered_ns = 0;
    std::uint64_t epoch = 0;
  };
  void check(std::size_t node, const HardwareLease& lease, const char* what);
  void note_answers(std::size_t node, const HardwareLease& lease);
  void check_quota(std::uint64_t tenant);
  static std::string name_of(std::size_t node, std::uint64_t lease);

  World& world_;
  Cluster& cluster_;
  std::vector<Hardware> hardware_;
  std::map<std::pair<std::size_t, std::uint64_t>, Answered> answered_;  // by node and tenant
  std::map<std::pair<std::size_t, std::uint64_t>, std::vector<Answered>> all_answered_;
  Operations operations_;
  std::map<std::uint64_t, std::vector<Raised>> raised_;  // by tenant
  Counts counts_;
};

}  // namespace portcullis::fleet::simulation
