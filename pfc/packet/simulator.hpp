// SPDX-License-Identifier: BSD-3-Clause
//
// A lossless fabric packet by packet: switches that queue at their outputs, PAUSE frames with delay
// and headroom, shared buffers, TTLs, watchdogs. What the fluid solver idealises, it counts.
#pragma once

#include "base/result.hpp"
#include "pfc/packet/options.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::packet {

/// Runs until `options.until`, or until nothing on some cycle can ever move again. A run is a
/// function of its arguments. `topology` was checked. InvalidArgument where options and topology
/// do not fit, see compile() in pfc/packet/network.hpp.
[[nodiscard]] Result<RunReport> simulate(const Topology& topology, const RunOptions& options);

/// Picoseconds of a time of the topology.
[[nodiscard]] Picoseconds to_picoseconds(const Topology& topology, double time);

}  // namespace portcullis::pfc::packet
