// SPDX-License-Identifier: BSD-3-Clause
//
// Leases under a client's WRITEs, revoked: by each plan, and by one plan over many retry budgets.
// What the client sees is part of the fact, for the plans differ in nothing else that a peer knows.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "light/facts.hpp"
#include "proof/floor_fit.hpp"
#include "proof/session.hpp"

namespace portcullis::light {

/// Of the clients of revoke_by(): a budget of 17 ms, so that silence is soon over.
inline constexpr std::uint8_t kPlanTimeout = 10;
inline constexpr std::uint8_t kPlanRetry = 3;

/// `revokes` leases, one after the other. An error is of anything but the revoke's own outcome.
[[nodiscard]] Result<PlanFact> revoke_by(proof::Session& session, const lease::Plan& plan,
                                         std::uint64_t revokes);

/// One revoke by plan seed of a client with that ack timeout and retry count.
[[nodiscard]] Result<proof::FloorPoint> floor_point(proof::Session& session, unsigned timeout,
                                                    unsigned retry);

}  // namespace portcullis::light
