// SPDX-License-Identifier: BSD-3-Clause
//
// config_db.json of SONiC, a file a switch, as src/sonic-yang-models/doc/Configuration.md and the
// YANG models beside it have the tables DEVICE_METADATA, DEVICE_NEIGHBOR, PORT, CABLE_LENGTH,
// BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG, PORT_QOS_MAP and PFC_WD (sonic-buildimage, commit
// 086b03bd). Numbers stand there as strings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "pfc/import/draft.hpp"
#include "pfc/watchdog.hpp"

namespace portcullis::pfc::import {
namespace {

constexpr double kSecondsPerMetre = 5e-9;  // of light in glass; copper is no slower by much
// Of PFC_WD where it does not say: PFC_WD_POLL_MSECS in orchagent/orchdaemon.cpp and createEntry()
// in orchagent/pfcwdorch.cpp of sonic-swss.
constexpr double kUsualPollMs = 100;
constexpr const char* kUsualAction = "drop";
constexpr double kDataBytes = 40'000;  // one of data, as Draft has it

/// A number that stands as a string, or as a number.
Result<double> number_of(const JsonCursor& from) {
  if (from.value().kind == JsonValue::Kind::Number) return from.number();
  PORTCULLIS_TRY_ASSIGN(const std::string text, from.string());
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    return from.refuse("a number, as a string");
  return number;
}

Result<std::optional<double>> number_at(const JsonCursor& from, std::string_view key) {
  if (!from.has(key)) return std::nullopt;
  PORTCULLIS_TRY_ASSIGN(const double number, number_of(from.at(key)));
  return std::optional(number);
}

/// Bytes or milliseconds.
Result<std::optional<double>> amount_at(const JsonCursor& from, std::string_view key) {
  PORTCULLIS_TRY_ASSIGN(const auto number, number_at(from, key));
  if (number.value_or(0) < 0) return from.at(key).refuse("a number from 0 on");
  if (number.value_or(0) > kLargestNumber)
    return from.at(key).refuse(fmt::format("a number from 0 to {:g}", kLargestNumber));
  return number;
}

/// "Ethernet0,Ethernet4" of a key, before its '|' if it has one.
std::vector<std::string> ports_of(std::string_view key) {
  key = key.substr(0, key.find('|'));
  std::vector<std::string> ports;
  while (true) {
    const std::size_t comma = key.find(',');
    ports.emplace_back(key.substr(0, comma));
    if (comma == std::string_view::npos) return ports;
    key.remove_prefix(comma + 1);
  }
}

/// What a priority group of a port may hold, in bytes.
struct Room {
  std::string profile;
  double headroom = 0;  // "xoff": above the threshold
  double reserved = 0;  // "size"
  double xon = 0, xon_offset = 0;
  std::optional<double> static_th;
  std::optional<double> dynamic_th;  // alpha is 2 to this
  double pool = 0;                   // bytes that all share
};

struct Neighbour {
  std::uint32_t line = 0;
  std::string port;  // ours
  End far;
};

/// One switch.
struct Config {
  std::string file;
  std::string name;
  std::map<std::string, double> gbps;        // by port
  std::set<std::string> down;                // ports that the configuration keeps down
  std::set<std::string> unsaid;              // of which it says neither
  std::map<std::string, std::string> alias;  // a port by its alias, which neighbours may use
  std::map<std::string, double> metres;
  std::map<std::string, std::set<std::uint32_t>> lossless;     // priorities by port
  std::map<std::string, std::map<std::uint32_t, Room>> rooms;  // by port and priority group
  std::map<std::string, std::map<std::uint32_t, std::uint32_t>> groups;  // where no one is its own
  std::vector<Neighbour> neighbours;

