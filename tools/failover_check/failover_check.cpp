// SPDX-License-Identifier: BSD-3-Clause
//
// failover-check: which RDMA operations may be posted again after a failure, decided by exploring.
#include <CLI/CLI.hpp>
#include <iostream>

#include "program/command_line.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "tools/failover_check/commands.hpp"
#include "tools/failover_check/history_command.hpp"
#include "tools/failover_check/late_command.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::tools::failover_check;

/// Of an exploration, which prints what it has.
std::atomic<bool> stop_asked{false};

int refuse(const std::string& text) {
  std::cerr << "failover-check: " << text << '\n';
  return kExitBad;
}

std::string model_list() {
  std::string text = "\nMODELS\n";
  for (const failover::ModelInfo& model : failover::models()) {
    text += "  " + std::string(model.name) + std::string(23 - model.name.size(), ' ') +
            std::string(model.idea) + "\n";
    if (!model.assumption.empty())
      text += std::string(25, ' ') + "assumes: " + std::string(model.assumption) + "\n";
  }
  return text +
         "\nENVIRONMENTS\n"
         "  quiet           nobody else touches the target\n"
         "  reuse           the receiver consumes the data and reuses the memory\n"
         "  other-writers   others write the target\n"
         "  aba             others bring the old value back\n";
}

void add_bounds(CLI::App& app, SearchOptions& search) {
  failover::Parameters& parameters = search.parameters;
  app.add_option("--clients", parameters.clients, "clients, each with the same program (1 to 8)")
      ->capture_default_str();
  app.add_option("--ops", parameters.operations, "operations of a client (1 to 4)")
      ->capture_default_str();
  app.add_option("--late", parameters.limits.late,
                 "packets of a client that may outlive its timeout (0 to 7)")
      ->capture_default_str();
  app.add_option("--duplicates", parameters.limits.duplicates,
                 "extra copies of a client's packets (0 to 3)")
      ->capture_default_str();
  app.add_option("--timeouts", parameters.limits.timeouts, "timeouts of a client (0 to 7)")
      ->capture_default_str();
  app.add_option("--deaths", parameters.limits.deaths,
                 "QPs of a client whose responder NIC may die between acknowledging and placing "
                 "(0 to 3)")
      ->capture_default_str();
}

void add_search(CLI::App& app, SearchOptions& search) {
  app.add_option("--set", search.set, "exact, or fingerprint (64 bits a state)")
      ->capture_default_str();
  app.add_flag("--symmetry", search.uses_symmetry, "take states that differ in who is who as one");
  app.add_option("--threads", search.threads, "1 to 16")->capture_default_str();
  app.add_option("--seed", search.seed, "of the hash")->capture_default_str();
  app.add_option("--memory-gb", search.memory_gb,
                 "stop before states take more than this; 0 is 0.9 of what is available, and "
                 "refuses to start beyond it")
      ->capture_default_str();
}

void add_outputs(CLI::App& sub, ExploreCommand& command) {
  sub.add_flag("--counts-only", command.counts_only, "no monitors: count the states");
  sub.add_option("--svg", command.svg_path, "draw the counterexample to this file");
  sub.add_option("--promela", command.promela_path,
                 "write the same model for SPIN to this file (with --counts-only)");
  sub.add_flag("--all-steps", command.wants_all_steps,
               "status 5 where nothing breaks but some step is never reached");
  sub.add_flag("--json", command.search.is_json, "one JSON object on standard output");
}

constexpr const char* kVerdictFooter =
    "\nVERDICTS\n"
    "  safe      no property breaks, and each run comes to its end or to where a bound cuts it\n"
    "  gives-up  the same, but some run ends with an error to the application\n"
    "  hangs     no property breaks, but some run can never come to its end\n"
    "  refuted   a property breaks; a shortest run is printed\n"
    "\nExit status: 0 safe or counted, 1 refuted or hangs, 2 bad input, 3 stopped early, 4 "
    "gives-up,\n5 with --all-steps: nothing breaks, but some step is never reached.";

CLI::App* add_check(CLI::App& app, ExploreCommand& command) {
  CLI::App* sub = app.add_subcommand("check", "every reachable state of a protocol of your own");
  sub->add_option("file", command.path,
                  "JSON as docs/failover-protocol.schema.json says; - is stdin")
      ->required();
  sub->add_option("--environment", command.search.environment,
                  "one of the file's environments; its first without this");
  BoundsGiven& given = command.given;
  sub->add_option("--clients", given.clients, "clients, each with the same program (1 to 8)");
  sub->add_option("--late", given.late,
                  "packets of a client that may outlive its timeout (0 to 7)");
  sub->add_option("--duplicates", given.duplicates, "extra copies of a client's packets (0 to 3)");
  sub->add_option("--timeouts", given.timeouts, "timeouts of a client (0 to 7)");
  sub->add_option("--deaths", given.deaths,
                  "QPs of a client whose responder NIC may die between acknowledging and placing "
                  "(0 to 3)");
  add_search(*sub, command.search);
  add_outputs(*sub, command);
  sub->footer(std::string("\nBounds are the file's where none is given here.\n") + kVerdictFooter);
  return sub;
}

