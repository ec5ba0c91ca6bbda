// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock import: a fabric from lists of cables, FRR or InfiniBand, as our JSON.
#include <fmt/ostream.h>

#include "pfc/import/import.hpp"
#include "pfc/topology_json.hpp"
#include "tools/pfc_deadlock/command.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

namespace import = pfc::import;

Result<import::Imported> run(const std::string& kind, const std::vector<std::string>& paths) {
  std::vector<import::File> files;
  for (const std::string& path : paths) {
    PORTCULLIS_TRY_ASSIGN(std::string text, read_file(path));
    files.push_back({path == "-" ? "standard input" : path, std::move(text)});
  }
  if (kind == "frr") return import::from_frr(files.front(), {files.begin() + 1, files.end()});
  if (kind == "infiniband") {
    if (files.size() == 2) return import::from_infiniband(files[0], files[1]);
    return fail(Errc::InvalidArgument,
                fmt::format("{} files; two of kind infiniband are accepted", files.size()));
  }
  if (files.size() != 1)
    return fail(Errc::InvalidArgument,
                fmt::format("{} files; one of kind {} is accepted", files.size(), kind));
  return import::from_edges(files.front());
}

}  // namespace

int run_import(Arguments arguments, Console& console) {
  CLI::App app("Reads a fabric from what others write, and prints it as our JSON.",
               "pfc-deadlock import");
  std::string kind;
  std::vector<std::string> paths;
  app.add_option("KIND", kind,
                 "edges: a CSV of cables (node_a,port_a,node_b,port_b[,gbps], or NetBox's\n"
                 "side_a_device,side_a_name,..); frr: such a CSV, then NODE.json of each switch\n"
                 "as `show ip route json` prints it; infiniband: what ibnetdiscover prints, then\n"
                 "what dump_fts or dump_lfts does")
      ->required()
      ->check(CLI::IsMember({"edges", "frr", "infiniband"}));
  app.add_option("FILE", paths, "- is standard input")->required();
  app.footer("exit status: 0 done, 2 bad arguments or a bad file");
  if (const auto status = parse(app, arguments, console)) return *status;
  const auto imported = run(kind, paths);
  if (!imported) return refuse(console, app.get_name(), imported.error());
  for (const std::string& note : imported->notes) fmt::print(console.err, "{}\n", note);
  // No verdict about delays is to rest on what nobody gave.
  console.err << "not in these files: delays (0 here), thresholds (40 KB) and buffers (no limit); "
                 "give them in \"defaults\" or by --set\n";
  console.out << pfc::to_json(imported->topology);
  return kExitDone;
}

}  // namespace portcullis::tools::pfc_deadlock
