// SPDX-License-Identifier: BSD-3-Clause
//
// Leases with a client each, granted, put under traffic and taken back: one round of what
// revoke_bench and floor_bench measure. Every round has a manager of its own and ends with nothing
// left, so that rounds do not wait for each other's GRACE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "lease/lease_manager.hpp"
#include "lease/umr_freer.hpp"
#include "pmd/umr_queue.hpp"
#include "proof/client.hpp"
#include "proof/drop_row.hpp"
#include "proof/key_tap.hpp"
#include "proof/session.hpp"
#include "steering/drop_rule.hpp"
#include "steering/flow_drop.hpp"

namespace portcullis::proof {

/// How many leases are revoked.
enum class RevokeMode : std::uint8_t {
  Serial,   // one call after the other; a plan that lingers is not waited for in between
  Batched,  // one call for all
};

/// Of TenancyOptions::write_interval_ns.
inline constexpr std::uint64_t kWriteIntervalNs = 2 * kNsPerUs;

struct TenancyOptions {
  std::uint32_t leases = 1;
  std::uint8_t timeout = 14;  // of the clients
  std::uint8_t retry = 7;
  RevokeMode mode = RevokeMode::Serial;
  /// Of a fence's commands: what takes longer is measured too, it only breaks the contract.
  std::uint64_t fence_deadline_ms = 60'000;
  /// Until each client's first WRITE has completed. For a machine with other work to do: a limit of
  /// this program, nothing that is measured.
  std::uint64_t warm_up_deadline_s = 60;
  /// Which DROP entries the leases have; none: what `entry` needs.
  std::optional<steering::Choice> entries = {};
  /// Of the plan that will revoke: what it needs from the grant on is done then.
  steering::EntryPlan entry = steering::EntryPlan::AtRevoke;
  std::optional<DropTrial> drop = {};  // instead of both: one of the floor document's
  std::uint8_t counter_set = 0;        // of the leases' QPs and of the clients'
  /// Granted in one call and reached by one indirect key, as plan indirect wants them.
  bool are_together = false;
  /// Between the WRITEs of all clients together.
  std::uint64_t write_interval_ns = kWriteIntervalNs;
  /// The clients stream instead (proof/stream.hpp), and the regions are as large as that needs.
  bool has_streams = false;
  /// Hears of the key step of a client's lease (proof/key_tap.hpp). Of leases granted
  /// together only the key that they share is known. May be empty.
  std::function<void(std::size_t index)> on_key_step = {};
  std::function<void(std::size_t index)> on_key_gone = {};
  /// Hears of each outcome at the moment it stands; `index` is the client's. May be empty.
  std::function<void(std::size_t index, const lease::Verdict& verdict)> on_outcome = {};
};

class Tenancy {
 public:
  /// WRITEs that must have arrived before a revoke counts as one under traffic.
  static constexpr std::uint64_t kWarmUpWrites = 16;

  /// Makes the clients; `session` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Tenancy>> create(Session& session,
                                                               const TenancyOptions& options);
  ~Tenancy();
  Tenancy(const Tenancy&) = delete;
  Tenancy& operator=(const Tenancy&) = delete;

  /// Grants every lease and connects its client.
  [[nodiscard]] Result<void> grant_all();
  /// Lets every client write and returns when all have; behind an entry that stands already, when
  /// as many WRITEs are under way.
  [[nodiscard]] Result<void> start_traffic();
  /// Revokes every lease by `plan` and returns when every outcome stands. Anything but the plan's
  /// best outcome is an error.
  [[nodiscard]] Result<void> revoke_all(const lease::Plan& plan);
  /// Runs the deferred phase of every lease, GRACE or not, until all slots are FREE.
  [[nodiscard]] Result<void> run_deferred() { return manager_->tear_down(); }
  /// Stops the clients and takes everything back. Ends the round.
  [[nodiscard]] Result<void> finish();

  /// False as well where the function has none of those asked for, as was said on stderr.
  [[nodiscard]] bool has_entries() const noexcept { return rule_ != nullptr; }
  [[nodiscard]] Client& client(std::size_t index) noexcept { return *clients_[index]; }
  /// The lease's memory; empty once a plan gave it back.
  [[nodiscard]] std::span<std::byte> region(std::size_t index) const noexcept {
    return manager_->memory(grants_[index].lease);
  }

 private:
  Tenancy(Session& session, const TenancyOptions& options)
      : session_(&session), options_(options) {}
  [[nodiscard]] Result<void> set_up_steering();
  void tap_keys();
  /// Tells `hears` of every client whose peers use that key.
  void tell_of_key(prm::MkeyIndex index, const std::function<void(std::size_t)>& hears) const;
  [[nodiscard]] bool is_warm(const Client& client) const;
  [[nodiscard]] std::uint32_t next_tag() noexcept;
  [[nodiscard]] lease::GrantRequest request_of(const Client& client) const;
  [[nodiscard]] Result<void> connect(Client& client, const lease::Grant& grant);
  [[nodiscard]] std::vector<lease::RevokeAnswer> revoke_serially(const lease::Plan& plan);
  [[nodiscard]] std::vector<lease::RevokeAnswer> revoke_batched(const lease::Plan& plan);

  Session* session_;
  TenancyOptions options_;
  std::optional<pmd::UmrQueue> umr_queue_;
  std::optional<lease::UmrFreer> umr_;  // none where the function has no such queue
  KeyEvents key_events_;
  std::optional<KeyTapFreer> umr_tap_;
  std::optional<KeyTapChannel> key_tap_;
  /// The session's, with the tap in its place; one for all rounds, since it counts key variants.
  std::optional<pmd::Context> context_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<steering::DropRule> rule_;  // null: no steering; asked by the manager to its end
  std::vector<lease::Grant> grants_;          // which its key steps are told by, to its end
  std::unique_ptr<lease::LeaseManager> manager_;
  std::uint32_t last_tag_ = 0;  // of a stream
  std::uint32_t rounds_ = 0;    // of traffic
  bool leaves_fenced_ = false;  // the last plan's best outcome is Fenced
};

}  // namespace portcullis::proof
