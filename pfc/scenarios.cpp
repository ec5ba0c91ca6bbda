// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/scenarios.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace portcullis::pfc {
namespace {

constexpr ScenarioName kNames[] = {
    {"seed-1", "the PFC document, section 1: a ring of four switches, two flows of three hops"},
    {"seed-2", "the PFC document, section 2: two flows into one link"},
    {"seed-3", "the PFC document, section 3: the same with link delays d0 and d1"},
    {"seed-4", "the PFC document, section 4: one of the two flows is offered at the rate a"},
    {"ring-3", "seed-1 with a third flow on the link from 2 to 3"},
};

NodeId place(Topology& topology, const char* name, NodeKind kind, double x, double y) {
  const NodeId id = topology.add_node(name, kind);
  topology.nodes[id].x = x;
  topology.nodes[id].y = y;
  return id;
}

/// Paths of built-in scenarios connect by construction; scenario() checks them all the same.
void flow(Topology& topology, const char* name, const std::vector<NodeId>& path) {
  static_cast<void>(topology.add_flow(name, path));
}

Topology ring(bool has_third_flow) {
  Topology topology;
  const NodeId one = place(topology, "1", NodeKind::Switch, 1, 1);
  const NodeId two = place(topology, "2", NodeKind::Switch, 2, 1);
  const NodeId three = place(topology, "3", NodeKind::Switch, 2, 2);
  const NodeId four = place(topology, "4", NodeKind::Switch, 1, 2);
  const NodeId f = place(topology, "host-f", NodeKind::Host, 0, 1);
  const NodeId g = place(topology, "host-g", NodeKind::Host, 3, 2);
  topology.add_link(f, one);
  topology.add_link(g, three);
  topology.add_link(one, two);
  topology.add_link(two, three);
  topology.add_link(three, four);
  topology.add_link(four, one);
  flow(topology, "f", {f, one, two, three, four});
  flow(topology, "g", {g, three, four, one, two});
  if (!has_third_flow) return topology;
  const NodeId h = place(topology, "host-h", NodeKind::Host, 3, 1);
  topology.add_link(h, two);
  flow(topology, "h", {h, two, three});
  return topology;
}

Topology two_into_one(double delay) {
  Topology topology;
  const NodeId f = place(topology, "host-f", NodeKind::Host, 0, 0);
  const NodeId g = place(topology, "host-g", NodeKind::Host, 0, 1);
  const NodeId one = place(topology, "1", NodeKind::Switch, 1, 0.5);
  const NodeId two = place(topology, "2", NodeKind::Switch, 2, 0.5);
  Link host_link;
  host_link.delay = delay;
  topology.add_link(f, one, host_link);
  topology.add_link(g, one, host_link);
  topology.add_link(one, two);
  flow(topology, "f", {f, one, two});
  flow(topology, "g", {g, one, two});
  return topology;
}

constexpr double kDelayOfSection3 = 0.25;
constexpr double kRateOfSection4 = 0.1;  // the PFC document's own example

std::optional<double> number(std::string_view text) {
  if (text == "unlimited") return kUnlimited;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

using LinkMember = double Link::*;

LinkMember link_member(std::string_view name) {
  if (name == "capacity") return &Link::capacity;
  if (name == "delay") return &Link::delay;
  if (name == "xoff") return &Link::xoff;
  if (name == "xon") return &Link::xon;
  if (name == "buffer") return &Link::buffer;
  return nullptr;
}

bool set_all(Topology& topology, std::string_view name, double value) {
  for (Link& link : topology.links) {
    if (name == "theta") {
      link.xon = std::isfinite(link.xoff) ? value * (link.xon / link.xoff) : value;
      link.xoff = value;
    } else if (name == "gap") {
      link.xon = link.xoff - value;
    } else if (name == "d") {
      link.delay = value;
    } else if (name == "capacity") {
      link.capacity = value;
    } else {
      return false;
    }
  }
  return true;
}

void set_rate(Source& source, double value) {
  source.kind = SourceKind::Rate;
  source.rate = value;
}

bool set_first_flows(Topology& topology, std::string_view name, double value) {
  const std::size_t flow = name == "d1" ? 1 : 0;
  if (topology.flows.size() <= flow || topology.flows[flow].path.empty()) return false;
  if (name == "d0" || name == "d1")
    topology.links[topology.flows[flow].path.front()].delay = value;
  else if (name == "a")
    set_rate(topology.flows.front().source, value);
  else if (name == "B")
    topology.flows.front().source.buffer = value;
  else
    return false;
  return true;
}

bool set_flow(Flow& flow, std::string_view member, double value) {
  if (member == "rate")
    set_rate(flow.source, value);
  else if (member == "start")
    flow.source.start = value;
  else if (member == "stop")
    flow.source.stop = value;
  else if (member == "buffer")
    flow.source.buffer = value;
  else
    return false;
  return true;
}

bool set_one(Topology& topology, std::string_view member, std::string_view whose, double value) {
  for (Flow& flow : topology.flows)
    if (flow.name == whose) return set_flow(flow, member, value);
  for (Link& link : topology.links) {
    if (link.name != whose) continue;
    const LinkMember found = link_member(member);
    if (found == nullptr) return false;
    // Without hysteresis before, none after.
    if (member == "xoff" && link.xon == link.xoff) link.xon = value;
    link.*found = value;
    return true;
  }
  return false;
}

constexpr std::string_view kAccepted =
    "theta, gap, d, capacity, d0, d1, a, B, rate.FLOW, start.FLOW, stop.FLOW, buffer.FLOW, "
    "capacity.LINK, delay.LINK, xoff.LINK, xon.LINK, buffer.LINK";

Result<void> apply_all(Topology& topology, std::span<const std::string> settings) {
  for (const std::string& setting : settings) PORTCULLIS_TRY(apply_setting(topology, setting));
  return {};
}

/// The settings but for one, which is empty then.
Result<void> check_without(Topology topology, std::vector<std::string> settings, std::size_t one) {
  settings.erase(settings.begin() + static_cast<std::ptrdiff_t>(one));
  PORTCULLIS_TRY(apply_all(topology, settings));
  return check(topology);
}

/// The setting without which there would be another error, or none; all of them where one alone
/// does not make it, none where the topology has it anyway.
std::string settings_to_blame(const Topology& before, std::span<const std::string> settings,
                              const Error& error) {
  const auto unset = check(before);
  if (!unset && unset.error().text == error.text) return {};
  const std::vector<std::string> all(settings.begin(), settings.end());
  for (std::size_t i = all.size(); i-- > 0;) {  // what comes later has the last word
    const auto without = check_without(before, all, i);
    if (without || without.error().text != error.text)
      return fmt::format("setting \"{}\": ", all[i]);
  }
  return fmt::format("settings \"{}\": ", fmt::join(all, "\", \""));
}

}  // namespace

std::span<const ScenarioName> scenario_names() { return kNames; }

Result<Topology> scenario(std::string_view name) {
  Topology topology;
  if (name == "seed-1") {
    topology = ring(false);
  } else if (name == "ring-3") {
    topology = ring(true);
  } else if (name == "seed-2" || name == "seed-4") {
    topology = two_into_one(0);
    if (name == "seed-4") set_rate(topology.flows.front().source, kRateOfSection4);
  } else if (name == "seed-3") {
    topology = two_into_one(kDelayOfSection3);
  } else {
    std::vector<std::string_view> names;
    for (const ScenarioName& known : kNames) names.push_back(known.name);
    return fail(Errc::NotFound,
                fmt::format("no scenario \"{}\"; {} are accepted", name, fmt::join(names, ", ")));
  }
  topology.name = name;
  PORTCULLIS_TRY(check(topology));
  return topology;
}

void apply_start(Topology& topology, StartReading reading) {
  for (std::size_t i = 0; i < std::min<std::size_t>(2, topology.flows.size()); ++i) {
    Flow& flow = topology.flows[i];
    const bool is_late = reading == StartReading::B || (reading == StartReading::C && i == 1);
    if (is_late && !flow.path.empty()) flow.source.start += topology.links[flow.path.front()].delay;
  }
}

Result<void> apply_setting(Topology& topology, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const auto value =
      equals == std::string_view::npos ? std::nullopt : number(setting.substr(equals + 1));
  if (!value)
    return fail(
        Errc::InvalidArgument,
        fmt::format("setting \"{}\"; NAME=NUMBER or NAME=unlimited is accepted, NAME one of {}",
                    setting, kAccepted));
  const std::size_t dot = name.find('.');
  const bool is_set =
      dot == std::string_view::npos
          ? set_all(topology, name, *value) || set_first_flows(topology, name, *value)
          : set_one(topology, name.substr(0, dot), name.substr(dot + 1), *value);
  if (is_set) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("setting \"{}\": no \"{}\" in {}; {} are accepted", setting, name,
                          topology.name.empty() ? "this topology" : topology.name, kAccepted));
}

Result<void> apply_settings(Topology& topology, std::span<const std::string> settings) {
  Topology set = topology;
  PORTCULLIS_TRY(apply_all(set, settings));
  auto checked = check(set);
  if (!checked) {
    checked.error().text.insert(0, settings_to_blame(topology, settings, checked.error()));
    return checked;
  }
  topology = std::move(set);
  return {};
}

}  // namespace portcullis::pfc
