// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace portcullis::tools::vfio_peer {
namespace {

using Json = nlohmann::ordered_json;

Json to_object(const Series& series) {
  const auto [least, most] = std::ranges::minmax_element(series.ns);
  return {{"samples", series.ns.size()},
          {"median_ns", median(series.ns)},
          {"min_ns", series.ns.empty() ? 0 : *least},
          {"max_ns", series.ns.empty() ? 0 : *most}};
}

}  // namespace

std::uint64_t median(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 != 0) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

std::string to_json(const Setting& setting, const Latencies& latencies) {
  const std::uint64_t trap_ns = median(latencies.register_read.ns);
  Json commands = Json::object();
  for (const Series& series : latencies.commands) {
    Json one = to_object(series);
    const std::uint64_t whole_ns = median(series.ns);
    one["median_less_register_read_ns"] = whole_ns > trap_ns ? whole_ns - trap_ns : 0;
    commands[series.name] = one;
  }
  const Json all{{"program", "vfio-peer"},
                 {"device", "vfio " + setting.bdf + " fw " + setting.firmware},
                 {"provider", setting.provider},
                 {"port", setting.port},
                 {"clock", "wall"},
                 {"register_read", to_object(latencies.register_read)},
                 {"commands", commands}};
  constexpr int kIndent = 2;
  return all.dump(kIndent) + "\n";
}

}  // namespace portcullis::tools::vfio_peer
