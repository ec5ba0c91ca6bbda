// SPDX-License-Identifier: BSD-3-Clause
#include "tools/fabric_residence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "pfc/bound/pause_times.hpp"
#include "pfc/bound/residence_bound.hpp"
#include "pfc/topology_json.hpp"
#include "pfc/watchdog.hpp"
#include "program/input_file.hpp"

namespace portcullis::tools {
namespace {

using pfc::bound::kLargestRoceFrame;
using pfc::bound::kLeastRoceFrame;

constexpr std::uint64_t kMostMs = 3'600'000;  // as Options::residence_ms of a LeaseManager

Result<pfc::Topology> read_fabric(const FabricOptions& options) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 32U;
  auto text = program::read_input(options.file, kMostBytes);
  if (!text) return fail(Errc::InvalidArgument, "--fabric " + text.error().text);
  PORTCULLIS_TRY_ASSIGN(auto topology, pfc::parse_topology(*text, options.file));
  if (topology.routes.empty())
    return fail(Errc::InvalidArgument,
                fmt::format("{}: routes: none, and nothing bounds data that is none of its flows; "
                            "the routes of the fabric are accepted",
                            options.file));
  const auto taken = pfc::bound::take_priorities(topology, options.priorities);
  if (!taken) return fail(Errc::InvalidArgument, "--fabric-priorities: " + taken.error().text);
  const auto carried = pfc::carried_priorities(topology);
  if (options.own_priority && std::ranges::find(carried, *options.own_priority) == carried.end())
    return fail(Errc::InvalidArgument,
                fmt::format("--priority {}: data of {} comes in {} alone; one of them, or more "
                            "--fabric-priorities, are accepted",
                            *options.own_priority, options.file, fmt::join(carried, ", ")));
  return topology;
}

/// For frames up to the largest MTU: an ACK is one of the least, and some are always under way.
Result<pfc::bound::ResidenceBound> bound_of(const pfc::Topology& topology,
                                            const FabricOptions& options) {
  pfc::bound::BoundOptions wanted;
  wanted.pause.packet_bytes = kLargestRoceFrame;
  wanted.pause.least_bytes = kLeastRoceFrame;
  wanted.pause.response_ps = options.response_us * 1e6;
  if (options.watchdog_ms > 0)
    wanted.watchdog_ps = pfc::longest_watched_pause(options.watchdog_ms, options.poll_ms) * 1e9;
  return pfc::bound::bound_residence(topology, wanted);
}

/// As messages call it.
std::string name_of(const pfc::Topology& topology, const FabricOptions& options) {
  return topology.name.empty() ? options.file : topology.name;
}

std::string why_none(const pfc::Topology& topology, const pfc::bound::ResidenceBound& bound) {
  return bound.circle.empty() ? bound.reason : pfc::bound::circle_text(topology, bound);
}

/// For what the bound holds, behind "after it was sent".
std::string conditions(const FabricOptions& options, const pfc::bound::ResidenceBound& bound) {
  return fmt::format(", {}, if hosts take what arrives and senders heed a PAUSE after {:g} us{}",
                     pfc::bound::priorities_text(bound), options.response_us,
                     options.watchdog_ms > 0 ? ", with its watchdogs" : "");
}

/// What the user may have meant otherwise, behind the rest of a line.
std::string notes(const pfc::Topology& topology) {
  std::string text;
  if (topology.priorities.empty())
    text +=
        "; --fabric-priorities, or \"priorities\" of the fabric, may say that data comes in fewer";
  if (const std::string delays = pfc::bound::delays_note(topology); !delays.empty())
    text += "; " + delays;
  return text;
}

/// Packets of a host that sends the shortest ones there are, over all of its links.
struct Sent {
  double most = 0;
  double gap_us = 0;  // between two, on the average
  std::size_t links = 0;
};

Sent most_sent(const pfc::Topology& topology, double within_us) {
  const auto is_host = [](const pfc::Node& node) { return node.kind == pfc::NodeKind::Host; };
  const bool has_hosts = std::ranges::any_of(topology.nodes, is_host);
  const double us = kLeastRoceFrame / topology.units.data_bytes * topology.units.time_s * 1e6;
  std::vector<Sent> by_node(topology.nodes.size());
  std::vector<double> rates(topology.nodes.size(), 0);
  for (const pfc::Link& link : topology.links) {
    if (has_hosts && !is_host(topology.nodes[link.from])) continue;
    Sent& sent = by_node[link.from];
    sent.most += std::floor(within_us * link.capacity / us) + 1;
    sent.gap_us = us / (rates[link.from] += link.capacity);
    ++sent.links;
  }
  return *std::ranges::max_element(by_node, {}, &Sent::most);
}

}  // namespace

