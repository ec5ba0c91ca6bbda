// SPDX-License-Identifier: BSD-3-Clause
//
// What a lease asks of flow steering: an entry that drops its packets, and the entry's removal once
// the queue pair is gone. An entry promises nothing about packets that are past steering (contract
// A4), so no outcome rests on it. A function without steering has no DropRule: the fence holds a
// null pointer and reports steering as absent.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "pmd/gid.hpp"
#include "prm/numbers.hpp"

namespace portcullis::steering {

/// When the entry of a lease is put in, and how it comes to drop (the floor document,
/// section 2.1, step 3, and section 5, option b). A fence plan says which.
enum class EntryPlan : std::uint8_t {
  AtRevoke,      // SET with DROP
  AllowReplace,  // SET with ALLOW at the grant; DELETE and SET with DROP
  AllowModify,   // SET with ALLOW at the grant; modify to DROP
  Underlay,      // a table of the QP's own at the grant (s5 option c); see underlay_drop.hpp
};

/// Whose packets to drop.
struct DropTarget {
  std::uint32_t slot = 0;              // of the lease; the entry's place in its group
  prm::QpNumber qpn{};                 // the responder's, as bth.dest_qp carries it
  pmd::Gid client = {};                // where its packets come from
  std::uint16_t client_udp_sport = 0;  // their UDP source port; 0: not known
  EntryPlan entry = EntryPlan::AtRevoke;
};

class DropRule {
 public:
  virtual ~DropRule() = default;
  /// A lease was granted, and its client has not been told: whatever must stand before the first
  /// packet. Whether an entry stands now. Returns by `deadline_ns` (device clock).
  [[nodiscard]] virtual Result<bool> prepare(const DropTarget& target, std::uint64_t deadline_ns) {
    (void)target;
    (void)deadline_ns;
    return false;
  }
  /// From now on `active` tells how many leases are ACTIVE; empty: nobody can. A rule that drops
  /// for more than one lease calls it before it does.
  virtual void set_active_count(const std::function<std::uint32_t()>& active) { (void)active; }
  /// The entry drops from here on. Returns by `deadline_ns`. Installing what is installed is an
  /// error: this generation refuses an occupied index.
  [[nodiscard]] virtual Result<void> install(const DropTarget& target,
                                             std::uint64_t deadline_ns) = 0;
  /// DELETE_FLOW_TABLE_ENTRY of what prepare() and install() put there, or may have put there
  /// before they failed; when nothing is there it is done.
  [[nodiscard]] virtual Result<void> remove(const DropTarget& target,
                                            std::uint64_t deadline_ns) = 0;
};

}  // namespace portcullis::steering
