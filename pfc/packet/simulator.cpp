// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/simulator.hpp"

#include <cmath>
#include <utility>

#include "pfc/packet/engine.hpp"
#include "pfc/packet/network.hpp"

namespace portcullis::pfc::packet {

Result<RunReport> simulate(const Topology& topology, const RunOptions& options) {
  if (options.until <= 0)
    return fail(Errc::InvalidArgument, "a run of no time; a time above 0 is accepted");
  PORTCULLIS_TRY_ASSIGN(Network network, compile(topology, options));
  return Engine(topology, std::move(network), options).run();
}

Picoseconds to_picoseconds(const Topology& topology, double time) {
  return static_cast<Picoseconds>(std::llround(time * topology.units.time_s * 1e12));
}

}  // namespace portcullis::pfc::packet
