// SPDX-License-Identifier: BSD-3-Clause
//
// A flow that is offered several next hops (ECMP) as one flow for each way that it may take, so
// that what simulates paths simulates all of them: a flow of a file stands for many connections,
// and every node spreads them evenly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::cbd {

struct SplitFlows {
  Topology topology;                  // whose flows have paths
  std::vector<std::uint32_t> origin;  // by new flow: which flow it is a part of
  std::vector<double> share;          // and how much of it
  std::string note;  // a line for each flow that was split, or has a choice and was not
};

/// Flows are split as long as they have kMostParts ways or fewer. Hosts serve their flows in turn,
/// so all flows of a host's link get equal parts, as many as the least common multiple takes: a
/// way that gets a half is two of four parts, and a flow beside it that has one way is four.
/// Routes that go round are not split: the flow is left as it is. Unsupported, with what to do
/// instead, beyond kMostParts parts a flow, and round a loop without a ttl.
inline constexpr std::uint32_t kMostParts = 256;
[[nodiscard]] Result<SplitFlows> split_flows(const Topology& topology);

}  // namespace portcullis::pfc::cbd
