// SPDX-License-Identifier: BSD-3-Clause
//
// What the subcommands print with --json.
#pragma once

#include <nlohmann/json.hpp>

#include "failover/explore/explorer.hpp"
#include "failover/protocols/models.hpp"

namespace portcullis::tools::failover_check {

/// protocol, environment, clients, ops, late, duplicates, timeouts.
[[nodiscard]] nlohmann::ordered_json to_json(std::string_view model,
                                             const failover::Parameters& parameters);
/// Adds verdict (safe, refuted or undecided), violation, depth, states, stuck_states, not_judged,
/// transitions, bytes, seconds.
void add_exploration(nlohmann::ordered_json& object, const failover::Exploration& explored);
[[nodiscard]] nlohmann::ordered_json to_json(const failover::Machine& machine,
                                             const failover::Trace& trace);

/// safe, refuted; interrupted, memory-limit or state-limit when nothing was decided.
[[nodiscard]] const char* verdict_name(const failover::Exploration& explored) noexcept;

}  // namespace portcullis::tools::failover_check
