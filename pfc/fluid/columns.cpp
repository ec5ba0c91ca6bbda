// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/fluid/columns.hpp"

#include <fmt/format.h>

namespace portcullis::pfc {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

}  // namespace

std::vector<std::string> column_names(const Topology& topology) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < topology.flows.size(); ++i) {
    const Flow& flow = topology.flows[i];
    // S_f12 is hop 12 of f, and S_f1.2 hop 2 of f1.
    const char* const between = !flow.name.empty() && is_digit(flow.name.back()) ? "." : "";
    for (std::size_t k = has_offered_curve(topology, i) ? 0 : 1; k <= flow.path.size(); ++k)
      names.push_back(fmt::format("S_{}{}{}", flow.name, between, k));
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