  /// The priority group in which data of that priority waits.
  [[nodiscard]] std::uint32_t group_of(const std::string& port, std::uint32_t priority) const {
    const auto map = groups.find(port);
    if (map == groups.end() || !map->second.contains(priority)) return priority;
    return map->second.at(priority);
  }
};

bool is_digit_to_7(std::string_view text) {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '7';
}

/// A name of that table: older images write "[TABLE|NAME]".
std::string unbracketed(const std::string& text, std::string_view table) {
  const std::string old = fmt::format("[{}|", table);
  if (!text.starts_with(old) || !text.ends_with(']')) return text;
  return text.substr(old.size(), text.size() - old.size() - 1);
}

class ConfigReader {
 public:
  ConfigReader(const JsonCursor& top, Config& config, std::vector<std::string>& notes)
      : top_(top), config_(config), notes_(notes) {}

  Result<void> run() {
    if (top_.value().kind != JsonValue::Kind::Object)
      return top_.bad("{\"TABLE\": {..}, ..} expected, as config_db.json has it");
    if (!top_.has("DEVICE_METADATA") || !top_.at("DEVICE_METADATA").has("localhost"))
      return top_.bad("no DEVICE_METADATA with localhost; the hostname is needed");
    const JsonCursor self = top_.at("DEVICE_METADATA").at("localhost");
    if (!self.has("hostname")) return self.bad("no hostname; a name is needed");
    PORTCULLIS_TRY_ASSIGN(config_.name, self.at("hostname").string());
    PORTCULLIS_TRY(each("PORT", [this](const std::string& key, const JsonCursor& port) {
      return read_port(key, port);
    }));
    PORTCULLIS_TRY(each("DEVICE_NEIGHBOR", [this](const std::string& key, const JsonCursor& other) {
      return neighbour(key, other);
    }));
    PORTCULLIS_TRY(each("CABLE_LENGTH", [this](const std::string&, const JsonCursor& lengths) {
      return cable_lengths(lengths);
    }));
    PORTCULLIS_TRY(
        each("PORT_QOS_MAP", [this](const std::string& key, const JsonCursor& map) -> Result<void> {
          PORTCULLIS_TRY(group_map(key, map));
          return qos_map(key, map);
        }));
    PORTCULLIS_TRY(each("BUFFER_PG", [this](const std::string& key, const JsonCursor& group) {
      return priority_group(key, group);
    }));
    return watchdog();
  }

 private:
  template <class Read>
  Result<void> each(std::string_view table, Read read) {
    if (!top_.has(table)) return {};
    const JsonCursor rows = top_.at(table);
    if (rows.value().kind != JsonValue::Kind::Object)
      return rows.bad("{\"KEY\": {..}, ..} expected");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.item(i).value().kind != JsonValue::Kind::Object)
        return rows.item(i).bad("{..} expected");
      PORTCULLIS_TRY(read(rows.value().keys[i], rows.item(i)));
    }
    return {};
  }

  Result<void> read_port(const std::string& key, const JsonCursor& port) {
    PORTCULLIS_TRY_ASSIGN(const auto mbps, number_at(port, "speed"));
    if (mbps && !(*mbps > 0)) return port.at("speed").refuse("Mb/s above 0");
    config_.gbps[key] = mbps.value_or(0) / 1000;
    // Without one SONiC keeps it down (DEFAULT_ADMIN_STATUS_STR, cfgmgr/portmgr.h), but a file that
    // was cut down to what counts here need not say: taken for up, and told.
    std::string status = "up";
    if (!port.has("admin_status")) config_.unsaid.insert(key);
    PORTCULLIS_TRY(port.read("admin_status", status));
    if (status != "up" && status != "down") return port.at("admin_status").refuse("up or down");
    if (status == "down") config_.down.insert(key);
    std::string alias = key;
    PORTCULLIS_TRY(port.read("alias", alias));
    config_.alias.emplace(std::move(alias), key);
    return {};
  }

