// SPDX-License-Identifier: BSD-3-Clause
//
// A run as text for people, JSON, and CSV over time. Times are those of the topology's units.
#pragma once

#include <string>

#include "pfc/packet/options.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::packet {

[[nodiscard]] std::string run_text(const Topology& topology, const RunOptions& options,
                                   const RunReport& report);
/// end, events, hops, storms, pauses, deadlock and ended_deadlock or null, flows, messages where
/// there are any, ingresses.
[[nodiscard]] std::string run_json(const Topology& topology, const RunOptions& options,
                                   const RunReport& report);
/// A row a sample: t, delivered data of each flow, then data in each ingress that ever closed.
[[nodiscard]] std::string samples_csv(const Topology& topology, const RunReport& report);

}  // namespace portcullis::pfc::packet
