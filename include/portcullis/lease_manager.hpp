// SPDX-License-Identifier: BSD-3-Clause
//
// Leases on one port: granted, renewed, and taken back with an outcome. One thread at a time; what
// lingers, outlives its time or waits its turn goes on in poll(), which is to be called whenever
// there is nothing else to do.
//
// Sources: docs/revocation.md for what an outcome promises, docs/hca-contract.md for what of the
// hardware it rests on.
//
// Example, leases.cpp:
//   PORTCULLIS_TRY_ASSIGN(auto leases, LeaseManager::create(port, {.grace_ms = 1'000}));
//   PORTCULLIS_TRY_ASSIGN(const Grant elsewhere, leases.grant(request));
//   const RevokeAnswer answer = leases.revoke(elsewhere.lease);
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/fence_plan.hpp>
#include <portcullis/lease.hpp>
#include <portcullis/port.hpp>
#include <portcullis/result.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace portcullis {

/// How a port serves its leases.
struct LeaseOptions {
  std::uint32_t slots = 1024;  // leases at a time, 1 to 65,000
  FencePlan plan = {};         // of a revoke that names none, and of leases whose time is over
  /// A DROP entry for each fence, of a shape that the function offers: best effort. A plan whose
  /// entry stands from the grant on has one anyway.
  bool with_drop_entries = false;
  /// From a fence until the slot's objects are destroyed. At most an hour.
  std::uint64_t grace_ms = 5'000;
  /// The fabric's, where known: a QP number rests as long. At most an hour.
  std::uint64_t residence_ms = 0;
  /// A queue pair answers so long, in a plan that lingers. At most a minute.
  std::uint64_t linger_ms = 50;
  bool may_reset_function = false;       // where nothing else proves memory; ends every lease
  std::uint64_t tenant_quota_bytes = 0;  // of all regions of one tenant; 0: no limit
  std::uint32_t mtu_bytes = 1024;        // 256, 512, 1024, 2048 or 4096
  /// Hears of every outcome, asked for or by time to live, at the end of the call in which it
  /// stood; a grant that failed has one too, under a name that nobody was told. It may call the
  /// manager, but not end it; what it throws leaves that call, and the next one tells the rest. May
  /// be empty.
  std::function<void(const LeaseName&, const RevokeAnswer&)> on_outcome = {};
};

/// A slot that is out of use until the function is reset.
struct FencedLease {
  LeaseName lease;      // that had the slot
  RevokeAnswer answer;  // as its revoke told
  std::string text;     // one line for the post-mortem
};

/// The leases of one port, and all that is granted on it.
class PORTCULLIS_API LeaseManager {
 public:
  /// InvalidArgument names the option and its range; Unsupported where the plan needs what the
  /// function has not; Busy while the port has another manager; DeviceFailed once
  /// the function is broken or was reset.
  [[nodiscard]] static Result<LeaseManager> create(const Port& port,
                                                   const LeaseOptions& options = {});
  /// One that was moved from can be assigned to or destroyed, and nothing else.
  LeaseManager(LeaseManager&& other) noexcept;
  /// Tears down what it had first.
  LeaseManager& operator=(LeaseManager&& other) noexcept;
  /// Tears down if nobody has; on_outcome does not hear of it.
  ~LeaseManager();

  /// A region, a key and a queue pair for request.peer. InvalidArgument; OutOfResources when no
  /// slot is free or the quota is spent; Busy while fewer than three command slots are left to
  /// fence with; DeviceFailed once the function was lost; and what a command answered.
  [[nodiscard]] Result<Grant> grant(const LeaseRequest& request);
  /// Leases of one tenant with the same rights, all or none, reached by one key, which plan
  /// indirect destroys. Isolated from other leases, not from each other.
  [[nodiscard]] Result<std::vector<Grant>> grant_together(std::span<const LeaseRequest> requests);
  /// The same for a group so large that a revoke must not wait for it: poll() makes the members one
  /// after the other, some each time. Busy while another group is being made or was not taken.
  [[nodiscard]] Result<void> start_grant_together(std::span<const LeaseRequest> requests);
  /// What became of the group that was started, told once; none while it is being made, and when
  /// none was started. NotFound when one of it has ended before it was told, by a revoke, its time,
  /// drain() or tear_down(): the others are taken back then. And as grant_together().
  [[nodiscard]] std::optional<Result<std::vector<Grant>>> take_granted();
  /// The lease's region as this process sees it, until its slot is free; empty for a lease that is
  /// not there. The device may write it at any moment while the lease is held.
  [[nodiscard]] std::span<std::byte> memory(const LeaseName& lease) const noexcept;
  /// It ends `ttl_ms` from now; 0: not by itself. NotFound unless it is held.
  [[nodiscard]] Result<void> renew(const LeaseName& lease, std::uint64_t ttl_ms);

  /// Fences the lease and returns when the outcome stands, within one second.
  [[nodiscard]] RevokeAnswer revoke(const LeaseName& lease);
  /// The same by a plan that is named; one that is not for any lease as FencePlan says.
  [[nodiscard]] RevokeAnswer revoke(const LeaseName& lease, const FencePlan& plan);
  /// The same for many, every key of a chunk first; answers in the order of `leases`. What does not
  /// fit into one second is Revoking, and poll() goes on with it.
  [[nodiscard]] std::vector<RevokeAnswer> revoke_batch(std::span<const LeaseName> leases,
                                                       const FencePlan& plan);
  /// As revoke, but does not wait while the plan lingers: none then, and poll() goes on with it.
  [[nodiscard]] std::optional<RevokeAnswer> start_revoke(const LeaseName& lease,
                                                         const FencePlan& plan);
  /// The leases that a tenant holds.
  [[nodiscard]] std::vector<LeaseName> leases_of(std::uint64_t tenant) const;

  /// The idle path: goes on with what is under way. Waits for the device 20 ms at most, 100 ms for
  /// a DROP entry, and 400 ms for a member of a group that is being made. Returns at once where
  /// nothing is due.
  ///
  /// Nothing else brings slots and quota back once GRACE and their rest are over, ends what has
  /// outlived its time, or goes on with Revoking: call it every 100 ms or so, and all the time
  /// while there is some of that. It brings back every slot that is due and fits into the 20 ms:
  /// nine or so with command times as docs/benchmarks.md measured them, of a model with
  /// timing=instant all of them. A revoke that comes behind a call has waited for it.
  void poll();
  /// Everything at once, for a node that leaves: bus mastering off and read back ends every access
  /// to memory, a reset of the function the rest, and every lease that had no outcome is TornDown.
  /// No command is sent. How many they were; nothing is granted afterwards. An error where bus
  /// mastering cannot be shown to be off (poll() then fences one lease after the other), or where
  /// the reset fails (every lease is Fenced, its memory proved; may be asked for again).
  [[nodiscard]] Result<std::size_t> drain();
  /// Revokes every lease and destroys what is left, GRACE or not. The error says how many slots
  /// stay fenced, and of what memory nothing is known. Nothing is granted afterwards. Done twice
  /// is done.
  [[nodiscard]] Result<void> tear_down();

  /// Slots that are out of use.
  [[nodiscard]] std::vector<FencedLease> fenced() const;
  /// A fence had to take the whole function down; nothing is granted any more.
  [[nodiscard]] bool is_function_lost() const noexcept;

 private:
  struct Impl;
  explicit LeaseManager(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace portcullis
