// SPDX-License-Identifier: BSD-3-Clause
//
// A tenant fenced on every node: the epoch is raised and the members are listed in one transaction,
// then each of them stands as what it has written down itself makes certain, and no better. Who has
// written nothing is Unreachable, whatever the reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "fleet/directory.hpp"
#include "fleet/etcd.hpp"

namespace portcullis::fleet {

enum class Standing : std::uint8_t {
  TornDown,     // nothing of the tenant is left that was granted below the epoch
  Fenced,       // the same, but slots of the tenant stay fenced: see the node's own words
  Unreachable,  // nothing is known; it may hold what it held
};

struct NodeStanding {
  std::string name = {};
  std::uint64_t node = 0;  // its number; 0: what etcd has of it cannot be read
  Standing standing = Standing::Unreachable;
  std::uint32_t torn_down = 0;
  std::uint32_t fenced = 0;
  bool has_session = false;
  std::string remark = {};  // what is known, in words
};

class Revocation {
 public:
  /// Timeout and System: the epoch may have been raised all the same.
  [[nodiscard]] static Result<Revocation> raise(Etcd& etcd, std::uint64_t tenant);

  [[nodiscard]] std::uint64_t tenant() const noexcept { return tenant_; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  /// Every node that was a member when the epoch was raised, by name.
  [[nodiscard]] const std::vector<NodeStanding>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] bool is_certain() const noexcept;
  /// One that has a session has not answered.
  [[nodiscard]] bool may_come_soon() const noexcept;
  /// Reads what has been written since.
  [[nodiscard]] Result<void> look();
  /// At most so long; true once an outcome has come that look() finds.
  [[nodiscard]] bool wait(std::uint64_t most_ms);

 private:
  Revocation(Etcd& etcd, std::uint64_t tenant) : etcd_(&etcd), tenant_(tenant) {}
  void list(const std::vector<KeyValue>& members);
  void note_outcome(const KeyValue& entry);
  void note_member(const KeyValue& entry);
  void note_sessions(const std::vector<KeyValue>& sessions);
  [[nodiscard]] NodeStanding* find(std::string_view name) noexcept;

  Etcd* etcd_;
  std::uint64_t tenant_;
  std::uint64_t epoch_ = 0;
  std::vector<NodeStanding> nodes_;
  bool is_watching_ = false;
};

}  // namespace portcullis::fleet
