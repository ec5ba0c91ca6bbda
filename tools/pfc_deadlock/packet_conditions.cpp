// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/packet_conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "pfc/packet/simulator.hpp"
#include "tools/pfc_deadlock/choice.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

namespace packet = pfc::packet;
using pfc::Topology;
using pfc::cbd::SplitFlows;

constexpr double kPicosecondsPerMs = 1e9;
constexpr double kPicosecondsPerUs = 1e6;
constexpr double kMostMs = 1e6;

const Words<bool> pause_words = {{"in-band", true}, {"instant", false}};
const Words<packet::WatchdogAction> action_words = {{"none", packet::WatchdogAction::None},
                                                    {"drop", packet::WatchdogAction::Drop},
                                                    {"forward", packet::WatchdogAction::Forward},
                                                    {"alert", packet::WatchdogAction::Alert}};

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What stands before the last `at`, and behind it; nothing where there is none.
std::optional<std::pair<std::string_view, std::string_view>> cut(std::string_view text, char at) {
  const std::size_t place = text.rfind(at);
  if (place == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, place), text.substr(place + 1));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(separator, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

template <class Items>
std::optional<std::uint32_t> find(const Items& items, std::string_view name) {
  for (std::uint32_t i = 0; i < items.size(); ++i)
    if (items[i].name == name) return i;
  return std::nullopt;
}

tl::unexpected<Error> bad(std::string_view option, const std::string& text, std::string_view what) {
  return fail(Errc::InvalidArgument, fmt::format("{} \"{}\": {}", option, text, what));
}

/// Each part of a flow that was split has its share of the flow's limit.
Result<void> add_limit(const std::string& text, const Topology& topology, const SplitFlows& flows,
                       packet::RunOptions& to) {
  const auto parts = cut(text, '=');
  const auto flow = find(topology.flows, parts ? parts->first : std::string_view(text));
  if (!parts || !flow)
    return bad("--limit", text,
               fmt::format("no flow \"{}\"; FLOW=RATE with the name of a flow is accepted",
                           parts ? parts->first : std::string_view(text)));
  const auto rate = number<double>(parts->second);
  if (!rate || !(*rate > 0)) return bad("--limit", text, "a rate above 0 is accepted");
  for (std::uint32_t part = 0; part < flows.origin.size(); ++part)
    if (flows.origin[part] == *flow) to.limits.push_back({part, *rate * flows.share[part]});
  return {};
}

Result<void> add_size(const std::string& text, const Topology& topology, const SplitFlows& flows,
                      packet::RunOptions& to) {
  const auto parts = cut(text, '=');
  const auto flow = parts ? find(topology.flows, parts->first) : std::nullopt;
  const auto bytes = parts ? number<std::uint32_t>(parts->second) : std::nullopt;
  if (!flow || !bytes)
    return bad("--size", text, "FLOW=BYTES with the name of a flow and whole bytes is accepted");
  for (std::uint32_t part = 0; part < flows.origin.size(); ++part)
    if (flows.origin[part] == *flow) to.sizes.push_back({part, *bytes});
  return {};
}

/// HOST=FROM:TO@PRIORITY in the scenario's time; without TO to the end, without @ of priority 0.
Result<void> add_storm(const std::string& text, const Topology& topology, packet::RunOptions& to) {
  constexpr std::string_view kAccepted =
      "HOST=FROM:TO@PRIORITY is accepted, with the name of a host and times of the scenario that "
      "ascend; TO and @PRIORITY may be left out";
  const auto parts = cut(text, '=');
  const auto host = parts ? find(topology.nodes, parts->first) : std::nullopt;
  if (!host) return bad("--storm", text, kAccepted);
  packet::Storm storm;
  storm.host = *host;
  std::string_view times = parts->second;
  if (const auto named = cut(times, '@')) {
    const auto priority = number<std::uint32_t>(named->second);
    if (!priority || *priority >= pfc::kPriorities) return bad("--storm", text, kAccepted);
    storm.priority = *priority;
    times = named->first;
  }
  const double most = static_cast<double>(to.until) / (topology.units.time_s * 1e12);
  const auto ends = cut(times, ':');
  const bool has_end = ends && !ends->second.empty();
  const double from = number<double>(ends ? ends->first : times).value_or(-1);
  const double end = has_end ? number<double>(ends->second).value_or(-1) : 2 * most;
  if (!(from >= 0 && from <= most && end > from)) return bad("--storm", text, kAccepted);
  storm.from = packet::to_picoseconds(topology, from);
  storm.to = packet::to_picoseconds(topology, std::min(end, 2 * most));
  storm.to = std::max(storm.to, storm.from + 1);
  to.storms.push_back(storm);
  return {};
}

Result<packet::Schedule> schedule_of(const std::string& text) {
  packet::Schedule schedule;
  if (text == "turns") return schedule;
  schedule.kind = packet::Schedule::Kind::Strict;
  if (text == "strict") return schedule;
  schedule.kind = packet::Schedule::Kind::Shares;
  for (const std::string_view part : split(text, ',')) {
    const auto sides = cut(part, '=');
    const auto priority = sides ? number<std::uint32_t>(sides->first) : std::nullopt;
    const auto share = sides ? number<double>(sides->second) : std::nullopt;
    if (!priority || *priority >= pfc::kPriorities || !share || !(*share > 0) ||
        !std::isfinite(*share) || schedule.shares[*priority] > 0)
      return bad(
          "--schedule", text,
          "turns, strict, or PRIORITY=SHARE,.. with each priority once and shares above 0 is "
          "accepted");
    schedule.shares[*priority] = *share;
  }
  return schedule;
}

Result<void> add_watched(const std::string& text, const Topology& topology, packet::Watchdog& to) {
  constexpr std::string_view kAccepted =
      "LINK=ACTION or LINK=ACTION,DETECT_MS,RESTORE_MS is accepted, with the name of a link and "
      "none, "
      "drop, forward or alert";
  const auto parts = cut(text, '=');
  const auto link = parts ? find(topology.links, parts->first) : std::nullopt;
  const auto words = parts ? split(parts->second, ',') : std::vector<std::string_view>();
  const auto action = std::ranges::find_if(
      action_words, [&](const auto& known) { return !words.empty() && known.first == words[0]; });
  if (!link || action == action_words.end() || words.size() == 2 || words.size() > 3)
    return bad("--watchdog-port", text, kAccepted);
  packet::WatchedPort port{*link, action->second, to.detect, to.restore};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto ms = number<double>(words[i]);
    if (!ms || !(*ms >= 1e-6 && *ms <= kMostMs)) return bad("--watchdog-port", text, kAccepted);
    (i == 1 ? port.detect : port.restore) =
        static_cast<packet::Picoseconds>(*ms * kPicosecondsPerMs);
  }
  to.ports.push_back(port);
  return {};
}

