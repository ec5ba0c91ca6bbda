// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fabric_residence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pfc/bound/pause_times.hpp"
#include "pfc/bound/residence_bound.hpp"
#include "pfc/topology_json.hpp"
#include "program/input_file.hpp"

namespace portcullis::tools {
namespace {

using pfc::bound::kLargestRoceFrame;
using pfc::bound::kLeastRoceFrame;

constexpr std::uint64_t kMostMs = 3'600'000;  // as Options::residence_ms of a LeaseManager

Result<pfc::Topology> read_fabric(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 32U;
  auto text = program::read_input(path, kMostBytes);
  if (!text) return fail(Errc::InvalidArgument, "--fabric " + text.error().text);
  PORTCULLIS_TRY_ASSIGN(auto topology, pfc::parse_topology(*text, path));
  if (topology.routes.empty())
    return fail(Errc::InvalidArgument,
                fmt::format("{}: routes: none, and nothing bounds data that is none of its flows; "
                            "the routes of the fabric are accepted",
                            path));
  return topology;
}

/// For frames up to the largest MTU: an ACK is one of the least, and some are always under way.
Result<pfc::bound::ResidenceBound> bound_of(const pfc::Topology& topology, double watchdog_ms) {
  pfc::bound::BoundOptions wanted;
  wanted.pause.packet_bytes = kLargestRoceFrame;
  wanted.pause.least_bytes = kLeastRoceFrame;
  if (watchdog_ms > 0) wanted.watchdog_ps = watchdog_ms * 1e9;
  return pfc::bound::bound_residence(topology, wanted);
}

/// As messages call it.
std::string name_of(const pfc::Topology& topology, const FabricOptions& options) {
  return topology.name.empty() ? options.file : topology.name;
}

std::string why_none(const pfc::Topology& topology, const pfc::bound::ResidenceBound& bound) {
  return bound.circle.empty() ? bound.reason : pfc::bound::circle_text(topology, bound);
}

/// Microseconds between two packets of a host that sends the shortest ones there are.
double least_gap_us(const pfc::Topology& topology) {
  double fastest = 0;
  for (const pfc::Link& link : topology.links)
    if (topology.nodes[link.from].kind == pfc::NodeKind::Host)
      fastest = std::max(fastest, link.capacity);
  return kLeastRoceFrame / topology.units.data_bytes / fastest * topology.units.time_s * 1e6;
}

}  // namespace

Result<LatePackets> late_packets(const FabricOptions& options, const GivingUp& client) {
  PORTCULLIS_TRY_ASSIGN(const pfc::Topology topology, read_fabric(options.file));
  PORTCULLIS_TRY_ASSIGN(const auto bound, bound_of(topology, options.watchdog_ms));
  const double us = bound.most * topology.units.time_s * 1e6;
  if (!std::isfinite(us))
    return LatePackets{client.packets,
                       fmt::format("no bound on how late a packet of {} may be: {}",
                                   name_of(topology, options), why_none(topology, bound))};
  std::string text = fmt::format(
      "a packet of {} arrives at most {:.6g} us after it was sent, if hosts take what arrives{}",
      name_of(topology, options), us, options.watchdog_ms > 0 ? ", with its watchdogs" : "");
  if (us <= client.after_us)
    return LatePackets{0, fmt::format("{}; who gives up {:.6g} us after its last one has none out",
                                      text, client.after_us)};
  const double gap = least_gap_us(topology);
  const double many = std::floor((us - client.after_us) / gap) + 1;
  constexpr double kCountable = 1e18;
  const auto most = static_cast<std::uint64_t>(std::min(many, kCountable));
  return LatePackets{
      std::min(most, client.packets.value_or(most)),
      fmt::format("{}; in the {:.6g} us that this is longer than {:.6g} us a host sends {} packets "
                  "at most, one in {:.6g} us",
                  text, us - client.after_us, client.after_us, most, gap)};
}

void add_fabric_options(CLI::App& app, FabricOptions& options) {
  auto* const fabric =
      app.add_option(
             "--fabric", options.file,
             "the lossless fabric as pfc-deadlock reads it: a queue pair's number rests for\n"
             "as long as a packet may be late there")
          ->type_name("FILE");
  app.add_option("--fabric-watchdog-ms", options.watchdog_ms,
                 "its switches drop a queue that has been paused for so long, polling included")
      ->type_name("MS")
      ->check(CLI::Range(0.0, 3.6e6))
      ->needs(fabric);
  app.add_option("--residence-ms", options.told_ms,
                 "rest at least for so long; stands in for a bound that the fabric does not have")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{0}, kMostMs));
}

Result<FabricResidence> residence_of(const FabricOptions& options) {
  if (options.file.empty()) {
    if (options.told_ms == 0) return FabricResidence{0, "no fabric was given, GRACE alone counts"};
    return FabricResidence{options.told_ms, fmt::format("{} ms, as told", options.told_ms)};
  }
  PORTCULLIS_TRY_ASSIGN(const pfc::Topology topology, read_fabric(options.file));
  PORTCULLIS_TRY_ASSIGN(const auto bound, bound_of(topology, options.watchdog_ms));
  const double ms = std::ceil(bound.most * topology.units.time_s * 1e3);
  if (!std::isfinite(ms)) {
    const std::string why = why_none(topology, bound);
    if (options.told_ms == 0)
      return fail(Errc::InvalidArgument,
                  fmt::format("--fabric {}: no bound on how late a packet may be: {}; another "
                              "fabric, --fabric-watchdog-ms, or --residence-ms is accepted",
                              options.file, why));
    return FabricResidence{options.told_ms,
                           fmt::format("{} ms, as told; {} has no bound: {}", options.told_ms,
                                       name_of(topology, options), why)};
  }
  if (ms > static_cast<double>(kMostMs))
    return fail(Errc::InvalidArgument,
                fmt::format("--fabric {}: a packet may be {:g} ms late; at most {} are accepted",
                            options.file, ms, kMostMs));
  const auto found = static_cast<std::uint64_t>(ms);
  std::string dropped;
  if (const auto& ends = bound.dead_ends; ends.count > 0)
    dropped = fmt::format(", and what has no next hop is dropped (data for {} at {}{})",
                          topology.nodes[ends.destination].name, topology.nodes[ends.node].name,
                          ends.count == 1 ? "" : fmt::format(" and {} more", ends.count - 1));
  return FabricResidence{
      std::max(found, options.told_ms),
      fmt::format("{} ms: in {} a packet of {} to {} bytes comes at most {} ms after it was "
                  "sent{}, if hosts take what arrives{}",
                  std::max(found, options.told_ms), name_of(topology, options), kLeastRoceFrame,
                  kLargestRoceFrame, found, options.watchdog_ms > 0 ? ", with its watchdogs" : "",
                  dropped)};
}

}  // namespace portcullis::tools