  /// By local port with "name" and "port", or by the neighbour's name with "local_port" and "port".
  Result<void> neighbour(const std::string& key, const JsonCursor& other) {
    Neighbour found{other.value().line, key, {key, ""}};
    if (other.has("port")) {
      PORTCULLIS_TRY_ASSIGN(found.far.port, other.at("port").string());
    }
    if (other.has("local_port")) {
      PORTCULLIS_TRY_ASSIGN(found.port, other.at("local_port").string());
    }
    if (other.has("name")) {
      PORTCULLIS_TRY_ASSIGN(found.far.node, other.at("name").string());
    } else if (!other.has("local_port")) {
      return other.bad("neither name nor local_port; one of them is needed");
    }
    config_.neighbours.push_back(std::move(found));
    return {};
  }

  Result<void> cable_lengths(const JsonCursor& lengths) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const JsonCursor length = lengths.item(i);
      PORTCULLIS_TRY_ASSIGN(const std::string text, length.string());
      double metres = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), metres);
      if (error != std::errc() || !(metres >= 0) || !std::isfinite(metres) ||
          std::string_view(end) != "m")
        return length.refuse("metres, as \"5m\",");
      config_.metres[lengths.value().keys[i]] = metres;
    }
    return {};
  }

  Result<void> qos_map(const std::string& key, const JsonCursor& map) {
    if (!map.has("pfc_enable")) return {};
    PORTCULLIS_TRY_ASSIGN(const std::string text, map.at("pfc_enable").string());
    std::set<std::uint32_t> priorities;
    for (const std::string& one : text.empty() ? std::vector<std::string>() : ports_of(text)) {
      if (!is_digit_to_7(one))
        return map.at("pfc_enable").refuse("priorities from 0 to 7, as \"3,4\",");
      priorities.insert(static_cast<std::uint32_t>(one[0] - '0'));
    }
    for (const std::string& port : ports_of(key)) config_.lossless[port] = priorities;
    return {};
  }

  /// "pfc_to_pg_map" of a PORT_QOS_MAP: the name of a map from priorities to groups.
  Result<void> group_map(const std::string& key, const JsonCursor& map) {
    constexpr std::string_view kTable = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP";
    if (!map.has("pfc_to_pg_map")) return {};
    PORTCULLIS_TRY_ASSIGN(const std::string said, map.at("pfc_to_pg_map").string());
    const std::string name = unbracketed(said, kTable);
    if (!top_.has(kTable) || !top_.at(kTable).has(name))
      return map.at("pfc_to_pg_map").refuse(fmt::format("the name of a {}", kTable));
    const JsonCursor rows = top_.at(kTable).at(name);
    std::map<std::uint32_t, std::uint32_t> groups;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string& priority = rows.value().keys[i];
      PORTCULLIS_TRY_ASSIGN(const std::string group, rows.item(i).string());
      if (!is_digit_to_7(priority) || !is_digit_to_7(group))
        return rows.item(i).bad("a priority and a group from 0 to 7 expected");
      groups[static_cast<std::uint32_t>(priority[0] - '0')] =
          static_cast<std::uint32_t>(group[0] - '0');
    }
    for (const std::string& port : ports_of(key)) config_.groups[port] = groups;
    return {};
  }

  /// "Ethernet0|3-4"
  Result<void> priority_group(const std::string& key, const JsonCursor& group) {
    const std::size_t bar = key.find('|');
    const std::string range = bar == std::string::npos ? "" : key.substr(bar + 1);
    const auto digit = [&](std::size_t at) { return range[at] >= '0' && range[at] <= '7'; };
    const bool is_one = range.size() == 1 && digit(0);
    const bool is_range = range.size() == 3 && digit(0) && range[1] == '-' && digit(2);
    if (!is_one && !is_range)
      return group.bad("its key is not PORT|GROUP or PORT|FIRST-LAST, groups from 0 to 7");
    const auto first = static_cast<std::uint32_t>(range.front() - '0');
    const auto last = static_cast<std::uint32_t>(range.back() - '0');
    if (!may_pause(ports_of(key), first, last)) return {};  // its profile has no say in a pause
    if (!group.has("profile")) return group.bad("no profile; the name of one is needed");
    PORTCULLIS_TRY_ASSIGN(std::string profile, group.at("profile").string());
    if (profile == "NULL") {  // calculated by the buffer manager, and in no file
      calculated_.insert(range);
      return {};
    }
    profile = unbracketed(profile, "BUFFER_PROFILE");
    PORTCULLIS_TRY_ASSIGN(const Room room, room_of(profile, group.at("profile")));
    for (const std::string& port : ports_of(key))
      for (std::uint32_t i = first; i <= last; ++i) config_.rooms[port][i] = room;
    return {};
  }

  /// Whether data of a lossless priority of one of those ports waits in one of those groups.
  [[nodiscard]] bool may_pause(const std::vector<std::string>& ports, std::uint32_t first,
                               std::uint32_t last) const {
    for (const std::string& port : ports) {
      const auto lossless = config_.lossless.find(port);
      if (lossless == config_.lossless.end()) continue;
      for (const std::uint32_t priority : lossless->second) {
        const std::uint32_t group = config_.group_of(port, priority);
        if (group >= first && group <= last) return true;
      }
    }
    return false;
  }

  Result<Room> room_of(const std::string& name, const JsonCursor& at) const {
    const JsonCursor profiles = top_.at("BUFFER_PROFILE");
    if (!top_.has("BUFFER_PROFILE") || !profiles.has(name))
      return at.refuse("the name of a BUFFER_PROFILE");
    const JsonCursor profile = profiles.at(name);
    Room room;
    room.profile = name;
    PORTCULLIS_TRY_ASSIGN(const auto xoff, amount_at(profile, "xoff"));
    PORTCULLIS_TRY_ASSIGN(const auto size, amount_at(profile, "size"));
    PORTCULLIS_TRY_ASSIGN(const auto xon, amount_at(profile, "xon"));
    PORTCULLIS_TRY_ASSIGN(const auto offset, amount_at(profile, "xon_offset"));
    PORTCULLIS_TRY_ASSIGN(room.static_th, amount_at(profile, "static_th"));
    PORTCULLIS_TRY_ASSIGN(room.dynamic_th, number_at(profile, "dynamic_th"));
    room.headroom = xoff.value_or(0);
    room.reserved = size.value_or(0);
    room.xon = xon.value_or(0);
    room.xon_offset = offset.value_or(0);
    if (room.static_th.has_value() == room.dynamic_th.has_value())
      return profile.bad("one of static_th and dynamic_th is needed");
    if (room.dynamic_th && !(std::abs(*room.dynamic_th) <= 8))
      return profile.at("dynamic_th").refuse("-8 to 7");
    if (!room.dynamic_th) return room;
    std::string pool = "ingress_lossless_pool";
    PORTCULLIS_TRY(profile.read("pool", pool));
    pool = unbracketed(pool, "BUFFER_POOL");
    if (!top_.has("BUFFER_POOL") || !top_.at("BUFFER_POOL").has(pool) ||
        !top_.at("BUFFER_POOL").at(pool).has("size"))
      return profile.bad(
          fmt::format("its pool {} has no size in BUFFER_POOL, as in a dynamic "
                      "buffer model; what the switch calculated is needed",
                      pool));
    PORTCULLIS_TRY_ASSIGN(room.pool, number_of(top_.at("BUFFER_POOL").at(pool).at("size")));
    if (!(room.pool > 0)) return top_.at("BUFFER_POOL").at(pool).at("size").refuse("above 0");
    return room;
  }

  /// Said, not set: a fabric's file has no watchdog.
  Result<void> watchdog() {
    if (!calculated_.empty())
      notes_.push_back(
          fmt::format("{}: thresholds of priority groups {} are calculated by the "
                      "switch (profile NULL): a threshold of 40 KB taken",
                      config_.name, fmt::join(calculated_, ", ")));
    double detection = 0;
    double poll = kUsualPollMs;
    std::set<std::string> actions;
    PORTCULLIS_TRY(
        each("PFC_WD", [&](const std::string& key, const JsonCursor& dog) -> Result<void> {
          if (key == "GLOBAL") {
            PORTCULLIS_TRY_ASSIGN(const auto interval, amount_at(dog, "POLL_INTERVAL"));
            poll = interval.value_or(poll);
            return {};
          }
          PORTCULLIS_TRY_ASSIGN(const auto time, amount_at(dog, "detection_time"));
          detection = std::max(detection, time.value_or(0));
          std::string action = kUsualAction;
          PORTCULLIS_TRY(dog.read("action", action));
          actions.insert(std::move(action));
          return {};
        }));
    if (detection > 0) notes_.push_back(watchdog_note(detection, poll, actions));
    return {};
  }

  /// `residence` is of watchdogs that empty a queue, and all of them have to.
  [[nodiscard]] std::string watchdog_note(double detection, double poll,
                                          const std::set<std::string>& actions) const {
    const double longest = longest_watched_pause(detection, poll);
    const bool all_drop = actions.size() == 1 && actions.contains(kUsualAction);
    return fmt::format(
        "{}: PFC watchdog after a pause of {} ms at most, of {} ms polled every {} "
        "ms ({}): {}",
        config_.name, longest, detection, poll, fmt::join(actions, ", "),
        all_drop ? fmt::format("residence --watchdog-ms {}, where all its ports drop", longest)
                 : "residence has no bound of watchdogs that do not drop");
  }

  const JsonCursor& top_;
  Config& config_;
  std::vector<std::string>& notes_;
  std::set<std::string> calculated_;
};