/// KMIN,KMAX,PMAX.
Result<void> set_marks(const std::string& text, packet::Ecn& to) {
  const auto parts = split(text, ',');
  const auto least = number<std::int64_t>(parts[0]);
  const auto most = parts.size() == 3 ? number<std::int64_t>(parts[1]) : std::nullopt;
  const auto marked = parts.size() == 3 ? number<double>(parts[2]) : std::nullopt;
  if (!least || !most || !marked || *least < 0 || *most < *least || !(*marked >= 0) || *marked > 1)
    return bad("--ecn", text,
               "KMIN,KMAX,PMAX is accepted: bytes from 0 on that ascend, and a probability");
  to.least_bytes = *least;
  to.most_bytes = *most;
  to.most_marked = *marked;
  return {};
}

/// NAME=VALUE, in the units that the names end in.
Result<void> set_dcqcn(const std::string& text, packet::Dcqcn& to) {
  constexpr std::string_view kNames =
      "cnp-us, alpha-us, timer-us, counter-bytes, recoveries, gain, additive-mbps, hyper-mbps, "
      "least-mbps";
  constexpr double kMost = 1e12;
  const auto parts = cut(text, '=');
  const std::string_view name = parts ? parts->first : std::string_view(text);
  const double value = parts ? number<double>(parts->second).value_or(-1) : -1;
  if (!(value >= 0 && value <= kMost))
    return bad("--dcqcn-set", text, fmt::format("NAME=VALUE is accepted, NAME one of {}", kNames));
  const auto us = [value] { return static_cast<packet::Picoseconds>(value * kPicosecondsPerUs); };
  const std::map<std::string_view, std::function<void()>> setters = {
      {"cnp-us", [&] { to.cnp_every = us(); }},
      {"alpha-us", [&] { to.alpha_every = us(); }},
      {"timer-us", [&] { to.timer = us(); }},
      {"counter-bytes", [&] { to.counter_bytes = static_cast<std::int64_t>(value); }},
      {"recoveries", [&] { to.recoveries = static_cast<std::uint32_t>(std::min(value, 1e6)); }},
      {"gain", [&] { to.gain = value; }},
      {"additive-mbps", [&] { to.additive_bps = value * 1e6; }},
      {"hyper-mbps", [&] { to.hyper_bps = value * 1e6; }},
      {"least-mbps", [&] { to.least_bps = value * 1e6; }}};
  const auto setter = setters.find(name);
  if (setter == setters.end())
    return bad("--dcqcn-set", text, fmt::format("no \"{}\"; {} are accepted", name, kNames));
  setter->second();
  return {};
}

