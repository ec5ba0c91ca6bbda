// SPDX-License-Identifier: BSD-3-Clause
//
// GraphML, as the Internet Topology Zoo has it (sk2/topologyzoo): keys say which attribute an id
// stands for, of a node "label", "Longitude", "Latitude" and "Internal", of an edge "LinkSpeedRaw"
// in bit/s, or "LinkSpeed" with "LinkSpeedUnits" K, M, G or T. What draws a node (yFiles) is left
// out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/json.hpp"
#include "pfc/import/draft.hpp"
#include "pfc/import/xml.hpp"

namespace portcullis::pfc::import {
namespace {

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

class GraphMlReader {
 public:
  GraphMlReader(const File& file, Draft& draft) : file_(file), draft_(draft) {}

  Result<void> run(std::vector<std::string>& notes) {
    PORTCULLIS_TRY(expect_utf8(file_));
    PORTCULLIS_TRY_ASSIGN(const XmlElement top, parse_xml(file_.text, file_.name));
    if (top.name != "graphml")
      return bad(file_.name, top.line, "graphml", fmt::format("<{}> instead", top.name));
    for (const XmlElement& child : top.children)
      if (child.name == "key") PORTCULLIS_TRY(key(child));
    const auto graph = std::ranges::find(top.children, "graph", &XmlElement::name);
    if (graph == top.children.end())
      return bad(file_.name, top.line, "graph", "none; one is needed");
    const std::string* direction = graph->attribute("edgedefault");
    is_directed_ = direction != nullptr && *direction == "directed";
    for (const XmlElement& child : graph->children)
      if (child.name == "node") PORTCULLIS_TRY(node(child));
    for (const XmlElement& child : graph->children)
      if (child.name == "edge") PORTCULLIS_TRY(edge(child));
    if (edges_ == 0) return bad(file_.name, graph->line, "edge", "none; one or more are needed");
    count_left_out(top);
    tell(notes);
    return {};
  }

 private:
  Result<void> key(const XmlElement& element) {
    const std::string* id = element.attribute("id");
    if (id == nullptr) return bad(file_.name, element.line, "key", "no id");
    if (const std::string* name = element.attribute("attr.name")) keys_[*id] = *name;
    return {};
  }

  /// By attribute; of one that stands twice the first.
  [[nodiscard]] std::map<std::string, std::string> data_of(const XmlElement& element) const {
    std::map<std::string, std::string> data;
    for (const XmlElement& child : element.children) {
      const std::string* id = child.name == "data" ? child.attribute("key") : nullptr;
      if (id == nullptr) continue;
      const auto name = keys_.find(*id);
      data.emplace(name == keys_.end() ? *id : name->second, child.text);
    }
    return data;
  }

  Result<void> node(const XmlElement& element) {
    const std::string* id = element.attribute("id");
    if (id == nullptr || id->empty()) return bad(file_.name, element.line, "node", "no id");
    const auto data = data_of(element);
    const auto label = data.find("label");
    // An editor breaks long labels into lines.
    std::string name = one_line(label == data.end() || label->second.empty() ? *id : label->second);
    while (draft_.find(name)) name += fmt::format(" ({})", *id);  // labels may be alike, ids not
    if (!names_.try_emplace(*id, name).second)
      return bad(file_.name, element.line, "node", fmt::format("id \"{}\" a second time", *id));
    Node& made = draft_.node_of(draft_.node(name));
    const auto x = data.find("Longitude");
    const auto y = data.find("Latitude");
    if (x != data.end() && y != data.end() && number_of(x->second) && number_of(y->second)) {
      made.x = *number_of(x->second);
      made.y = -*number_of(y->second);
    }
    return {};
  }

