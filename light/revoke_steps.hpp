// SPDX-License-Identifier: BSD-3-Clause
//
// Leases under a client's WRITEs, revoked: by each plan, and by one plan over many retry budgets.
// What the client sees is part of the fact, for the plans differ in nothing else that a peer knows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

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
  int status = 0;                                // of that failure; ibv_wc_status
  bool is_served_late = false;                   // the region changed after the outcome
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

/// The verdict on the points, and the plainest of the explanations that fit.
[[nodiscard]] FloorFact floor_fact(std::span<const proof::FloorPoint> points);

/// `revokes` leases, one after the other. An error is of anything but the revoke's own outcome.
[[nodiscard]] Result<PlanFact> revoke_by(proof::Session& session, const lease::Plan& plan,
                                         std::uint64_t revokes);

/// What a requester makes of a NAK that is final: check_ack() of Linux, sw/rxe/rxe_comp.c.
[[nodiscard]] bool is_refusal(std::int64_t status) noexcept;

/// One revoke by plan seed of a client with that ack timeout and retry count.
[[nodiscard]] Result<proof::FloorPoint> floor_point(proof::Session& session, unsigned timeout,
                                                    unsigned retry);

}  // namespace portcullis::light