void describe_congestion(CLI::App& app, PacketConditions& to) {
  app.add_option(
      "--ecn", to.ecn,
      "KMIN,KMAX,PMAX: switches mark packets that come to a queue of more than KMIN bytes, "
      "up to KMAX with a probability that rises to PMAX, above it all");
  app.add_flag("--dcqcn", to.dcqcn,
               "flows heed marks as DCQCN does; --ecn 5000,200000,0.01 if not given");
  app.add_option(
         "--dcqcn-set", to.dcqcn_settings,
         "NAME=VALUE: cnp-us (50), alpha-us (55), timer-us (55), counter-bytes (1e7), "
         "recoveries (5), gain (1/256), additive-mbps (40), hyper-mbps (400), least-mbps (40) "
         "(may be repeated)")
      ->allow_extra_args(false);
}

void describe_pauses(CLI::App& app, PacketConditions& to) {
  add_choice(app, "--pause", to.pause_in_band, pause_words,
             "in-band: PAUSE frames wait for the packet on their link and take time themselves; "
             "instant: they are on their way at once");
  app.add_option("--response-us", to.response_us, "from a PAUSE frame's end to the last bit")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option(
         "--quanta", to.quanta,
         "a PAUSE holds for so many times 512 bit times of its link (802.1Qbb); without, until "
         "the gate opens")
      ->check(CLI::Range(1, 65'535));
  app.add_option(
         "--refresh-quanta", to.refresh,
         "a closed gate sends PAUSE again so long after the one before; half of --quanta if not "
         "given")
      ->check(CLI::Range(1, 65'535));
  app.add_option("--storm", to.storms,
                 "HOST=FROM:TO@PRIORITY: a NIC that sends PAUSE meanwhile, whatever comes (may be "
                 "repeated)")
      ->allow_extra_args(false);
}

void describe_watchdog(CLI::App& app, PacketConditions& to) {
  add_choice(app, "--watchdog", to.watchdog, action_words,
             "what a switch does with a queue that stays paused: none, drop, forward, alert");
  app.add_option("--detect-ms", to.detect_ms, "pause that the watchdog takes for stuck")
      ->check(CLI::Range(1e-6, kMostMs))
      ->capture_default_str();
  app.add_option("--restore-ms", to.restore_ms, "open time after which it lets go")
      ->check(CLI::Range(1e-6, kMostMs))
      ->capture_default_str();
  app.add_option("--poll-ms", to.poll_ms,
                 "it looks at all queues so often, as SONiC's does; 0: it times every pause")
      ->check(CLI::Range(0.0, kMostMs))
      ->capture_default_str();
  app.add_option("--watchdog-port", to.watchdog_ports,
                 "LINK=ACTION or LINK=ACTION,DETECT_MS,RESTORE_MS: another watchdog there (may be "
                 "repeated)")
      ->allow_extra_args(false);
}

}  // namespace

void describe(CLI::App& app, PacketConditions& to) {
  app.add_option("--limit", to.limits,
                 "FLOW=RATE: packets no closer than this rate, as congestion control would have it "
                 "(may be repeated)")
      ->allow_extra_args(false);
  app.add_option("--packet-bytes", to.packet_bytes, "size of every packet")->capture_default_str();
  app.add_option("--size", to.sizes,
                 "FLOW=BYTES: packets of this flow have another size (may be "
                 "repeated)")
      ->allow_extra_args(false);
  describe_pauses(app, to);
  app.add_option(
         "--schedule", to.schedule,
         "which priority of a link sends next: turns (a packet each), strict (7 first), or "
         "PRIORITY=SHARE,..: those by shares (ETS, deficit round robin), the others strict and "
         "before them")
      ->capture_default_str();
  describe_congestion(app, to);
  describe_watchdog(app, to);
}

Result<packet::RunOptions> run_options(const PacketConditions& from, const Topology& topology,
                                       const SplitFlows& flows, packet::Picoseconds until) {
  packet::RunOptions run;
  run.until = until;
  run.packet_bytes = from.packet_bytes;
  run.pause_in_band = from.pause_in_band;
  run.response = static_cast<packet::Picoseconds>(from.response_us * kPicosecondsPerUs);
  if (from.refresh > 0 && from.quanta == 0)
    return fail(Errc::InvalidArgument,
                fmt::format("--refresh-quanta {} without --quanta; both, or neither, are accepted",
                            from.refresh));
  run.pause_timer = {from.quanta, from.refresh};
  run.watchdog = {from.watchdog,
                  static_cast<packet::Picoseconds>(from.detect_ms * kPicosecondsPerMs),
                  static_cast<packet::Picoseconds>(from.restore_ms * kPicosecondsPerMs),
                  static_cast<packet::Picoseconds>(from.poll_ms * kPicosecondsPerMs),
                  {}};
  for (const std::string& text : from.watchdog_ports)
    PORTCULLIS_TRY(add_watched(text, topology, run.watchdog));
  run.stop_at_deadlock =
      run.watchdog.action == packet::WatchdogAction::None && run.watchdog.ports.empty();
  PORTCULLIS_TRY_ASSIGN(run.schedule, schedule_of(from.schedule));
  run.ecn.is_on = from.dcqcn || !from.ecn.empty();
  run.ecn.seed = from.seed;
  run.dcqcn.is_on = from.dcqcn;
  if (!from.ecn.empty()) PORTCULLIS_TRY(set_marks(from.ecn, run.ecn));
  for (const std::string& text : from.dcqcn_settings) PORTCULLIS_TRY(set_dcqcn(text, run.dcqcn));
  if (!from.dcqcn && !from.dcqcn_settings.empty())
    return bad("--dcqcn-set", from.dcqcn_settings.front(), "--dcqcn is needed too");
  for (const std::string& text : from.limits) PORTCULLIS_TRY(add_limit(text, topology, flows, run));
  for (const std::string& text : from.sizes) PORTCULLIS_TRY(add_size(text, topology, flows, run));
  for (const std::string& text : from.storms) PORTCULLIS_TRY(add_storm(text, topology, run));
  return run;
}

}  // namespace portcullis::tools::pfc_deadlock
