// SPDX-License-Identifier: BSD-3-Clause
//
// What ibnetdiscover and dump_fts print, as their sources have it: out_switch(), out_switch_port(),
// out_ca() and out_ca_port() of infiniband-diags/ibnetdiscover.c, dump_unicast_tables() and
// dump_lid() of dump_fts.c and ibroute.c (rdma-core, commit 691953d8).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pfc/import/draft.hpp"

namespace portcullis::pfc::import {
namespace {

constexpr std::uint32_t kNoPort = 255;  // of a table: the switch drops what is for that LID

/// What stands between the first two quotes from `at` on; `at` goes behind them.
std::optional<std::string> quoted(std::string_view text, std::size_t& at) {
  const std::size_t begin = text.find('"', at);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find('"', begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  at = end + 1;
  return std::string(text.substr(begin + 1, end - begin - 1));
}

/// A description stands between the first quote of the comment and the last of the line: what it
/// is made of is anybody's.
std::optional<std::string> description(std::string_view text) {
  const std::size_t begin = text.find('"', text.find('#'));
  const std::size_t end = text.rfind('"');
  if (begin == std::string_view::npos || end <= begin) return std::nullopt;
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

/// Gb/s of data, as "lid 5 4xEDR" behind the last quote says; 0 where the program did not know
/// and printed "4x???". More may follow: "s=4 w=2 v=5" of --full, "slot 3".
std::optional<double> gbps_of(std::string_view line) {
  struct Speed {
    std::string_view name;
    double lane_gbps;
  };
  constexpr std::array kSpeeds = {Speed{"SDR", 2},    Speed{"DDR", 4},     Speed{"QDR", 8},
                                  Speed{"FDR10", 10}, Speed{"FDR", 13.64}, Speed{"EDR", 25},
                                  Speed{"HDR", 50},   Speed{"NDR", 100},   Speed{"XDR", 200}};
  constexpr double kMostLanes = 12;
  constexpr std::string_view kLid = " lid ";
  const std::size_t lid = line.find(kLid, line.rfind('"'));
  if (lid == std::string_view::npos) return std::nullopt;
  const std::size_t begin = line.find(' ', lid + kLid.size());
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view word = line.substr(begin + 1);
  word = word.substr(0, word.find_first_of(" \t"));
  if (word.find('?') != std::string_view::npos) return 0;
  const std::size_t x = word.find('x');
  double lanes = 0;
  if (x == std::string_view::npos ||
      std::from_chars(word.data(), word.data() + x, lanes).ec != std::errc() ||
      !(lanes > 0 && lanes <= kMostLanes))
    return std::nullopt;
  const auto speed = std::ranges::find(kSpeeds, word.substr(x + 1), &Speed::name);
  return speed == kSpeeds.end() ? std::nullopt : std::optional(lanes * speed->lane_gbps);
}

using PortId = std::pair<std::string, std::uint32_t>;  // S- or H- name, and number

/// One line of a port: a cable as this end has it.
struct Port {
  std::size_t line = 0;
  PortId peer;
  double gbps = 0;
  std::uint32_t lid = 0;  // of a port that has its own: not of a switch
  std::uint32_t lmc = 0;
};

struct SubnetNode {
  std::string name;
  bool is_switch = false;
  std::uint32_t lid = 0;  // of a switch
  std::uint32_t lmc = 0;
};

/// What ibnetdiscover printed, and the nodes and cables that it becomes: a switch is a node, and so
/// is each port of an adapter that has a cable, for nothing goes from one of them to the other.
class Subnet {
 public:
  explicit Subnet(Draft& draft) : draft_(draft) {}

  Result<void> read(const File& file, std::vector<std::string>& notes) {
    for (const Line& line : lines_of(file.text)) {
      if (line.text.starts_with("Switch") || line.text.starts_with("Ca") ||
          line.text.starts_with("Rt"))
        PORTCULLIS_TRY(begin_node(file, line));
      else if (line.text.starts_with("["))
        PORTCULLIS_TRY(port(file, line));
    }
    if (ports_.empty())
      return bad(file.name, 1, "net", "no cables; what ibnetdiscover prints is accepted");
    name_nodes();
    for (const auto& [id, port] : ports_) PORTCULLIS_TRY(add(file, id, port));
    number_lids();
    if (loops_ > 0)
      notes.push_back(fmt::format("{} cables from a node to itself, left out", loops_));
    return {};
  }

  [[nodiscard]] std::optional<NodeId> switch_of(const std::string& guid) const {
    const auto found = nodes_.find("S-" + guid);
    return found == nodes_.end() ? std::nullopt : std::optional(at_.at({found->first, 0}));
  }
  [[nodiscard]] const std::map<std::uint32_t, NodeId>& lids() const noexcept { return lids_; }
  [[nodiscard]] bool is_switch_lid(std::uint32_t lid) const { return switch_lids_.contains(lid); }
  [[nodiscard]] const std::vector<NodeId>& switches() const noexcept { return switches_; }

 private:
  Result<void> begin_node(const File& file, const Line& line) {
    std::size_t at = 0;
    const auto id = quoted(line.text, at);
    if (!id || id->size() < 3)
      return bad(file.name, line.number, "node",
                 "no \"S-..\" or \"H-..\" name in quotes; what ibnetdiscover prints is accepted");
    SubnetNode node;
    node.name = description(line.text).value_or(*id);
    node.is_switch = line.text.starts_with("Switch");
    const std::size_t behind = line.text.rfind('"');
    node.lid = number_behind(line.text, " lid ", behind).value_or(0);
    node.lmc = std::min(number_behind(line.text, " lmc ", behind).value_or(0), kMostLmc);
    if (node.name.empty()) node.name = *id;
    if (!nodes_.try_emplace(*id, node).second)
      return bad(file.name, line.number, "node",
                 fmt::format("\"{}\" a second time; a node's GUID stands once", *id));
    order_.push_back(*id);
    return {};
  }

  /// [1](guid) "S-.."[19] # lid 5 lmc 0 "ibsw1" lid 3 4xQDR
  Result<void> port(const File& file, const Line& line) {
    if (order_.empty())
      return bad(file.name, line.number, "port", "no Switch or Ca line before it");
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
                 "none behind the peer's lid; as 4xEDR, with SDR to XDR, is accepted");
    Port port{line.number, {*peer, *far}, *gbps, 0, 0};
    if (!nodes_.at(order_.back()).is_switch) {
      port.lid = number_behind(line.text, "# lid ").value_or(0);
      port.lmc = std::min(number_behind(line.text, " lmc ").value_or(0), kMostLmc);
    }
    if (!ports_.try_emplace({order_.back(), *near}, port).second)
      return bad(file.name, line.number, "port",
                 fmt::format("[{}] a second time; a port has one cable", *near));
    return {};
  }

  void name_nodes() {
    std::map<std::string, std::vector<std::uint32_t>> cabled;
    for (const auto& [id, port] : ports_) cabled[id.first].push_back(id.second);
    for (const std::string& id : order_) {
      SubnetNode& node = nodes_.at(id);
      while (!names_.insert(node.name).second) node.name += " " + id.substr(2);
      const std::vector<std::uint32_t>& ports = cabled[id];
      if (node.is_switch || ports.size() < 2) {
        const NodeId known = draft_.node(node.name);
        at_.emplace(PortId(id, 0), known);
        if (node.is_switch) switches_.push_back(known);
        if (!node.is_switch) draft_.set_kind(known, NodeKind::Host);
        continue;
      }
      for (const std::uint32_t number : ports) {
        std::string name = fmt::format("{}:{}", node.name, number);
        while (!names_.insert(name).second) name += " " + id.substr(2);
        const NodeId known = draft_.node(name);
        draft_.set_kind(known, NodeKind::Host);
        at_.emplace(PortId(id, number), known);
      }
    }
  }

  [[nodiscard]] NodeId node_of(const PortId& port) const {
    const auto own = at_.find(port);
    return own != at_.end() ? own->second : at_.at({port.first, 0});
  }

  /// Both ends print a cable, and they agree on it.
  Result<void> add(const File& file, const PortId& id, const Port& port) {
    const auto& [peer, number] = port.peer;
    if (!nodes_.contains(peer))
      return bad(file.name, port.line, "port", fmt::format("\"{}\" is no node of this file", peer));
    if (peer == id.first) {
      ++loops_;
      return {};
    }
    const auto back = ports_.find(port.peer);
    if (back == ports_.end())
      return bad(file.name, port.line, "port",
                 fmt::format("\"{}\"[{}] has no line that leads back", peer, number));
    if (back->second.peer != id)
      return bad(file.name, port.line, "port",
                 fmt::format("\"{}\"[{}] leads to \"{}\"[{}] by its own line, {}", peer, number,
                             back->second.peer.first, back->second.peer.second, back->second.line));
    if (port.peer < id) return {};
    double gbps = std::min(port.gbps, back->second.gbps);
    if (gbps == 0) gbps = std::max(port.gbps, back->second.gbps);
    const auto name = [&](const PortId& end) {
      return End{draft_.topology().nodes[node_of(end)].name, std::to_string(end.second)};
    };
    const auto added = draft_.add_cable(name(id), name(port.peer), gbps);
    if (!added) return bad(file.name, port.line, "port", added.error().text);
    return {};
  }

  void number_lids() {
    for (const auto& [id, port] : ports_)
      if (port.lid != 0)
        for (std::uint32_t i = 0; i < 1U << port.lmc; ++i) lids_[port.lid + i] = node_of(id);
    for (const auto& [id, node] : nodes_)
      if (node.is_switch && node.lid != 0)
        for (std::uint32_t i = 0; i < 1U << node.lmc; ++i) switch_lids_.insert(node.lid + i);
  }

  static constexpr std::uint32_t kMostLmc = 7;  // three bits of PortInfo

  Draft& draft_;
  std::vector<std::string> order_;  // of the file
  std::map<std::string, SubnetNode> nodes_;
  std::map<PortId, Port> ports_;
  std::set<std::string> names_;
  std::map<PortId, NodeId> at_;  // a whole node has its entry at port 0
  std::vector<NodeId> switches_;
  std::map<std::uint32_t, NodeId> lids_;  // of adapters' ports
  std::set<std::uint32_t> switch_lids_;
  std::size_t loops_ = 0;
};

/// The forwarding tables: for each LID of an adapter what every switch does with it.
class Tables {
 public:
  Tables(Draft& draft, const Subnet& subnet) : draft_(draft), subnet_(subnet) {}

  Result<void> read(const File& file) {
    std::optional<NodeId> at;
    bool is_multicast = false;
    for (const Line& line : lines_of(file.text)) {
      if (line.text.starts_with("Unicast lids")) {
        PORTCULLIS_TRY_ASSIGN(at, table_of(file, line));
        has_table_.insert(*at);
        is_multicast = false;
        continue;
      }
      is_multicast = is_multicast || line.text.starts_with("Multicast mlids");
      const std::size_t begin = line.text.find_first_not_of(" \t");
      if (is_multicast || begin == std::string_view::npos ||
          !line.text.substr(begin).starts_with("0x"))
        continue;
      if (!at) return bad(file.name, line.number, "lid", "no \"Unicast lids ..\" line before it");
      PORTCULLIS_TRY(entry(file, line, *at));
    }
    if (ways_.empty())
      return bad(file.name, 1, "tables",
                 "no routes; what dump_fts or dump_lfts prints is accepted");
    return {};
  }

  /// A LID is a destination, and most LIDs of a port are one: those that every switch treats alike.
  /// The others become hosts of their own beside it, for ways that are not one's own are not taken.
  void add_routes(std::vector<std::string>& notes) {
    std::map<NodeId, std::set<Ways>> known;
    std::size_t apart = 0;
    for (const auto& [lid, ways] : ways_) {
      const NodeId host = subnet_.lids().at(lid);
      if (!known[host].insert(ways).second) continue;
      if (known[host].size() == 1) {
        for (const auto& [node, via] : ways) draft_.add_route({node, host, via});
      } else {
        ++apart;
        draft_.add_twin(host, fmt::format("{} lid {}", draft_.topology().nodes[host].name, lid),
                        {ways.begin(), ways.end()});
      }
    }
    tell(notes, apart);
  }

 private:
  using Ways = std::map<NodeId, LinkId>;

  Result<NodeId> table_of(const File& file, const Line& line) const {
    constexpr std::string_view kGuid = "guid 0x";
    const std::size_t at = line.text.find(kGuid);
    const std::string guid(at == std::string_view::npos ? ""
                                                        : line.text.substr(at + kGuid.size(), 16));
    const auto found = subnet_.switch_of(guid);
    if (!found)
      return bad(
          file.name, line.number, "guid",
          fmt::format("\"{}\"; the 16 digits of a switch that was discovered are accepted", guid));
    return *found;
  }

  /// 0x0005 012 : (Channel Adapter portguid ..
  Result<void> entry(const File& file, const Line& line, NodeId at) {
    const auto found_lid = number_behind(line.text, "0x", 0, 16);
    const std::size_t space = line.text.find(' ', line.text.find("0x"));
    const auto found_port =
        space == std::string_view::npos ? std::nullopt : number_behind(line.text, " ", space);
    if (!found_lid || !found_port)
      return bad(file.name, line.number, "lid",
                 "0xLID PORT : (..) is accepted, as dump_fts has it");
    const std::uint32_t lid = found_lid.value_or(0);
    const std::uint32_t port = found_port.value_or(kNoPort);
    if (subnet_.is_switch_lid(lid)) return {};
    if (!subnet_.lids().contains(lid)) {
      unknown_ += port == kNoPort ? 0 : 1;
      return {};
    }
    const auto via = draft_.link_at(at, std::to_string(port));
    if (!via) {
      if (port != kNoPort && nowhere_++ == 0)
        first_nowhere_ = fmt::format("port {} of {} (line {})", port,
                                     draft_.topology().nodes[at].name, line.number);
      return {};
    }
    const auto [found, is_new] = ways_[lid].try_emplace(at, *via);
    if (!is_new && found->second != *via)
      return bad(file.name, line.number, "lid",
                 fmt::format("0x{:04x} has another port in this switch's table already", lid));
    return {};
  }

  void tell(std::vector<std::string>& notes, std::size_t apart) const {
    std::vector<std::string> without;
    for (const NodeId node : subnet_.switches())
      if (!has_table_.contains(node)) without.push_back(draft_.topology().nodes[node].name);
    if (!without.empty())
      notes.push_back(
          fmt::format("no table of {}: data that comes there is dropped", few(without)));
    if (unknown_ > 0)
      notes.push_back(
          fmt::format("{} entries for LIDs of nothing that was discovered, left out: "
                      "data for them is not looked at",
                      unknown_));
    if (nowhere_ > 0)
      notes.push_back(
          fmt::format("{} entries with a port that has no cable, the first of them {}: "
                      "that data is dropped",
                      nowhere_, first_nowhere_));
    if (apart > 0)
      notes.push_back(
          fmt::format("{} LIDs take other ways than the first of their port (LMC): "
                      "each is a host of its own, with a cable of its own",
                      apart));
  }

  Draft& draft_;
  const Subnet& subnet_;
  std::map<std::uint32_t, Ways> ways_;
  std::set<NodeId> has_table_;
  std::size_t unknown_ = 0;
  std::size_t nowhere_ = 0;
  std::string first_nowhere_;
};

}  // namespace

Result<Imported> from_infiniband(const File& net, const File& tables) {
  PORTCULLIS_TRY(expect_utf8(net));
  PORTCULLIS_TRY(expect_utf8(tables));
  Draft draft(net.name);
  Subnet subnet(draft);
  Imported imported;
  PORTCULLIS_TRY(subnet.read(net, imported.notes));
  Tables reader(draft, subnet);
  PORTCULLIS_TRY(reader.read(tables));
  reader.add_routes(imported.notes);
  imported.notes.emplace_back(
      "credits of InfiniBand wait as PAUSE does; service levels are not read: all data in one");
  PORTCULLIS_TRY(draft.finish(imported));
  return imported;
}

}  // namespace portcullis::pfc::import
