// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock headroom: how much room above XOFF loses nothing, as 802.1Qbb counts it, and which
// ingresses of a fabric have less.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "pfc/bound/pause_times.hpp"
#include "pfc/bound/residence_bound.hpp"
#include "pfc/csv.hpp"
#include "tools/pfc_deadlock/command.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

using pfc::Topology;

constexpr double kPicosecondsPerUs = 1e6;
constexpr double kUsPerMetre = 5e-3;  // of light in glass

struct Options {
  std::string scenario;  // empty: one cable of gbps and cable_m
  std::vector<std::string> settings;
  double gbps = 0;
  double cable_m = 0;
  std::uint32_t packet_bytes = 1000;
  std::uint32_t least_bytes = 0;  // 0: as packet_bytes
  double response_us = 0;
  std::vector<std::uint32_t> priorities;
  bool is_json = false;
};

/// Of an ingress of one priority, in bytes; kUnlimited where nothing ends it.
struct Room {
  pfc::LinkId link = 0;
  double xoff = 0;
  double needed = 0;  // above xoff
  double has = 0;

  [[nodiscard]] double missing() const { return needed > has ? needed - has : 0; }
};

/// Of gates that close: hosts take what arrives.
std::vector<Room> rooms_of(const Topology& topology, const Options& options) {
  const pfc::bound::PauseTimes times(topology,
                                     {.packet_bytes = options.packet_bytes,
                                      .least_bytes = options.least_bytes,
                                      .response_ps = options.response_us * kPicosecondsPerUs});
  std::vector<Room> rooms;
  for (pfc::LinkId id = 0; id < topology.links.size(); ++id) {
    const pfc::Link& link = topology.links[id];
    const pfc::Node& node = topology.nodes[link.to];
    if (node.kind == pfc::NodeKind::Host || !std::isfinite(link.xoff)) continue;
    const double bytes = topology.units.data_bytes;
    const double xoff = std::round(link.xoff * bytes);
    rooms.push_back({.link = id,
                     .xoff = xoff,
                     .needed = std::ceil(times.headroom_bytes(id)),
                     .has = std::round(std::min(link.buffer, node.shared_buffer) * bytes) - xoff});
  }
  return rooms;
}

/// The first link of those that are alike, and how many there are.
std::string csv_of(const Topology& topology, const std::vector<Room>& rooms) {
  std::map<std::tuple<double, double, double>, std::size_t> counts;
  const auto key = [](const Room& room) { return std::tuple(room.xoff, room.needed, room.has); };
  for (const Room& room : rooms) ++counts[key(room)];
  std::string text = "link,links,xoff_bytes,headroom_bytes,has_bytes,short_bytes\n";
  const auto bytes = [](double of) {
    return std::isfinite(of) ? fmt::format("{}", of) : "unlimited";
  };
  for (const Room& room : rooms) {
    const auto alike = counts.extract(key(room));
    if (alike.empty()) continue;
    text += fmt::format("{},{},{},{},{},{}\n", pfc::csv_field(topology.links[room.link].name),
                        alike.mapped(), bytes(room.xoff), bytes(room.needed), bytes(room.has),
                        bytes(room.missing()));
  }
  return text;
}

