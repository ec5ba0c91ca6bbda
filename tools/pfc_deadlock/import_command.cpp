// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock import: a fabric from lists of cables, graphs, route tables, an InfiniBand subnet or
// configurations, as our JSON.
#include <fmt/ostream.h>

#include <optional>

#include "pfc/cbd/routing.hpp"
#include "pfc/import/import.hpp"
#include "pfc/topology_json.hpp"
#include "tools/pfc_deadlock/command.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

namespace import = pfc::import;

struct Options {
  std::string kind;
  std::vector<std::string> paths;
  std::vector<std::string> hosts;
  std::optional<std::uint32_t> priority;
  bool with_shortest = false;
};

Result<void> expect_files(const std::string& kind, std::size_t files, std::size_t wanted) {
  if (files == wanted) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("{} files; {} of kind {} {} accepted", files, wanted == 1 ? "one" : "two",
                          kind, wanted == 1 ? "is" : "are"));
}

Result<import::Imported> read_kind(const Options& options) {
  const std::string& kind = options.kind;
  std::vector<import::File> files;
  for (const std::string& path : options.paths) {
    PORTCULLIS_TRY_ASSIGN(std::string text, read_file(path));
    files.push_back({path == "-" ? "standard input" : path, std::move(text)});
  }
  if (options.priority && kind != "sonic")
    return fail(Errc::InvalidArgument, "--priority: of kind sonic alone");
  if (kind == "frr") return import::from_frr(files.front(), {files.begin() + 1, files.end()});
  if (kind == "sonic") return import::from_sonic(files, options.priority);
  PORTCULLIS_TRY(
      expect_files(kind, files.size(), kind == "infiniband" || kind == "batfish" ? 2 : 1));
  if (kind == "infiniband") return import::from_infiniband(files[0], files[1]);
  if (kind == "batfish") return import::from_batfish(files[0], files[1]);
  if (kind == "graphml") return import::from_graphml(files.front());
  return import::from_edges(files.front());
}

Result<import::Imported> run(const Options& options) {
  PORTCULLIS_TRY_ASSIGN(import::Imported imported, read_kind(options));
  pfc::Topology& topology = imported.topology;
  PORTCULLIS_TRY(import::set_hosts(topology, options.hosts));
  if (!options.with_shortest) return imported;
  if (!topology.routes.empty())
    return fail(Errc::InvalidArgument, "--shortest-paths: these files have routes of their own");
  const pfc::cbd::Routing routing(topology);
  const std::vector<bool> none_down(topology.links.size());
  auto routes = routing.shortest_routes(pfc::cbd::prefixes_of(topology), none_down);
  // One switch has no entry for itself.
  if (routes.empty())
    routes = routing.shortest_routes(pfc::cbd::destinations_of(topology), none_down);
  topology.routes = std::move(routes);
  imported.notes.emplace_back("routes: the shortest paths, all of equal length, which is a guess");
  return imported;
}

}  // namespace

int run_import(Arguments arguments, Console& console) {
  CLI::App app("Reads a fabric from what others write, and prints it as our JSON.",
               "pfc-deadlock import");
  Options options;
  app.add_option("KIND", options.kind,
                 "edges: a CSV of cables (node_a,port_a,node_b,port_b[,gbps], or NetBox's\n"
                 "side_a_device,side_a_name,..); graphml: a graph as the Topology Zoo has it;\n"
                 "frr: such a CSV, then NODE.json of each switch as `show ip route json` prints\n"
                 "it; batfish: layer1Edges (or layer3Edges) and routes as CSV; infiniband: what\n"
                 "ibnetdiscover prints, then what dump_fts or dump_lfts does; sonic:\n"
                 "config_db.json of each switch")
      ->required()
      ->check(CLI::IsMember({"edges", "graphml", "frr", "batfish", "infiniband", "sonic"}));
  app.add_option("FILE", options.paths, "- is standard input")->required();
  app.add_option("--host", options.hosts,
                 "NAME: a host, whatever it looks like; * stands for any characters (may be "
                 "repeated)")
      ->allow_extra_args(false);
  app.add_flag("--shortest-paths", options.with_shortest,
               "routes of files that have none: the shortest paths, all of equal length");
  app.add_option("--priority", options.priority,
                 "whose thresholds (sonic); the lowest lossless one otherwise")
      ->check(CLI::Range(0, 7));
  app.footer("exit status: 0 done, 2 bad arguments or a bad file");
  if (const auto status = parse(app, arguments, console)) return *status;
  const auto imported = run(options);
  if (!imported) return refuse(console, app.get_name(), imported.error());
  for (const std::string& note : imported->notes) fmt::print(console.err, "{}\n", note);
  // No verdict about delays is to rest on what nobody gave.
  if (options.kind == "sonic")
    console.err << "not in these files: delays of cables without a CABLE_LENGTH (0 here), and of "
                   "what switches take\n";
  else
    console.err
        << "not in these files: delays (0 here), thresholds (40 KB) and buffers (no limit); give "
           "them in \"defaults\" or by --set\n";
  console.out << pfc::to_json(imported->topology);
  return kExitDone;
}

}  // namespace portcullis::tools::pfc_deadlock
