// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "pfc/import/draft.hpp"

namespace portcullis::pfc::import {
namespace {

/// What stands between the first two `quote`s from `at` on; `at` goes behind them.
std::optional<std::string> quoted(std::string_view text, std::size_t& at, char quote = '"') {
  const std::size_t begin = text.find(quote, at);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find(quote, begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  at = end + 1;
  return std::string(text.substr(begin + 1, end - begin - 1));
}

/// The number behind `key`, the first time that it stands there from `at` on.
std::optional<std::uint32_t> number_behind(std::string_view text, std::string_view key,
                                           std::size_t at = 0, int base = 10) {
  const std::size_t found = text.find(key, at);
  if (found == std::string_view::npos) return std::nullopt;
  std::uint32_t number = 0;
  const char* const begin = text.data() + found + key.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number, base);
  return error == std::errc() && end != begin ? std::optional(number) : std::nullopt;
}

/// Gb/s of data, as "4xEDR" at the end of a line says.
std::optional<double> gbps_of(std::string_view line) {
  struct Speed {
    std::string_view name;
    double lane_gbps;
  };
  constexpr std::array kSpeeds = {Speed{"SDR", 2},    Speed{"DDR", 4},     Speed{"QDR", 8},
                                  Speed{"FDR10", 10}, Speed{"FDR", 13.64}, Speed{"EDR", 25},
                                  Speed{"HDR", 50},   Speed{"NDR", 100},   Speed{"XDR", 200}};
  const std::size_t end = line.find_last_not_of(" \t");
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t begin = line.find_last_of(" \t", end) + 1;
  const std::string_view word = line.substr(begin, end + 1 - begin);
  const std::size_t x = word.find('x');
  double lanes = 0;
  if (x == std::string_view::npos ||
      std::from_chars(word.data(), word.data() + x, lanes).ec != std::errc())
    return std::nullopt;
  const auto speed = std::ranges::find(kSpeeds, word.substr(x + 1), &Speed::name);
  return speed == kSpeeds.end() ? std::nullopt : std::optional(lanes * speed->lane_gbps);
}

class SubnetReader {
 public:
  explicit SubnetReader(Draft& draft) : draft_(draft) {}

  Result<void> read_net(const File& file) {
    for (const Line& line : lines_of(file.text)) {
      if (line.text.starts_with("Switch") || line.text.starts_with("Ca") ||
          line.text.starts_with("Rt"))
        PORTCULLIS_TRY(begin_node(file, line));
      else if (line.text.starts_with("["))
        PORTCULLIS_TRY(port(file, line));
    }
    if (cables_.empty())
      return bad(file.name, 1, "net", "no cables; what ibnetdiscover prints is accepted");
    for (const Cable& cable : cables_) PORTCULLIS_TRY(add(file, cable));
    return {};
  }

  Result<void> read_tables(const File& file, std::vector<std::string>& notes) {
    std::optional<NodeId> at;
    std::size_t unknown = 0;
    std::set<std::tuple<NodeId, NodeId, LinkId>> added;
    for (const Line& line : lines_of(file.text)) {
      if (line.text.starts_with("Unicast lids")) {
        PORTCULLIS_TRY_ASSIGN(at, table_of(file, line));
        continue;
      }
      const std::size_t begin = line.text.find_first_not_of(" \t");
      if (begin == std::string_view::npos || !line.text.substr(begin).starts_with("0x")) continue;
      if (!at) return bad(file.name, line.number, "lid", "no \"Unicast lids ..\" line before it");
      PORTCULLIS_TRY_ASSIGN(const auto route, entry(file, line, *at));
      const bool is_to_switch = line.text.find("(Switch ") != std::string_view::npos;
      unknown += route.is_known || is_to_switch ? 0 : 1;
      if (route.via && added.emplace(*at, route.destination, *route.via).second)
        draft_.add_route({*at, route.destination, *route.via});
    }
    if (added.empty())
      return bad(file.name, 1, "tables",
                 "no routes; what dump_fts or dump_lfts prints is accepted");
    if (unknown > 0)
      notes.push_back(
          fmt::format("{} entries for LIDs of no channel adapter that was discovered, "
                      "left out",
                      unknown));
    return {};
  }

 private:
  struct Cable {
    std::size_t line = 0;
    std::string a, b;  // S- and H- names
    std::string port_a, port_b;
    double gbps = 0;
  };
  struct Entry {
    bool is_known = true;
    NodeId destination = 0;
    std::optional<LinkId> via;
  };