CLI::App* add_explore(CLI::App& app, ExploreCommand& command) {
  CLI::App* sub = app.add_subcommand("explore", "every reachable state of one protocol");
  sub->add_option("model", command.model, "a name from MODELS below")->required();
  sub->add_option("--environment", command.search.environment, "a name from ENVIRONMENTS below")
      ->capture_default_str();
  add_bounds(*sub, command.search);
  add_search(*sub, command.search);
  add_outputs(*sub, command);
  sub->footer(model_list() + kVerdictFooter);
  return sub;
}

constexpr const char* kTableFooter =
    "\nThe last column counts end states in which a client has no timeout left: what it would do "
    "next is\nnot looked at.\n"
    "\nExit status: 0 the whole table was printed, whatever it says, 2 bad input, 3 stopped early.";
constexpr const char* kAdviceFooter =
    "\nADVICE\n"
    "  repost     no run that was explored shows that it was posted twice, if `conditions` hold\n"
    "  only-if    that, where all of one list of `one_of` is promised too\n"
    "  never      a run shows it, whatever is promised; the run is printed\n"
    "  no-advice  not modelled, contradictory or too much to explore; the reason says which\n"
    "\nExit status: 0 the advice was printed, 2 bad input, 3 stopped early.";

CLI::App* add_import(CLI::App& app, ImportCommand& command) {
  CLI::App* sub = app.add_subcommand(
      "import", "a dump for classify from a capture of RoCEv2, or from a log of lease-verify");
  sub->add_option("file", command.path,
                  "pcap or pcapng, or what lease-verify --revoke-test --json wrote; - is stdin")
      ->required();
  sub->add_option(
      "--captured-at", command.captured_at,
      "of a capture. sender: an answer that was captured has come back; elsewhere: it may be "
      "lost yet");
  sub->add_option("--sender", command.sender,
                  "whose requests, by its IP address; needed where more than one sends some");
  sub->add_option("--environment", command.environment,
                  "what the application promises of the memory: quiet, reuse, other-writers, aba")
      ->required();
  sub->add_option("--consumer", command.consumer, "polls, or notified")->capture_default_str();
  sub->add_flag("--fenced", command.is_fenced,
                "a fence of the old QPs or mkeys is known to be in effect");
  sub->footer(
      "\nThe dump goes to standard output: `failover-check import F .. | failover-check classify "
      "-`.\n"
      "wr_id is a request's number in it, qp_num the responder's QP. Checksums are not looked at.\n"
      "\nExit status: 0 the dump was printed, 2 bad input, or a capture that does not say what is\n"
      "outstanding.");
  return sub;
}

CLI::App* add_list(CLI::App& app, ListCommand& command, const char* name, const char* summary) {
  CLI::App* sub = app.add_subcommand(name, summary);
  sub->add_option("--svg-dir", command.svg_dir, "draw every refutation into this folder");
  sub->add_flag("--json", command.search.is_json, "a JSON array on standard output");
  return sub;
}

CLI::App* add_late(CLI::App& app, LateCommand& command) {
  CLI::App* sub = app.add_subcommand(
      "late", "how many packets may outlive a timeout in a lossless fabric: what --late has to be");
  CLI::Option* const fabric =
      sub->add_option("--fabric", command.fabric.file, "JSON as pfc-deadlock reads it, with routes")
          ->required();
  sub->add_option("--timeout-us", command.client.after_us,
                  "a client gives up so long after its last packet, a repeated one too")
      ->required()
      ->check(CLI::Range(0.0, 1e12));
  sub->add_option("--packets", command.client.packets,
                  "it has so many out by then at most, repeated ones counted");
  add_bound_options(*sub, fabric, command.fabric);
  sub->footer(
      "\nThe number goes to standard output, and why to standard error:\n"
      "failover-check protocols --late $(failover-check late --fabric clos.json --timeout-us 100 "
      "--packets 3)\n"
      "\nExit status: 0 the number was printed, 1 nothing bounds it, 2 bad input.");
  return sub;
}