Result<LatePackets> late_packets(const FabricOptions& options, const GivingUp& client) {
  PORTCULLIS_TRY_ASSIGN(const pfc::Topology topology, read_fabric(options));
  PORTCULLIS_TRY_ASSIGN(const auto bound, bound_of(topology, options));
  const double us = bound.most * topology.units.time_s * 1e6;
  if (!std::isfinite(us))
    return LatePackets{client.packets,
                       fmt::format("no bound on how late a packet of {} may be: {}",
                                   name_of(topology, options), why_none(topology, bound))};
  std::string text = fmt::format("a packet of {} arrives at most {:.6g} us after it was sent{}",
                                 name_of(topology, options), us, conditions(options, bound));
  if (us <= client.after_us)
    return LatePackets{
        0, fmt::format("{}; who gives up {:.6g} us after its last one has none out{}", text,
                       client.after_us, notes(topology))};
  const Sent sent = most_sent(topology, us - client.after_us);
  constexpr double kCountable = 1e18;
  const auto most = static_cast<std::uint64_t>(std::min(sent.most, kCountable));
  return LatePackets{
      std::min(most, client.packets.value_or(most)),
      fmt::format("{}; in the {:.6g} us that this is longer than {:.6g} us a host sends {} packets "
                  "at most, one in {:.6g} us{}{}",
                  text, us - client.after_us, client.after_us, most, sent.gap_us,
                  sent.links > 1 ? fmt::format(" over its {} links", sent.links) : "",
                  notes(topology))};
}

void add_bound_options(CLI::App& app, CLI::Option* fabric, FabricOptions& options) {
  app.add_option("--fabric-priorities", options.priorities,
                 "data comes in these alone, as 0,3 (default: \"priorities\" of the fabric, and\n"
                 "where it has none any of the 8)")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(fabric);
  auto* const watchdog =
      app.add_option("--fabric-watchdog-ms", options.watchdog_ms,
                     "its switches drop a queue that has been paused for so long, polling\n"
                     "included unless --fabric-poll-ms has it")
          ->type_name("MS")
          ->check(CLI::Range(0.0, 3.6e6))
          ->needs(fabric);
  app.add_option("--fabric-poll-ms", options.poll_ms,
                 "they look so often, and --fabric-watchdog-ms is their detection\n"
                 "time: a pause lasts up to 1 + max(2, detection / poll, rounded\n"
                 "up) polls")
      ->type_name("MS")
      ->check(CLI::Range(0.0, 3.6e6))
      ->needs(watchdog);
  app.add_option("--response-us", options.response_us,
                 "from a PAUSE frame's end until its sender heeds it")
      ->type_name("US")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->needs(fabric);
}

void add_fabric_options(CLI::App& app, FabricOptions& options) {
  auto* const fabric =
      app.add_option(
             "--fabric", options.file,
             "the lossless fabric as pfc-deadlock reads it: a queue pair's number rests for\n"
             "as long as a packet may be late there")
          ->type_name("FILE");
  add_bound_options(app, fabric, options);
  app.add_option("--residence-ms", options.told_ms,
                 "rest at least for so long; stands in for a bound that the fabric does not have")
      ->type_name("MS")
      ->check(CLI::Range(std::uint64_t{0}, kMostMs));
}

namespace {

/// A bound that no lease can rest for: whoever knows better says so, as of a fabric without one.
Result<FabricResidence> longer_than_accepted(const pfc::Topology& topology,
                                             const FabricOptions& options,
                                             const pfc::bound::ResidenceBound& bound, double ms) {
  const std::string late =
      fmt::format("a packet {} may be {:g} ms late", pfc::bound::priorities_text(bound), ms);
  if (options.told_ms == 0)
    return fail(Errc::InvalidArgument,
                fmt::format("--fabric {}: {}; at most {} are accepted, which fewer "
                            "--fabric-priorities may give, or --residence-ms instead",
                            options.file, late, kMostMs));
  return FabricResidence{options.told_ms,
                         fmt::format("{} ms, as told; in {} {}, which is longer", options.told_ms,
                                     name_of(topology, options), late)};
}

}  // namespace

Result<FabricResidence> residence_of(const FabricOptions& options) {
  if (options.file.empty()) {
    if (options.told_ms == 0) return FabricResidence{0, "no fabric was given, GRACE alone counts"};
    return FabricResidence{options.told_ms, fmt::format("{} ms, as told", options.told_ms)};
  }
  PORTCULLIS_TRY_ASSIGN(const pfc::Topology topology, read_fabric(options));
  PORTCULLIS_TRY_ASSIGN(const auto bound, bound_of(topology, options));
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
  if (ms > static_cast<double>(kMostMs)) return longer_than_accepted(topology, options, bound, ms);
  const auto found = static_cast<std::uint64_t>(ms);
  std::string dropped;
  if (const auto& ends = bound.dead_ends; ends.count > 0)
    dropped = fmt::format(", and what has no next hop is dropped (data for {} at {}{})",
                          topology.nodes[ends.destination].name, topology.nodes[ends.node].name,
                          ends.count == 1 ? "" : fmt::format(" and {} more", ends.count - 1));
  return FabricResidence{
      std::max(found, options.told_ms),
      fmt::format("{} ms: in {} a packet of {} to {} bytes comes at most {} ms after it was "
                  "sent{}{}{}",
                  std::max(found, options.told_ms), name_of(topology, options), kLeastRoceFrame,
                  kLargestRoceFrame, found, conditions(options, bound), dropped, notes(topology))};
}

}  // namespace portcullis::tools
