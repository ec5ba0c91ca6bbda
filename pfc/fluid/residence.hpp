// SPDX-License-Identifier: BSD-3-Clause
//
// How late a packet may arrive: the horizontal distance between the curve of what a host has sent
// and that of what its flow has delivered. Data of one flow never overtakes itself under FIFO, so
// the distance at one amount of data is the residence of that data.
#pragma once

#include <vector>

#include "pfc/fluid/fluid.hpp"

namespace portcullis::pfc {

/// Of one flow, in time units.
struct Residence {
  double delivered = 0;  // data
  double transit = 0;    // delays of the path alone: the least there can be
  double median = 0;     // of what was delivered, by data
  double p99 = 0;
  double longest = 0;        // of what was delivered
  double longest_sent = 0;   // when that data left its host
  double inside = 0;         // data that has left its host and not arrived at the end of the run
  double oldest_inside = 0;  // how long the oldest of it has been under way by then
};

/// By flow. The run must have kept its history.
[[nodiscard]] std::vector<Residence> residence(const Topology& topology, const FluidRun& run);

}  // namespace portcullis::pfc
