// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/columns.hpp"

#include <fmt/format.h>

namespace portcullis::pfc {

std::vector<std::string> column_names(const Topology& topology) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    const Flow& flow = topology.flows[i];
    for (std::size_t k = has_offered_curve(topology, i) ? 0 : 1; k <= flow.path.size(); ++k)
      names.push_back(fmt::format("S_{}{}", flow.name, k));
  }
  return names;
}

std::vector<double> column_values(const Topology& topology, const FluidSample& sample) {
  std::vector<double> values;
  std::size_t slot = 0;
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    const std::size_t hops = topology.flows[i].path.size();
    if (has_offered_curve(topology, i)) values.push_back(sample.offered[i]);
    // A path of one link ends where it arrives.
    values.push_back(hops > 1 ? sample.arrived[slot + 1] : sample.served[slot]);
    for (std::size_t hop = 1; hop < hops; ++hop) values.push_back(sample.served[slot + hop]);
    slot += hops;
  }
  return values;
}

}  // namespace portcullis::pfc
