// SPDX-License-Identifier: BSD-3-Clause
//
// What the subcommands print with --json.
#pragma once

#include <nlohmann/json.hpp>

#include "failover/explore/verdict.hpp"
#include "failover/protocols/models.hpp"

namespace portcullis::tools::failover_check {

/// protocol, environment, clients, ops, late, duplicates, timeouts, deaths.
[[nodiscard]] nlohmann::ordered_json to_json(const failover::Scenario& scenario,
                                             std::string_view environment);
/// Adds verdict, violation, depth, states, stuck_states, cut_states, hanging_states (null: not
/// looked at), gives_up, not_judged, transitions, bytes, seconds.
void add_judged(nlohmann::ordered_json& object, const failover::Judged& judged);
[[nodiscard]] nlohmann::ordered_json to_json(const failover::Machine& machine,
                                             const failover::Trace& trace);

/// safe, gives-up, hangs, refuted; interrupted, memory-limit or state-limit when nothing was
/// decided.
[[nodiscard]] const char* verdict_name(const failover::Judged& judged) noexcept;

}  // namespace portcullis::tools::failover_check
