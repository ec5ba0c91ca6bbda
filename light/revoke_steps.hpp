// SPDX-License-Identifier: BSD-3-Clause
//
// Leases under a client's WRITEs, revoked: by each plan, and by one plan over many retry budgets.
// What the client sees is part of the fact, for the plans differ in nothing else that a peer knows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/histogram.hpp"
#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "lease/fence_step.hpp"
#include "light/facts.hpp"
#include "proof/floor_fit.hpp"
#include "proof/session.hpp"

namespace portcullis::light {

/// Of the clients of revoke_by(): a budget of 17 ms, so that silence is soon over.
inline constexpr std::uint8_t kPlanTimeout = 10;
inline constexpr std::uint8_t kPlanRetry = 3;

/// What became of one lease; times from the revoke on.
struct Revoked {
  lease::Outcome outcome = lease::Outcome::NotFound;
  std::uint64_t outcome_ns = 0;
  std::optional<std::uint64_t> failure_ns = {};  // of the client; none: it met none
  std::uint64_t failure_uncertainty_ns = 0;      // either way, where another clock told it
  int status = 0;                                // of that failure; ibv_wc_status
  bool is_watched = false;                       // the plan left the region in view
  bool is_served_late = false;                   // which changed after the outcome
  std::uint64_t last_change_ns = 0;              // of the region; 0: none after the revoke

  /// When that was behind the outcome.
  [[nodiscard]] std::uint64_t late_ns() const noexcept {
    return is_served_late && last_change_ns > outcome_ns ? last_change_ns - outcome_ns : 0;
  }
};

/// Leases revoked by one plan, counted.
class PlanTally {
 public:
  explicit PlanTally(const lease::Plan& plan) : best_(plan.best_outcome()) {
    fact_.plan = plan.full_name();
  }
  void add(const Revoked& one);
  [[nodiscard]] PlanFact fact() const;

 private:
  lease::Outcome best_;
  PlanFact fact_;
  Histogram outcome_;
  Histogram failure_;
  std::map<int, std::uint64_t> statuses_;
};

/// What a requester makes of a NAK that is final: check_ack() of Linux, sw/rxe/rxe_comp.c.
[[nodiscard]] bool is_refusal(std::int64_t status) noexcept;

/// Points of a floor, by what each client met.
class FloorTally {
 public:
  /// `terms` with what `one` says; a client that ended neither by a refusal nor by its budget says
  /// nothing of a floor and is only counted.
  void add(const Revoked& one, proof::FloorPoint terms);
  /// The verdict on the points, and the plainest of the explanations that fit; not run where there
  /// is no point.
  [[nodiscard]] FloorFact fact() const;

 private:
  std::vector<proof::FloorPoint> points_;
  FloorFact counted_;
};

/// `revokes` leases, one after the other. An error is of anything but the revoke's own outcome.
[[nodiscard]] Result<PlanFact> revoke_by(proof::Session& session, const lease::Plan& plan,
                                         std::uint64_t revokes);

/// One revoke by plan seed of a client with that ack timeout and retry count, added to `to`.
[[nodiscard]] Result<void> ask_floor(proof::Session& session, unsigned timeout, unsigned retry,
                                     FloorTally& to);

}  // namespace portcullis::light