CLI::App* add_history(CLI::App& app, HistoryCommand& command) {
  CLI::App* sub = app.add_subcommand(
      "history", "whether what programs asked and were answered is linearizable");
  sub->add_option("file", command.path, "JSON as docs/failover.md says; - is stdin")->required();
  sub->footer(
      "\nOperations that share no cell, nor by others between them, are judged apart.\n"
      "\nExit status: 0 it is, 1 no order explains some of it, which is printed, 2 bad input, 3 "
      "too many\norders to search.");
  return sub;
}

void add_bench(CLI::App& app, BenchCommand& bench) {
  CLI::App* sub = app.add_subcommand(
      "bench", "measure the explorer; needs spin and gcc, and some minutes of both cores");
  sub->add_flag("--vs-spin", bench.vs_spin, "against SPIN on the same models")->required();
  sub->add_flag("--quick", bench.is_quick, "the smallest model only");
  sub->add_option("--model", bench.model, "one of the measured ones; all if left out");
  sub->add_option("--rounds", bench.rounds, "1 to 99: medians of so many runs, taken in turns")
      ->capture_default_str();
  sub->add_flag("--json", bench.is_json, "a JSON array on standard output");
}

constexpr const char* kExamples =
    "EXAMPLES\n"
    "  failover-check explore blind-fadd                  why an FADD must not be reposted\n"
    "  failover-check explore lease --environment reuse   how a fence makes a WRITE repostable\n"
    "  failover-check check mine.json                     a protocol of your own\n"
    "  failover-check protocols --late 0                  the table, with a perfect timer\n"
    "  failover-check policies fadd-quiet                 every decision table is wrong\n"
    "  failover-check classify dump.json                  advice for a send queue\n"
    "  failover-check history h.json                      what programs asked and were answered\n"
    "Ctrl-C stops an exploration and prints what was reached; a second one ends at once.";

int act(int argc, char** argv) {
  CLI::App app{
      "Which RDMA operations may be posted again after a timeout, a fence or a NIC failure?\n"
      "Decided by exploring every run of small models; a refutation comes with a shortest run.",
      "failover-check"};
  app.require_subcommand(0, 1);  // a wrong one is named; none is told below
  app.footer(kExamples);
  ExploreCommand explore;
  ExploreCommand check;
  check.search.environment.clear();
  ListCommand protocols;
  ListCommand policies;
  ListCommand classify;
  ImportCommand import;
  LateCommand late;
  HistoryCommand history;
  BenchCommand bench;
  const CLI::App* explore_sub = add_explore(app, explore);
  const CLI::App* check_sub = add_check(app, check);
  CLI::App* protocols_sub =
      add_list(app, protocols, "protocols", "every protocol in every environment");
  protocols_sub->footer(kTableFooter);
  protocols_sub->add_option("--write", protocols.texts_dir,
                            "write each as a file for `check` into this folder, explore none");
  add_bounds(*protocols_sub, protocols.search);
  add_search(*protocols_sub, protocols.search);
  CLI::App* policies_sub =
      add_list(app, policies, "policies", "every decision table over what a sender can see");
  policies_sub->add_option("model", policies.model, "one model; all without it");
  CLI::App* classify_sub =
      add_list(app, classify, "classify", "advice for each work request of a dump");
  classify_sub->add_option("dump", classify.path, "JSON as docs/failover.md says; - is stdin")
      ->required();
  classify_sub->add_flag("--rules", classify.uses_rules,
                         "explore nothing: by rule, without runs, in microseconds; no-advice for "
                         "what no rule covers");
  classify_sub->footer(kAdviceFooter);
  const CLI::App* import_sub = add_import(app, import);
  const CLI::App* late_sub = add_late(app, late);
  const CLI::App* history_sub = add_history(app, history);
  add_bench(app, bench);
  const auto text = program::parse_arguments(app, {argv + 1, argv + argc});
  if (!text) return refuse(text.error().text);
  const Streams io{std::cout, std::cerr, stop_asked};
  if (*text) {
    std::cout << **text;
    return kExitFine;
  }
  if (app.get_subcommands().empty())
    return refuse(
        "no command; explore, check, protocols, policies, classify, import, late, history and "
        "bench are accepted");

  program::heed_stop_signals(stop_asked);
  if (explore_sub->parsed()) return run_explore(explore, io);
  if (check_sub->parsed()) return run_explore(check, io);
  if (protocols_sub->parsed()) return run_protocols(protocols, io);
  if (policies_sub->parsed()) return run_policies(policies, io);
  if (classify_sub->parsed()) return run_classify(classify, io);
  if (import_sub->parsed()) return run_import(import, io);
  if (late_sub->parsed()) return run_late(late, io);
  if (history_sub->parsed()) return run_history(history, io);
  return run_bench(bench, io);
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_main(
      "failover-check", [&] { return act(argc, argv); }, &stop_asked);
}
