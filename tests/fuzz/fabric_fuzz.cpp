// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics that anybody wrote, in our own format and in those that are imported, and workloads on
// them. A text is refused in one line that names the file, or it is a fabric that our own reader
// takes again as the same; of a small one dependencies, the bound on its delays and its flows' ways
// can be asked for. libFuzzer drives it in the asan build; elsewhere corpus_test.cpp runs the
// corpus once.
//
// An input is a byte that says which format, then the file; of formats with two files a zero byte
// stands between them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pfc/bound/residence_bound.hpp"
#include "pfc/cbd/analysis.hpp"
#include "pfc/import/import.hpp"
#include "pfc/packet/workload.hpp"
#include "pfc/topology_json.hpp"

namespace {

using namespace portcullis;
namespace import = pfc::import;

enum class Format : std::uint8_t {
  Ours,
  Edges,
  Graphml,
  Frr,
  Batfish,
  Sonic,
  Infiniband,
  Messages,
  Sizes
};
constexpr std::uint8_t kFormats = 9;

/// What messages are sent on.
constexpr std::string_view kTwoHosts = R"({
  "nodes": [{"name": "h1", "kind": "host"}, {"name": "s"}, {"name": "h2", "kind": "host"}],
  "links": [{"from": "h1", "to": "s", "both_ways": true},
            {"from": "s", "to": "h2", "both_ways": true}],
  "routes": {"s": {"h1": ["h1"], "h2": ["h2"]}}
})";

void require(bool held) {
  if (!held) std::abort();
}

bool is_one_line_about(std::string_view text, std::string_view file) {
  constexpr std::string_view kOfSeveral = "sonic: ";  // what no file of several says alone
  return (text.find(file) != std::string_view::npos || text.starts_with(kOfSeveral)) &&
         text.find('\n') == std::string_view::npos;
}

void check_fabric(const pfc::Topology& topology) {
  const std::string text = to_json(topology);
  const auto again = pfc::parse_topology(text, "again");
  require(again && to_json(*again) == text);
}

template <class Read>
void require_line_or_fabric(const Result<Read>& read) {
  require(read || is_one_line_about(read.error().text, "file"));
}

void check_import(const Result<import::Imported>& read) {
  require_line_or_fabric(read);
  if (!read) return;
  for (const std::string& note : read->notes) require(note.find('\n') == std::string::npos);
  check_fabric(read->topology);
}

/// Buffers that wait for each other in a circle depend on each other in one, by the other judge.
void check_judges(const pfc::Topology& topology) {
  constexpr std::size_t kMostLinks = 40;  // some milliseconds
  if (topology.links.size() > kMostLinks) return;
  const auto bound = pfc::bound::bound_residence(topology, {});
  const auto priorities = pfc::cbd::check_question(topology, {}, pfc::cbd::Traffic::All);
  if (!bound || !priorities || bound->circle.empty()) return;
  require(std::ranges::any_of(*priorities, [&](std::uint32_t priority) {
    return !pfc::cbd::analyse(topology, priority, {.with_breaks = false}).is_free_of_cycles();
  }));
}

void check_ours(const std::string& text) {
  const auto read = pfc::parse_topology(text, "file");
  require_line_or_fabric(read);
  if (!read) return;
  check_fabric(*read);
  check_judges(*read);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  const std::size_t zero = text.find('\0');
  const import::File first{"file1", text.substr(0, zero)};
  const import::File second{"file2", zero == std::string::npos ? "" : text.substr(zero + 1)};
  static const pfc::Topology two = pfc::parse_topology(kTwoHosts, "two").value();
  switch (static_cast<Format>(data[0] % kFormats)) {
    case Format::Ours:
      check_ours(text);
      break;
    case Format::Edges:
      check_import(import::from_edges(first));
      break;
    case Format::Graphml:
      check_import(import::from_graphml(first));
      break;
    case Format::Frr:
      check_import(import::from_frr(first, {second}));
      break;
    case Format::Batfish:
      check_import(import::from_batfish(first, second));
      break;
    case Format::Sonic:
      check_import(import::from_sonic({first, second}));
      break;
    case Format::Infiniband:
      check_import(import::from_infiniband(first, second));
      break;
    case Format::Messages:
      require_line_or_fabric(pfc::packet::read_messages(text, "file", two));
      break;
    case Format::Sizes:
      require_line_or_fabric(pfc::packet::SizeDistribution::parse(text, "file"));
      break;
  }
  return 0;
}
