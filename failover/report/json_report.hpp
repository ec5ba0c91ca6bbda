// SPDX-License-Identifier: BSD-3-Clause
//
// What programs print with --json, and what the C interface gives.
#pragma once

#include <nlohmann/json.hpp>

#include "failover/classify/classify.hpp"
#include "failover/explore/verdict.hpp"

namespace portcullis::failover {

/// protocol, environment, clients, ops, late, duplicates, timeouts, deaths.
[[nodiscard]] nlohmann::ordered_json to_json(const Scenario& scenario,
                                             std::string_view environment);
/// Adds verdict, violation, depth, states, stuck_states, cut_states, hanging_states (null: not
/// looked at), gives_up (null: the search ended before a run did), unreached (null: it ended
/// early), not_judged, transitions, bytes, seconds.
void add_judged(nlohmann::ordered_json& object, const Scenario& scenario, const Judged& judged);
[[nodiscard]] nlohmann::ordered_json to_json(const Machine& machine, const Trace& trace);

/// "WRITE", "FADD", ..; unmodelled ones as in verbs.h, without IBV_WR_.
[[nodiscard]] std::string name_of_request(const OutstandingRequest& request);
/// line, wr_id, opcode, advice, conditions, one_of, reason, lemma, explored_with, states, by_rule,
/// and trace where there is one.
[[nodiscard]] nlohmann::ordered_json to_json(const OutstandingRequest& request,
                                             const Classification& c);

/// safe, gives-up, hangs, refuted; interrupted, memory-limit or state-limit when nothing was
/// decided.
[[nodiscard]] const char* verdict_name(const Judged& judged) noexcept;

}  // namespace portcullis::failover
