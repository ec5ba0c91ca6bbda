// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/residence.hpp>

#include <cmath>

#include "front/fabric_impl.hpp"
#include "front/one_line.hpp"
#include "pfc/bound/residence_bound.hpp"

namespace portcullis {
namespace {

constexpr double kPsPerUs = 1e6;
constexpr double kPsPerMs = 1e9;
constexpr std::uint32_t kMostPacketBytes = 1 << 20;
// As pfc-deadlock residence takes them: a second, and eleven days.
constexpr double kMostResponseUs = 1e6;
constexpr double kMostWatchdogMs = 1e9;

Result<void> check(const ResidenceOptions& options) {
  PORTCULLIS_TRY(check_from_zero("response_us", options.response_us, kMostResponseUs));
  PORTCULLIS_TRY(check_from_zero("watchdog_ms", options.watchdog_ms, kMostWatchdogMs));
  if (options.packet_bytes >= 1 && options.packet_bytes <= kMostPacketBytes) return {};
  return fail(Errc::InvalidArgument, "packet_bytes " + std::to_string(options.packet_bytes) +
                                         "; 1 to 1048576 are accepted");
}

/// Of a time of the fabric; nothing where it has no end.
std::optional<double> us_of(const Fabric::Impl& fabric, double time) {
  if (!std::isfinite(time)) return std::nullopt;
  return time * fabric.us_per_time();
}

}  // namespace

Result<ResidenceBound> bound_residence(const Fabric& fabric, const ResidenceOptions& options) {
  PORTCULLIS_TRY(check(options));
  pfc::bound::BoundOptions inner;
  inner.pause = {.packet_bytes = options.packet_bytes,
                 .response_ps = options.response_us * kPsPerUs,
                 .is_in_band = options.is_pause_in_band};
  if (options.watchdog_ms > 0) inner.watchdog_ps = options.watchdog_ms * kPsPerMs;
  inner.is_stopped = options.stop;
  const pfc::Topology& topology = fabric.impl().topology;
  PORTCULLIS_TRY_ASSIGN(const auto found,
                        in_one_line(pfc::bound::bound_residence(topology, inner)));
  ResidenceBound bound;
  bound.most_us = us_of(fabric.impl(), found.most);
  for (std::size_t i = 0; i < found.flows.size(); ++i)
    bound.flows.push_back({topology.flows[i].name, us_of(fabric.impl(), found.flows[i])});
  if (found.routes)
    bound.routes = FlowBound{"any that routes permit", us_of(fabric.impl(), *found.routes)};
  bound.circle = fabric.impl().names_of(found.circle);
  bound.reason = one_line(found.reason);
  if (!bound.most_us && bound.reason.empty())
    bound.reason = "buffers wait for each other in a circle, and nothing keeps it from locking";
  return bound;
}

}  // namespace portcullis
