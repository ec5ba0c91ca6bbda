// SPDX-License-Identifier: BSD-3-Clause
//
// The front door's lease values and those behind it, into each other. Every enumerator is named on
// both sides, so that a new one behind does not pass as another in front.
#pragma once

#include <portcullis/fence_plan.hpp>
#include <portcullis/lease.hpp>

#include <string>

#include "lease/fence_plan.hpp"
#include "lease/fence_step.hpp"
#include "lease/grant.hpp"
#include "lease/lease_manager.hpp"
#include "prm/enums.hpp"

namespace portcullis {

/// A FencePlan's name is always one that parse_plan() takes.
[[nodiscard]] lease::Plan plan_of(const FencePlan& plan);
/// InvalidArgument for another end that no packet from a port of `own` address would reach; `field`
/// is what messages call it.
[[nodiscard]] Result<void> check_peer(const std::string& field, const Peer& peer, const Gid& own);
/// InvalidArgument for a peer that is none.
[[nodiscard]] Result<lease::GrantRequest> request_of(const LeaseRequest& request, const Gid& own);
[[nodiscard]] lease::LeaseName name_of(const LeaseName& name);
/// InvalidArgument for what no path MTU is.
[[nodiscard]] Result<prm::QpcMtu> mtu_of(std::uint32_t bytes);
[[nodiscard]] Grant grant_of(const lease::Grant& grant, const Gid& gid, const Mac& mac);
[[nodiscard]] RevokeAnswer answer_of(const lease::RevokeAnswer& answer);
/// Of a verdict that stands.
[[nodiscard]] RevokeAnswer answer_of(const lease::Lease& lease, const lease::Verdict& verdict);

}  // namespace portcullis