  Result<void> begin_node(const File& file, const Line& line) {
    std::size_t at = 0;
    const auto id = quoted(line.text, at);
    if (!id || id->size() < 3)
      return bad(file.name, line.number, "node",
                 "no \"S-..\" or \"H-..\" name in quotes; what ibnetdiscover prints is accepted");
    id_ = *id;
    std::string name = quoted(line.text, at).value_or(id_);
    if (draft_.find(name)) name += " " + id_.substr(2);
    names_[id_] = name;
    const NodeId node = draft_.node(name);
    guids_[id_.substr(2)] = node;
    is_switch_ = line.text.starts_with("Switch");
    if (!is_switch_) draft_.set_kind(node, NodeKind::Host);
    return {};
  }

  /// [1](guid) "S-.."[19](guid) # lid 5 lmc 0 "ibsw1" lid 3 4xQDR
  Result<void> port(const File& file, const Line& line) {
    if (id_.empty()) return bad(file.name, line.number, "port", "no Switch or Ca line before it");
    std::size_t at = 0;
    const auto near = number_behind(line.text, "[");
    const auto peer = quoted(line.text, at);
    const auto far = number_behind(line.text, "[", at);
    const auto gbps = gbps_of(line.text);
    if (!near || !peer || !far)
      return bad(file.name, line.number, "port",
                 "[PORT] \"NAME\"[PORT] # .. is accepted, as ibnetdiscover prints it");
    if (!gbps)
      return bad(file.name, line.number, "speed",
                 "none at the end of the line; as 4xEDR, with SDR to XDR, is accepted");
    if (!is_switch_)
      if (const auto lid = number_behind(line.text, "# lid "))
        for (std::uint32_t i = 0;
             i < 1U << std::min(number_behind(line.text, " lmc ").value_or(0), 7U); ++i)
          lids_[*lid + i] = *draft_.find(names_[id_]);
    cables_.push_back(
        {line.number, id_, *peer, std::to_string(*near), std::to_string(*far), *gbps});
    return {};
  }

  /// Both ends print a cable.
  Result<void> add(const File& file, const Cable& cable) {
    const auto peer = names_.find(cable.b);
    if (peer == names_.end())
      return bad(file.name, cable.line, "port",
                 fmt::format("\"{}\" is no node of this file", cable.b));
    if (draft_.link_at(*draft_.find(names_[cable.a]), cable.port_a)) return {};
    const auto added =
        draft_.add_cable({names_[cable.a], cable.port_a}, {peer->second, cable.port_b}, cable.gbps);
    if (!added) return bad(file.name, cable.line, "port", added.error().text);
    return {};
  }

  Result<NodeId> table_of(const File& file, const Line& line) const {
    constexpr std::string_view kGuid = "guid 0x";
    const std::size_t at = line.text.find(kGuid);
    const std::string guid(at == std::string_view::npos ? ""
                                                        : line.text.substr(at + kGuid.size(), 16));
    const auto found = guids_.find(guid);
    if (found == guids_.end())
      return bad(
          file.name, line.number, "guid",
          fmt::format("\"{}\"; the 16 digits of a switch that was discovered are accepted", guid));
    return found->second;
  }

  /// 0x0005 012 : (Channel Adapter portguid ..
  Result<Entry> entry(const File& file, const Line& line, NodeId at) const {
    const auto lid = number_behind(line.text, "0x", 0, 16);
    const std::size_t space = line.text.find(' ', line.text.find("0x"));
    const auto out =
        space == std::string_view::npos ? std::nullopt : number_behind(line.text, " ", space);
    if (!lid || !out)
      return bad(file.name, line.number, "lid",
                 "0xLID PORT : (..) is accepted, as dump_fts has it");
    Entry entry;
    const auto destination = lids_.find(*lid);
    entry.is_known = destination != lids_.end();
    if (!entry.is_known) return entry;
    entry.destination = destination->second;
    entry.via = draft_.link_at(at, std::to_string(*out));
    if (!entry.via)
      return bad(
          file.name, line.number, "port",
          fmt::format("{}: no cable at that port of {}", *out, draft_.topology().nodes[at].name));
    return entry;
  }

  Draft& draft_;
  std::string id_;  // of the node whose ports are read
  bool is_switch_ = false;
  std::map<std::string, std::string> names_;  // by S- and H- name
  std::map<std::string, NodeId> guids_;
  std::map<std::uint32_t, NodeId> lids_;  // of channel adapters
  std::vector<Cable> cables_;
};

}  // namespace

Result<Imported> from_infiniband(const File& net, const File& tables) {
  Draft draft(net.name);
  SubnetReader reader(draft);
  Imported imported;
  PORTCULLIS_TRY(reader.read_net(net));
  PORTCULLIS_TRY(reader.read_tables(tables, imported.notes));
  imported.notes.emplace_back(
      "credits of InfiniBand wait as PAUSE does; service levels are not read: all data in one");
  PORTCULLIS_TRY_ASSIGN(imported.topology, draft.finish());
  return imported;
}

}  // namespace portcullis::pfc::import
