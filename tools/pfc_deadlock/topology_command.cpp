// SPDX-License-Identifier: BSD-3-Clause
//
// pfc-deadlock topology: a scenario as a drawing (figures 1 to 4 of the PFC document) or as JSON.
#include "tools/pfc_deadlock/command.hpp"

#include "pfc/topology_json.hpp"
#include "tools/pfc_deadlock/diagram.hpp"
#include "tools/pfc_deadlock/fabric_input.hpp"
#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {

int run_topology(Arguments arguments, Console& console) {
  CLI::App app("Draws a scenario, or prints it as JSON to start one's own from.",
               "pfc-deadlock topology");
  std::string name;
  std::vector<std::string> settings;
  bool is_svg = false;
  bool is_json = false;
  app.add_option("SCENARIO", name, kFabricHelp)->required();
  app.add_option("--set", settings, "NAME=VALUE, applied before (may be repeated)")
      ->allow_extra_args(false);
  auto* svg = app.add_flag("--svg", is_svg, "print an SVG (the default)");
  app.add_flag("--json", is_json, "print JSON")->excludes(svg);
  if (const auto status = parse(app, arguments, console)) return *status;
  const auto topology = load_fabric(name, settings);
  if (!topology) return refuse(console, app.get_name(), topology.error());
  console.out << (is_json ? pfc::to_json(*topology) : diagram_svg(*topology));
  return kExitDone;
}

}  // namespace portcullis::tools::pfc_deadlock
