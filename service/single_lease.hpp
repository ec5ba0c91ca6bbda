// SPDX-License-Identifier: BSD-3-Clause
//
// One lease of one client by one plan, with all that the plan needs of the function from the grant
// on: its DROP entry, the queue that frees keys, and a manager with a single slot. Its owner looks
// after the port between grant and revoke.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "lease/lease_manager.hpp"
#include "lease/umr_freer.hpp"
#include "pmd/umr_queue.hpp"
#include "service/client_desk.hpp"
#include "service/exchange/exchange.hpp"
#include "service/served_port.hpp"
#include "steering/flow_drop.hpp"

namespace portcullis::service {

struct SingleLeaseOptions {
  lease::Plan plan = lease::seed_plan();
  LeaseTerms terms = {};
  std::uint32_t dscp = 0;
  std::uint32_t priority = 0;
  std::optional<steering::Choice> steering = {};  // none: as the plan needs it
  bool allow_function_drop = false;
  std::uint64_t residence_ms = 0;  // of the fabric
};

class SingleLease {
 public:
  /// `port` must outlive it; `log` hears of what the plan does without.
  [[nodiscard]] static Result<std::unique_ptr<SingleLease>> create(
      ServedPort& port, const SingleLeaseOptions& options, LogSink log);
  SingleLease(const SingleLease&) = delete;
  SingleLease& operator=(const SingleLease&) = delete;

  /// For `request`, by the key that the plan takes back: one of its tenant, for a group of one,
  /// where the plan is for groups. After an error nothing is left of it, and another may be asked
  /// for.
  [[nodiscard]] Result<lease::Grant> grant(const exchange::Request& request);
  /// The newest.
  [[nodiscard]] const lease::Grant& granted() const noexcept { return grant_; }
  /// Of granted().
  [[nodiscard]] lease::LeaseManager& manager() noexcept { return *manager_; }
  [[nodiscard]] const lease::LeaseManager& manager() const noexcept { return *manager_; }

 private:
  SingleLease(ServedPort& port, const SingleLeaseOptions& options, LogSink log)
      : port_(&port), options_(options), log_(std::move(log)) {}
  [[nodiscard]] Result<void> set_up_steering();
  [[nodiscard]] Result<void> set_up_umr();

  ServedPort* port_;
  SingleLeaseOptions options_;
  LogSink log_;
  std::unique_ptr<steering::DropRule> drop_;  // outlives the manager, which asks it
  std::optional<pmd::UmrQueue> umr_queue_;    // of a plan that frees keys by it
  std::optional<lease::UmrFreer> umr_;
  std::unique_ptr<lease::LeaseManager> manager_;
  lease::Grant grant_;
};

}  // namespace portcullis::service