  /// Gb/s; 0 where the file does not say.
  Result<double> gbps_of(const XmlElement& element) const {
    const auto data = data_of(element);
    const auto raw = data.find("LinkSpeedRaw");
    const auto speed = data.find("LinkSpeed");
    const auto units = data.find("LinkSpeedUnits");
    std::optional<double> gbps;
    if (raw != data.end()) {
      gbps = number_of(raw->second);
      if (gbps) *gbps /= 1e9;
    } else if (speed != data.end() && units != data.end()) {
      constexpr std::string_view kUnits = "KMGT";
      gbps = number_of(speed->second);
      const std::size_t unit = kUnits.find(units->second.substr(0, 1));
      if (units->second.size() != 1 || unit == std::string_view::npos)
        return bad(file_.name, element.line, "LinkSpeedUnits",
                   fmt::format("\"{}\"; K, M, G or T is accepted", units->second));
      if (gbps) *gbps *= std::pow(1e3, static_cast<double>(unit) - 2);
    } else {
      return 0;
    }
    const std::string& text = raw != data.end() ? raw->second : speed->second;
    if (const auto problem = bad_speed(gbps, text))
      return bad(file_.name, element.line, raw != data.end() ? "LinkSpeedRaw" : "LinkSpeed",
                 *problem);
    return *gbps;
  }

  Result<void> edge(const XmlElement& element) {
    std::vector<std::string> ends;
    for (const char* which : {"source", "target"}) {
      const std::string* id = element.attribute(which);
      const auto found = id == nullptr ? names_.end() : names_.find(*id);
      if (found == names_.end())
        return bad(file_.name, element.line, which,
                   fmt::format("\"{}\"; the id of a node is accepted", id == nullptr ? "" : *id));
      ends.push_back(found->second);
    }
    if (ends[0] == ends[1]) {
      ++loops_;
      return {};
    }
    PORTCULLIS_TRY_ASSIGN(const double gbps, gbps_of(element));
    ++edges_;
    // A directed file has a cable once each way.
    auto& waiting = waiting_[{ends[1], ends[0]}];
    if (is_directed_ && waiting > 0) {
      --waiting;
      return {};
    }
    ++waiting_[{ends[0], ends[1]}];
    const auto added = draft_.add_cable({ends[0], ""}, {ends[1], ""}, gbps);
    if (!added) return bad(file_.name, element.line, "edge", added.error().text);
    return {};
  }

  /// What a graph may have besides nodes and edges (GraphML's primer, 3.2 and 3.3).
  void count_left_out(const XmlElement& element) {
    for (const XmlElement& child : element.children) {
      graphs_ += child.name == "graph" ? 1 : 0;
      hyperedges_ += child.name == "hyperedge" ? 1 : 0;
      count_left_out(child);
    }
  }

  void tell(std::vector<std::string>& notes) const {
    if (graphs_ > 1)
      notes.push_back(
          fmt::format("{} graphs beside the first, or within its nodes, left out: "
                      "there may be more switches and cables",
                      graphs_ - 1));
    if (hyperedges_ > 0) notes.push_back(fmt::format("{} hyperedges, left out", hyperedges_));
    if (loops_ > 0)
      notes.push_back(fmt::format("{} edges from a node to itself, left out", loops_));
    if (is_directed_)
      notes.emplace_back(
          "edges have directions: those of two nodes both ways are one cable, and "
          "one without its way back is a cable all the same");
  }

  const File& file_;
  Draft& draft_;
  std::map<std::string, std::string> keys_;   // attribute by id
  std::map<std::string, std::string> names_;  // of nodes, by id
  std::map<std::pair<std::string, std::string>, std::size_t> waiting_;
  bool is_directed_ = false;
  std::size_t edges_ = 0;
  std::size_t loops_ = 0;
  std::size_t graphs_ = 0;
  std::size_t hyperedges_ = 0;
};

}  // namespace

Result<Imported> from_graphml(const File& file) {
  Draft draft(file.name);
  Imported imported;
  PORTCULLIS_TRY(GraphMlReader(file, draft).run(imported.notes));
  draft.find_hosts();
  PORTCULLIS_TRY(draft.finish(imported));
  return imported;
}

}  // namespace portcullis::pfc::import
