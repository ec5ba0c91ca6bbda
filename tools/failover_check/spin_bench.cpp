// SPDX-License-Identifier: BSD-3-Clause
//
// failover-check bench --vs-spin: our explorer and SPIN's verifiers on the same models, each a
// process of its own. Both count the same states, or the row says so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <regex>
#include <sstream>
#include <tuple>

#include "failover/spin/promela.hpp"
#include "tools/failover_check/commands.hpp"
#include "tools/failover_check/spin_run.hpp"

namespace portcullis::tools::failover_check {
namespace {

using namespace failover;

struct Size {
  const char* model;
  Parameters parameters;
};

Parameters bounds(unsigned clients, unsigned operations, unsigned duplicates) {
  Parameters parameters;
  parameters.clients = clients;
  parameters.operations = operations;
  parameters.limits = {1, duplicates, 1};
  parameters.is_monitored = false;
  return parameters;
}

/// Every model whose clients meet, which are those where two clients have another number of states
/// than the square of one's; each with the first of these bounds that gives more than 10^5 states:
/// 2 clients and 1 duplicate, 2 clients with 2 operations each, 3 clients. Then one model of
/// independent clients at the first of them, for comparison. A test holds the list to the rule.
std::vector<Size> sizes(bool is_quick) {
  std::vector<Size> all;
  for (const BenchModel& chosen : bench_models())
    all.push_back({chosen.model, bounds(chosen.clients, chosen.operations, chosen.duplicates)});
  if (is_quick) all.resize(1);
  return all;
}

struct Build {
  const char* name;
  const char* flags;
  const char* arguments;  // of the verifier, beside the size of its table
  bool is_exact;
};

// One process and one d_step a transition: there is no order to reduce (NOREDUCE), nothing to be
// fair to (NOFAIR), no liveness (SAFETY). These flags are SPIN's own advice for speed.
// The builds for two cores reserve all of MEMLIM (in MB) as shared memory, and use what they need.
constexpr const char* kCommonFlags =
    "-O2 -DSAFETY -DNOREDUCE -DNOFAIR -DNOBOUNDCHECK -DMEMLIM=8000";
constexpr Build kBuilds[] = {{"dfs", "", " -m100000", true},
                             {"dfs-collapse", "-DCOLLAPSE", " -m100000", true},
                             {"bfs", "-DBFS", "", true},
                             {"bfs-collapse", "-DBFS -DCOLLAPSE", "", true},
                             {"dfs-2-cores", "-DNCORE=2", " -m100000", true},
                             {"bfs-2-cores", "-DBFS_PAR", " -u2", true}};

struct Row {
  std::string name;
  std::string command;
  bool is_spin = false;
  bool is_exact = true;
  bool is_symmetric = false;
  std::uint64_t states = 0;
  Finished run;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Result<Finished> run_checked(const std::string& command, const std::string& folder) {
  PORTCULLIS_TRY_ASSIGN(Finished finished, run_program(words_of(command), folder));
  if (finished.status == 0) return finished;
  return fail(Errc::System, fmt::format("'{}' ended with {}: {}", command, finished.status,
                                        (finished.err + finished.out).substr(0, 200)));
}

std::string our_command(const std::string& program, unsigned threads, const Size& size,
                        const std::string& extra) {
  const Parameters& p = size.parameters;
  return fmt::format(
      "{} explore {} --counts-only --json --clients {} --ops {} --late {} --duplicates {} "
      "--timeouts {} --threads {}{}",
      program, size.model, p.clients, p.operations, p.limits.late, p.limits.duplicates,
      p.limits.timeouts, threads, extra);
}

Result<std::vector<Row>> run_ours(const BenchCommand& bench, const Size& size,
                                  const std::string& folder) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  std::vector<Row> rows;
  for (const auto& [name, extra, is_exact, is_symmetric] :
       std::vector<std::tuple<const char*, const char*, bool, bool>>{
           {"ours exact", "", true, false},
           {"ours fingerprint", " --set fingerprint", false, false},
           {"ours exact, symmetry", " --symmetry", true, true}}) {
    Row row{name, our_command(self, bench.threads, size, extra), false, is_exact, is_symmetric, 0,
            {}};
    PORTCULLIS_TRY_ASSIGN(row.run, run_checked(row.command, folder));
    const auto object = nlohmann::json::parse(row.run.out, nullptr, false);
    if (!object.is_object() || !object.contains("states"))
      return fail(Errc::System, fmt::format("'{}' printed no JSON object", row.command));
    row.states = object["states"].get<std::uint64_t>();
    rows.push_back(std::move(row));
  }
  return rows;
}

std::uint64_t stored_states(const std::string& text) {
  static const std::regex pattern(R"(([0-9.e+]+) states, stored)");
  std::smatch match;
  if (!std::regex_search(text, match, pattern)) return 0;
  return static_cast<std::uint64_t>(std::llround(std::stod(match[1])));
}

Result<std::vector<Row>> run_spin(const Size& size, std::uint64_t states,
                                  const std::string& folder) {
  PORTCULLIS_TRY_ASSIGN(Scenario scenario, make_model(size.model, size.parameters));
  PORTCULLIS_TRY_ASSIGN(const Machine machine, compile(std::move(scenario)));
  PORTCULLIS_TRY_ASSIGN(const std::string text, promela(machine));
  PORTCULLIS_TRY(write_file(folder + "/model.pml", text));
  PORTCULLIS_TRY(run_checked("spin -a model.pml", folder));
  // A hash table with a slot for each state: SPIN's own advice again.
  const auto slots = static_cast<unsigned>(std::ceil(std::log2(static_cast<double>(states))));
  std::vector<Row> rows;
  for (const Build& build : kBuilds) {
    PORTCULLIS_TRY(
        run_checked(fmt::format("gcc {} {} -o pan pan.c", kCommonFlags, build.flags), folder));
    Row row;
    row.name = fmt::format("spin {}", build.name);
    const std::string run = fmt::format("./pan -w{}{}", slots, build.arguments);
    row.command = fmt::format("gcc {} {}; {}", kCommonFlags, build.flags, run);
    row.is_spin = true;
    row.is_exact = build.is_exact;
    PORTCULLIS_TRY_ASSIGN(row.run, run_checked(run, folder));
    row.states = stored_states(row.run.out);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// By elapsed time: some builds use two cores, as we do. There are always several.
const Row& fastest_exact_spin(const std::vector<Row>& rows) {
  const auto seconds = [](const Row& row) {
    return row.is_spin && row.is_exact ? row.run.seconds : std::numeric_limits<double>::infinity();
  };
  return *std::ranges::min_element(rows, {}, seconds);
}

bool counts_agree(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    const bool must = row.is_exact && !row.is_symmetric;
    return !must || row.states == rows[0].states;
  });
}

struct Measured {
  std::vector<Row> rows;
  std::uint64_t of_one_client = 0;  // states
};

/// "independent (599^2)" where that is what the clients are.
std::string clients_text(const Size& size, const Measured& measured) {
  const unsigned clients = size.parameters.clients;
  std::uint64_t product = 1;
  for (unsigned i = 0; i < clients; ++i) product *= measured.of_one_client;
  if (product != measured.rows[0].states) return "meet";
  return fmt::format("independent ({}^{})", measured.of_one_client, clients);
}

void print_rows(const Size& size, const Measured& measured, const Streams& io) {
  const std::vector<Row>& rows = measured.rows;
  const Row& spin = fastest_exact_spin(rows);
  const Parameters& p = size.parameters;
  io.out << fmt::format(
      "{} (clients {}, ops {}, late {}, duplicates {}): {} states, counts of the exact runs {}; "
      "clients {}\n"
      "  {:<22} {:>10} {:>8} {:>8} {:>8} {:>7}   {:>6} {:>6} {:>6}\n",
      size.model, p.clients, p.operations, p.limits.late, p.limits.duplicates, rows[0].states,
      counts_agree(rows) ? "agree" : "DIFFER", clients_text(size, measured), "", "states", "s",
      "cpu s", "MB", "B/state", "time/", "cpu/", "mem/");
  for (const Row& row : rows)
    io.out << fmt::format(
        "  {:<22} {:>10} {:>8.2f} {:>8.2f} {:>8.1f} {:>7.1f}   {:>6.3f} {:>6.3f} {:>6.3f}{}\n",
        row.name, row.states, row.run.seconds, row.run.cpu_seconds, row.run.megabytes,
        row.run.megabytes * 1e6 / static_cast<double>(row.states),
        row.run.seconds / spin.run.seconds, row.run.cpu_seconds / spin.run.cpu_seconds,
        row.run.megabytes / spin.run.megabytes, &row == &spin ? "  <- compared with" : "");
  io.out << std::flush;
}

nlohmann::ordered_json to_json(const Size& size, const Measured& measured) {
  const std::vector<Row>& rows = measured.rows;
  const Row& spin = fastest_exact_spin(rows);
  auto runs = nlohmann::ordered_json::array();
  for (const Row& row : rows)
    runs.push_back({{"name", row.name},
                    {"command", row.command},
                    {"states", row.states},
                    {"seconds", row.run.seconds},
                    {"cpu_seconds", row.run.cpu_seconds},
                    {"megabytes", row.run.megabytes},
                    {"time_ratio", row.run.seconds / spin.run.seconds},
                    {"memory_ratio", row.run.megabytes / spin.run.megabytes}});
  return {{"model", size.model},
          {"clients", size.parameters.clients},
          {"ops", size.parameters.operations},
          {"duplicates", size.parameters.limits.duplicates},
          {"states", rows[0].states},
          {"counts_agree", counts_agree(rows)},
          {"clients_are", clients_text(size, measured)},
          {"compared_with", spin.name},
          {"runs", runs}};
}

Result<Measured> measure(const BenchCommand& bench, const Size& size, const ScratchFolder& folder) {
  Measured measured;
  PORTCULLIS_TRY_ASSIGN(measured.rows, run_ours(bench, size, folder.path()));
  PORTCULLIS_TRY_ASSIGN(std::vector<Row> spin,
                        run_spin(size, measured.rows[0].states, folder.path()));
  for (Row& row : spin) measured.rows.push_back(std::move(row));
  Parameters alone = size.parameters;
  alone.clients = 1;
  PORTCULLIS_TRY_ASSIGN(Scenario scenario, make_model(size.model, alone));
  PORTCULLIS_TRY_ASSIGN(const Machine machine, compile(std::move(scenario)));
  PORTCULLIS_TRY_ASSIGN(const Exploration one, explore(machine, {}));
  measured.of_one_client = one.states;
  return measured;
}

}  // namespace

const std::vector<BenchModel>& bench_models() {
  static const std::vector<BenchModel> models = {
      {"tagged-cas", 2, 2, 0}, {"tagged-help-write", 2, 2, 0}, {"tagged-help-cas", 2, 2, 0},
      {"blind-cas", 3, 1, 0},  {"receipt-before", 2, 2, 0},    {"receipt-after", 2, 2, 0},
      {"lease", 2, 1, 1}};
  return models;
}

int run_bench(const BenchCommand& bench, const Streams& io) {
  const auto folder = ScratchFolder::create();
  if (!folder) return refuse(io, folder.error());
  auto json = nlohmann::ordered_json::array();
  bool agrees = true;
  if (!bench.is_json) io.out << fmt::format("spin builds: gcc {}, and\n", kCommonFlags);
  for (const Build& build : kBuilds)
    if (!bench.is_json) io.out << fmt::format("  {:<18} {}\n", build.name, build.flags);
  for (const Size& size : sizes(bench.is_quick)) {
    if (io.stop) return kExitStopped;
    const auto measured = measure(bench, size, *folder);
    if (!measured && io.stop) return kExitStopped;
    if (!measured) return refuse(io, measured.error());
    agrees = agrees && counts_agree(measured->rows);
    if (bench.is_json)
      json.push_back(to_json(size, *measured));
    else
      print_rows(size, *measured, io);
  }
  if (bench.is_json) io.out << json.dump(2) << '\n';
  return agrees ? kExitFine : kExitRefuted;
}

}  // namespace portcullis::tools::failover_check