/// null: unlimited.
std::string json_of(const Topology& topology, const std::vector<Room>& rooms,
                    const Options& options) {
  const auto bytes = [](double of) {
    return std::isfinite(of) ? nlohmann::ordered_json(of) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json top = {{"packet_bytes", options.packet_bytes},
                                {"response_us", options.response_us},
                                {"priorities_on_links", pfc::carried_priorities(topology)},
                                {"links", nlohmann::ordered_json::array()}};
  for (const Room& room : rooms)
    top["links"].push_back({{"link", topology.links[room.link].name},
                            {"xoff_bytes", bytes(room.xoff)},
                            {"headroom_bytes", bytes(room.needed)},
                            {"has_bytes", bytes(room.has)},
                            {"short_bytes", bytes(room.missing())}});
  return top.dump(2) + "\n";
}

std::string sizes_text(const Options& options) {
  const bool are_mixed = options.least_bytes != 0 && options.least_bytes < options.packet_bytes;
  return fmt::format("packets of {}{} bytes, PAUSE heeded after {:g} us",
                     are_mixed ? fmt::format("{} to ", options.least_bytes) : "",
                     options.packet_bytes, options.response_us);
}

std::string verdict_of(const Topology& topology, const std::vector<Room>& rooms,
                       const Options& options) {
  const std::string condition = fmt::format("{}, data in priorities {}", sizes_text(options),
                                            fmt::join(pfc::carried_priorities(topology), ", "));
  const auto worst = std::ranges::max_element(rooms, {}, &Room::missing);
  if (worst->missing() == 0)
    return fmt::format(
        "all of {} ingresses with a threshold have the headroom that loses nothing: "
        "{}\n",
        rooms.size(), condition);
  const auto is_short = [](const Room& room) { return room.missing() > 0; };
  const std::string& name = topology.links[worst->link].name;
  const std::string most =
      std::isfinite(worst->missing())
          ? fmt::format("{} by {} bytes", name, worst->missing())
          : fmt::format("none is enough for {}, whose PAUSE frames may fill the link back", name);
  return fmt::format("{} of {} ingresses with a threshold are short of headroom, {}: {}\n",
                     std::ranges::count_if(rooms, is_short), rooms.size(), most, condition);
}

/// A cable to an ingress that closes at its first byte: no threshold is farther from whole packets.
Topology one_cable(const Options& options) {
  Topology topology;
  topology.units = {.time_s = 1e-6, .data_bytes = 1};
  const auto from = topology.add_node("sender", pfc::NodeKind::Switch);
  const auto to = topology.add_node("receiver", pfc::NodeKind::Switch);
  pfc::Link link;
  link.capacity = options.gbps * 125;
  link.delay = options.cable_m * kUsPerMetre;
  topology.add_link(from, to, link);
  topology.add_link(to, from, link);
  return topology;
}

Result<int> run_cable(Console& console, const Options& options) {
  Topology topology = one_cable(options);
  PORTCULLIS_TRY(pfc::bound::take_priorities(topology, options.priorities));
  const Room room = rooms_of(topology, options).front();
  if (options.is_json)
    console.out << json_of(topology, {room}, options);
  else
    console.out << (std::isfinite(room.needed) ? fmt::format("{}\n", room.needed) : "unlimited\n");
  console.err << fmt::format(
      "bytes above any XOFF that lose nothing at {:g} Gb/s and {:g} m of "
      "cable: {}, data in {} priorities\n",
      options.gbps, options.cable_m, sizes_text(options), pfc::carried_priorities(topology).size());
  return std::isfinite(room.needed) ? kExitDone : kExitShort;
}

Result<int> run(Console& console, const Options& options) {
  if (options.least_bytes > options.packet_bytes)
    return fail(Errc::InvalidArgument,
                fmt::format("--least-bytes {}; at most --packet-bytes, {}, is accepted",
                            options.least_bytes, options.packet_bytes));
  if (options.scenario.empty()) return run_cable(console, options);
  PORTCULLIS_TRY_ASSIGN(Topology topology, load_fabric(options.scenario, options.settings));
  PORTCULLIS_TRY(pfc::bound::take_priorities(topology, options.priorities));
  const std::vector<Room> rooms = rooms_of(topology, options);
  if (rooms.empty())
    return fail(Errc::InvalidArgument,
                "no link into a switch has a threshold; \"xoff\" of one is needed");
  console.out << (options.is_json ? json_of(topology, rooms, options) : csv_of(topology, rooms));
  console.err << verdict_of(topology, rooms, options);
  const auto is_shared = [](const pfc::Node& node) { return std::isfinite(node.shared_buffer); };
  if (std::ranges::any_of(topology.nodes, is_shared))
    console.err << "shared buffers were taken to be each ingress's own\n";
  if (const std::string delays = pfc::bound::delays_note(topology); !delays.empty())
    console.err << delays << "\n";
  const bool is_short =
      std::ranges::any_of(rooms, [](const Room& room) { return room.missing() > 0; });
  return is_short ? kExitShort : kExitDone;
}

void add_conditions(CLI::App& app, Options& options) {
  app.add_option("--packet-bytes", options.packet_bytes,
                 "of every packet, or of the largest with --least-bytes")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--least-bytes", options.least_bytes, "of the smallest packet, where they differ")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option(
         "--response-us", options.response_us,
         "from a PAUSE frame's end until its sender heeds it: PHY, MAC and its own response")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--priorities", options.priorities,
                 "data comes in these alone, as 0,3; each sends PAUSE frames (default: as "
                 "residence has them; of a cable all 8)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  app.add_flag("--json", options.is_json, "a JSON object, each link by itself");
}

}  // namespace

int run_headroom(Arguments arguments, Console& console) {
  CLI::App app(
      "How many bytes above XOFF an ingress needs so that nothing is lost, from cables, speeds, "
      "packet size and response (IEEE 802.1Qbb), beside what a fabric's file has.",
      "pfc-deadlock headroom");
  Options options;
  auto* scenario = app.add_option("SCENARIO", options.scenario, kFabricHelp);
  app.add_option("--set", options.settings, "NAME=VALUE (may be repeated)")
      ->allow_extra_args(false)
      ->needs(scenario);
  auto* gbps = app.add_option("--gbps", options.gbps, "of a cable, without SCENARIO, in both ways")
                   ->check(CLI::Range(1e-6, 1e5))
                   ->excludes(scenario);
  app.add_option("--cable-m", options.cable_m, "its length, 5 ns a metre")
      ->check(CLI::Range(0.0, 1e7))
      ->needs(gbps);
  add_conditions(app, options);
  app.footer(
      "exit status: 0 each has what it needs, 1 some are short, 2 bad arguments or a bad file");
  if (const auto status = parse(app, arguments, console)) return *status;
  if (options.scenario.empty() && options.gbps == 0)
    return refuse(console, app.get_name(),
                  {Errc::InvalidArgument, "nothing to look at; SCENARIO or --gbps is needed"});
  const auto status = run(console, options);
  return status ? *status : refuse(console, app.get_name(), status.error());
}

}  // namespace portcullis::tools::pfc_deadlock
