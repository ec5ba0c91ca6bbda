// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/ostream.h>

#include <algorithm>

#include "pfc/scenarios.hpp"
#include "program/standard_streams.hpp"
#include "program/version.hpp"
#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

void print_help(std::ostream& out) {
  fmt::print(
      out,
      "usage: pfc-deadlock COMMAND SCENARIO [OPTION]..\n"
      "       pfc-deadlock --help | --version\n\n"
      "Can a lossless fabric lock up, when, and what helps? A SCENARIO is a built-in name, a "
      "generated\nfabric, or a JSON file of nodes, links and flows; docs/pfc.md explains them, and "
      "the model.\n\n"
      "commands (COMMAND --help lists the options of each):\n");
  for (const Command& command : commands())
    fmt::print(out, "  {:<10} {}\n", command.name, command.summary);
  fmt::print(out, "\nscenarios:\n");
  for (const pfc::ScenarioName& scenario : pfc::scenario_names())
    fmt::print(out, "  {:<10} {}\n", scenario.name, scenario.summary);
  fmt::print(out,
             "  leaf-spine:LEAVES,SPINES,HOSTS   fat-tree:PORTS   ring:SWITCHES,SPAN\n"
             "  jellyfish:SWITCHES,PORTS,SEED   dragonfly:GROUPS,ROUTERS,GLOBAL\n"
             "             generated, with routes; the ring has flows of SPAN switches too\n");
  fmt::print(
      out,
      "\nexamples:\n"
      "  pfc-deadlock fluid seed-1 --at 1,5,10\n"
      "  pfc-deadlock fluid ring-3 --set d=0.125 --discipline fifo --until 50 --svg ring.svg\n"
      "  pfc-deadlock topology seed-1 --json > my-fabric.json\n\n"
      "exit status: 0 done, 1 cbd found a cycle, residence no bound, headroom an ingress that\n"
      "is short, or a run of fluid or packet is locked at its end, 2 bad arguments or a bad file,\n"
      "130 Ctrl-C, 143 SIGTERM\n{}",
      program::kExitHelp);
}

}  // namespace

int run_program(Arguments arguments, Console& console) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
      arguments[0] == "help") {
    print_help(arguments.empty() ? console.err : console.out);
    return arguments.empty() ? kExitBad : kExitDone;
  }
  if (arguments[0] == "--version") {
    fmt::print(console.out, "{}\n", program::version_text("pfc-deadlock"));
    return kExitDone;
  }
  const auto known = commands();
  const auto found = std::ranges::find(known, arguments[0], &Command::name);
  if (found != known.end()) return found->run(arguments.subspan(1), console);
  std::string names;
  for (const Command& command : known)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", command.name);
  fmt::print(console.err, "pfc-deadlock: no command \"{}\"; {} are accepted\n", arguments[0],
             names);
  return kExitBad;
}

}  // namespace portcullis::tools::pfc_deadlock