/// What the switches say together.
class SonicFabric {
 public:
  SonicFabric(Draft& draft, const std::vector<Config>& configs)
      : draft_(draft), configs_(configs) {}

  Result<void> run(std::optional<std::uint32_t> asked, std::vector<std::string>& notes) {
    for (const Config& config : configs_) by_name_[config.name] = &config;
    for (const Config& config : configs_)
      draft_.set_kind(draft_.node(config.name), NodeKind::Switch);
    for (const Config& config : configs_)
      for (const Neighbour& one : config.neighbours) PORTCULLIS_TRY(cable(config, one));
    if (draft_.topology().links.empty())
      return bad(configs_.front().file, 1, "DEVICE_NEIGHBOR",
                 down_.empty() ? "none; a neighbour of one switch is needed"
                               : "each is at a port whose admin_status is down; one whose is not "
                                 "is needed");
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t priority, priority_of(asked));
    notes.push_back(
        fmt::format("thresholds are those of priority {}; where PFC is off for it links "
                    "never pause (xoff unlimited)",
                    priority));
    notes.push_back(
        fmt::format("PFC is on for priorities {}; data in any takes the links, which residence "
                    "counts unless --priorities names those that carry some",
                    fmt::join(lossless(), ", ")));
    for (const Config& config : configs_) PORTCULLIS_TRY(set_thresholds(config, priority));
    if (!down_.empty())
      notes.push_back(fmt::format("{} cables at ports whose admin_status is down, left out: {}",
                                  down_.size(), few({down_.begin(), down_.end()})));
    if (!unsaid_.empty())
      notes.push_back(
          fmt::format("{} cables at ports without admin_status, which SONiC keeps down: "
                      "taken for up: {}",
                      unsaid_.size(), few({unsaid_.begin(), unsaid_.end()})));
    if (!unlike_.empty())
      notes.push_back(
          fmt::format("{} cables have another CABLE_LENGTH at their other end, the "
                      "longer taken: {}",
                      unlike_.size(), few(unlike_)));
    if (untold_ > 0)
      notes.push_back(
          fmt::format("{} links into hosts, of which no file says how they pause: 40 KB", untold_));
    if (guessed_ > 0)
      notes.push_back(fmt::format(
          "{} lossless ports without a buffer profile: a threshold of 40 KB taken", guessed_));
    return {};
  }

 private:
  Result<void> cable(const Config& config, const Neighbour& one) {
    if (!config.gbps.contains(one.port))
      return bad(config.file, one.line, "DEVICE_NEIGHBOR",
                 fmt::format("\"{}\" is no PORT; one of the ports is accepted", one.port));
    End far = one.far;
    if (const auto told = by_name_.find(far.node); told != by_name_.end()) {
      const auto alias = told->second->alias.find(far.port);
      if (alias != told->second->alias.end()) far.port = alias->second;
      if (!told->second->gbps.contains(far.port))
        return bad(config.file, one.line, "DEVICE_NEIGHBOR",
                   fmt::format("\"{}\" is no PORT of {}; one of its ports is accepted", far.port,
                               far.node));
    }
    const End near{config.name, one.port};
    if (is_in(&Config::unsaid, near) || is_in(&Config::unsaid, far))
      unsaid_.insert(cable_name(near, far));
    if (is_in(&Config::down, near) || is_in(&Config::down, far)) {
      down_.insert(cable_name(near, far));
      return {};
    }
    const NodeId self = *draft_.find(config.name);
    const auto known = draft_.link_at(self, one.port);
    const auto other = draft_.find(far.node);
    if (known) {  // the other end has told of it
      const Link& link = draft_.topology().links[*known];
      if (other && link.to == *other && draft_.link_at(*other, far.port) == known_back(*known))
        return {};
      return bad(config.file, one.line, "DEVICE_NEIGHBOR",
                 fmt::format("{} leads to {} by the other end's file", one.port,
                             draft_.topology().nodes[link.to].name));
    }
    if (!other) draft_.set_kind(draft_.node(far.node), NodeKind::Host);
    PORTCULLIS_TRY(add(config, one, near, far, config.gbps.at(one.port)));
    if (const auto told = by_name_.find(far.node); told != by_name_.end())
      PORTCULLIS_TRY(add(config, one, near, far, told->second->gbps.at(far.port)));
    lengthen(*draft_.link_at(self, one.port), near, far);
    return {};
  }

  Result<void> add(const Config& config, const Neighbour& one, const End& near, const End& far,
                   double gbps) {
    const auto added = draft_.add_cable(near, far, gbps);
    if (added) return {};
    return bad(config.file, one.line, "DEVICE_NEIGHBOR", added.error().text);
  }

  static std::string name_of(const End& end) {
    return end.port.empty() ? end.node : end.node + ":" + end.port;
  }

  /// The same whichever end tells of it.
  static std::string cable_name(const End& a, const End& b) {
    std::array ends{name_of(a), name_of(b)};
    std::ranges::sort(ends);
    return fmt::format("{}", fmt::join(ends, "-"));
  }

  [[nodiscard]] bool is_in(std::set<std::string> Config::*ports, const End& end) const {
    const auto told = by_name_.find(end.node);
    return told != by_name_.end() && (told->second->*ports).contains(end.port);
  }

  [[nodiscard]] std::optional<double> metres_of(const End& end) const {
    const auto told = by_name_.find(end.node);
    if (told == by_name_.end() || !told->second->metres.contains(end.port)) return std::nullopt;
    return told->second->metres.at(end.port);
  }

  /// Of two lengths that differ the longer counts.
  void lengthen(LinkId link, const End& near, const End& far) {
    const auto here = metres_of(near);
    const auto there = metres_of(far);
    if (here.value_or(0) > 0 && there.value_or(0) > 0 && *here != *there)
      unlike_.push_back(fmt::format("{}-{}", name_of(near), name_of(far)));
    const double metres = std::max(here.value_or(0), there.value_or(0));
    for (const LinkId each : {link, known_back(link)})
      draft_.link(each).delay = metres * kSecondsPerMetre / draft_.topology().units.time_s;
  }

  /// add_cable() makes the two links of a cable one after the other.
  static LinkId known_back(LinkId link) { return link ^ 1U; }

  /// As pfc_enable of any port has them.
  [[nodiscard]] std::set<std::uint32_t> lossless() const {
    std::set<std::uint32_t> all;
    for (const Config& config : configs_)
      for (const auto& [port, priorities] : config.lossless)
        all.insert(priorities.begin(), priorities.end());
    return all;
  }

  /// The one that was asked for, or the lowest that some port is lossless for.
  Result<std::uint32_t> priority_of(std::optional<std::uint32_t> asked) const {
    if (asked) return *asked;
    const std::set<std::uint32_t> all = lossless();
    if (all.empty())
      return bad(configs_.front().file, 1, "PORT_QOS_MAP",
                 "no pfc_enable with a priority; a lossless port is needed");
    return *all.begin();
  }

  /// Of the links into a switch, by its own ports.
  Result<void> set_thresholds(const Config& config, std::uint32_t priority) {
    const NodeId self = *draft_.find(config.name);
    std::set<double> alphas;
    for (LinkId id = 0; id < draft_.topology().links.size(); ++id) {
      Link& link = draft_.link(id);
      if (link.from == self && !by_name_.contains(draft_.topology().nodes[link.to].name)) ++untold_;
      if (link.to != self) continue;
      const std::string port = draft_.port_of(known_back(id));
      const auto lossless = config.lossless.find(port);
      if (lossless == config.lossless.end() || !lossless->second.contains(priority)) {
        link.xoff = kUnlimited;
        link.xon = kUnlimited;
        continue;
      }
      const auto rooms = config.rooms.find(port);
      const std::uint32_t group = config.group_of(port, priority);
      if (rooms == config.rooms.end() || !rooms->second.contains(group)) {
        ++guessed_;
        continue;
      }
      const Room& room = rooms->second.at(group);
      if (room.dynamic_th) {
        alphas.insert(std::exp2(*room.dynamic_th));
        draft_.node_of(self).alpha = *alphas.begin();
        draft_.node_of(self).shared_buffer = room.pool / kDataBytes;
      }
      const double xoff = room.dynamic_th ? room.pool : room.reserved + *room.static_th;
      if (!(xoff > 0))
        return bad(
            config.file, 1, "BUFFER_PROFILE",
            fmt::format("{}: a threshold of {} bytes; above 0 is accepted", room.profile, xoff));
      link.xoff = xoff / kDataBytes;
      link.xon = std::max({room.xon, xoff - room.xon_offset, 1.0}) / kDataBytes;
      link.xon = std::min(link.xon, link.xoff);
      link.buffer = (xoff + room.headroom) / kDataBytes;
    }
    if (alphas.size() > 1)
      return bad(config.file, 1, "BUFFER_PROFILE",
                 fmt::format("dynamic_th of {} values for priority {}; one a switch is accepted",
                             alphas.size(), priority));
    return {};
  }

  Draft& draft_;
  const std::vector<Config>& configs_;
  std::map<std::string, const Config*> by_name_;
  std::set<std::string> down_, unsaid_;
  std::vector<std::string> unlike_;
  std::size_t untold_ = 0;
  std::size_t guessed_ = 0;
};

}  // namespace

Result<Imported> from_sonic(const std::vector<File>& files, std::optional<std::uint32_t> priority) {
  Imported imported;
  std::vector<Config> configs;
  std::set<std::string> names;
  for (const File& file : files) {
    PORTCULLIS_TRY_ASSIGN(const JsonValue top, parse_json(file.text, file.name));
    const JsonCursor cursor(top, file.name);
    Config& config = configs.emplace_back();
    config.file = file.name;
    PORTCULLIS_TRY(ConfigReader(cursor, config, imported.notes).run());
    if (config.name.empty() || !names.insert(config.name).second)
      return bad(file.name, 1, "hostname",
                 fmt::format("\"{}\"; a name that no other file has is accepted", config.name));
  }
  if (configs.empty())
    return fail(Errc::InvalidArgument, "no files; config_db.json of one switch or more is needed");
  Draft draft(configs.size() == 1 ? configs.front().name : "sonic");
  PORTCULLIS_TRY(SonicFabric(draft, configs).run(priority, imported.notes));
  PORTCULLIS_TRY(draft.finish(imported));
  return imported;
}

}  // namespace portcullis::pfc::import
