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
std::vector<Size> sizes(const BenchCommand& bench) {
  std::vector<Size> all;
  for (const BenchModel& chosen : bench_models())
    if (bench.model.empty() || bench.model == chosen.model)
      all.push_back({chosen.model, bounds(chosen.clients, chosen.operations, chosen.duplicates)});
  if (bench.is_quick && all.size() > 1) all.resize(1);
  return all;
}

struct Build {
  const char* name;
  const char* flags;
  const char* arguments;  // of the verifier, beside the size of its table
  unsigned cores;
};

// One process and one d_step a transition: there is no order to reduce (NOREDUCE), nothing to be
// fair to (NOFAIR), no liveness (SAFETY). These flags are SPIN's own advice for speed.
// The builds for two cores reserve all of MEMLIM (in MB) as shared memory, and use what they need.
constexpr const char* kCommonFlags =
    "-O2 -DSAFETY -DNOREDUCE -DNOFAIR -DNOBOUNDCHECK -DMEMLIM=8000";
constexpr Build kBuilds[] = {{"dfs", "", " -m100000", 1},
                             {"dfs-collapse", "-DCOLLAPSE", " -m100000", 1},
                             {"bfs", "-DBFS", "", 1},
                             {"bfs-collapse", "-DBFS -DCOLLAPSE", "", 1},
                             {"dfs-2-cores", "-DNCORE=2", " -m100000", 2},
                             {"bfs-2-cores", "-DBFS_PAR", " -u2", 2}};

/// One program, run once in each round.
struct Row {
  std::string name;
  std::string command;   // as it is run
  std::string built_by;  // SPIN's: the compiler's command
  unsigned cores = 1;
  bool is_spin = false;
  bool is_exact = true;
  bool is_symmetric = false;
  std::uint64_t states = 0;
  double seconds = 0, cpu_seconds = 0, megabytes = 0;  // medians
  std::vector<Finished> runs;
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

std::vector<Row> our_rows(const Size& size) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  const Parameters& p = size.parameters;
  const std::string command = fmt::format(
      "{} explore {} --counts-only --json --clients {} --ops {} --late {} --duplicates {} "
      "--timeouts {} --threads ",
      self, size.model, p.clients, p.operations, p.limits.late, p.limits.duplicates,
      p.limits.timeouts);
  std::vector<Row> rows(4);
  const auto tell = [&](Row& row, const char* name, const char* rest) {
    row.name = name;
    row.command = command + rest;
  };
  tell(rows[0], "ours", "1");
  tell(rows[1], "ours, 2 threads", "2");
  rows[1].cores = 2;
  tell(rows[2], "ours, fingerprints", "1 --set fingerprint");
  rows[2].is_exact = false;
  tell(rows[3], "ours, symmetry", "1 --symmetry");
  rows[3].is_symmetric = true;
  return rows;
}

Result<std::vector<Row>> spin_rows(const Size& size, std::uint64_t states,
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
    Row row;
    row.name = fmt::format("spin {}", build.name);
    row.built_by = fmt::format("gcc {} {} -o {} pan.c", kCommonFlags, build.flags, build.name);
    row.command = fmt::format("./{} -w{}{}", build.name, slots, build.arguments);
    row.cores = build.cores;
    row.is_spin = true;
    PORTCULLIS_TRY(run_checked(row.built_by, folder));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::uint64_t spin_states(const std::string& text) {
  static const std::regex pattern(R"(([0-9.e+]+) states, stored)");
  std::smatch match;
  if (!std::regex_search(text, match, pattern)) return 0;
  return static_cast<std::uint64_t>(std::llround(std::stod(match[1])));
}

Result<void> run_row(Row& row, const std::string& folder) {
  PORTCULLIS_TRY_ASSIGN(Finished run, run_checked(row.command, folder));
  if (row.is_spin) {
    row.states = spin_states(run.out);
  } else {
    const auto object = nlohmann::json::parse(run.out, nullptr, false);
    if (!object.is_object() || !object.contains("states"))
      return fail(Errc::System, fmt::format("'{}' printed no JSON object", row.command));
    row.states = object["states"].get<std::uint64_t>();
  }
  row.runs.push_back(std::move(run));
  return {};
}

double median(const std::vector<Finished>& runs, double Finished::*member) {
  std::vector<double> values;
  for (const Finished& run : runs) values.push_back(run.*member);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The least of what the exact builds of SPIN for so many cores took.
double least_of_spin(const std::vector<Row>& rows, unsigned cores, double Row::*member) {
  double least = std::numeric_limits<double>::infinity();
  for (const Row& row : rows)
    if (row.is_spin && row.cores == cores) least = std::min(least, row.*member);
  return least;
}
/// The build for so many cores that took the least processor time.
const Row& cheapest_spin(const std::vector<Row>& rows, unsigned cores) {
  const double least = least_of_spin(rows, cores, &Row::cpu_seconds);
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.is_spin && row.cores == cores && row.cpu_seconds == least;
  });
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

struct Ratios {
  double time, cpu, memory_of_cheapest, memory_of_least;
};
/// Of a row and what SPIN takes at least with as many cores.
Ratios ratios_of(const Row& row, const std::vector<Row>& rows) {
  return {row.seconds / least_of_spin(rows, row.cores, &Row::seconds),
          row.cpu_seconds / least_of_spin(rows, row.cores, &Row::cpu_seconds),
          row.megabytes / cheapest_spin(rows, row.cores).megabytes,
          row.megabytes / least_of_spin(rows, row.cores, &Row::megabytes)};
}

void print_rows(const Size& size, const Measured& measured, const Streams& io) {
  const std::vector<Row>& rows = measured.rows;
  const Parameters& p = size.parameters;
  io.out << fmt::format(
      "{} (clients {}, ops {}, late {}, duplicates {}): {} states, counts of the exact runs {}; "
      "clients {}\n"
      "  {:<20} {:>5} {:>10} {:>7} {:>7} {:>8}   {:>6} {:>6} {:>6} {:>6}\n",
      size.model, p.clients, p.operations, p.limits.late, p.limits.duplicates, rows[0].states,
      counts_agree(rows) ? "agree" : "DIFFER", clients_text(size, measured), "", "cores", "states",
      "s", "cpu s", "MB", "time/", "cpu/", "mem/", "least/");
  for (const Row& row : rows) {
    const Ratios of = ratios_of(row, rows);
    io.out << fmt::format(
        "  {:<20} {:>5} {:>10} {:>7.2f} {:>7.2f} {:>8.1f}   {:>6.3f} {:>6.3f} {:>6.3f} {:>6.3f}\n",
        row.name, row.cores, row.states, row.seconds, row.cpu_seconds, row.megabytes, of.time,
        of.cpu, of.memory_of_cheapest, of.memory_of_least);
  }
  io.out << std::flush;
}

nlohmann::ordered_json to_json(const Size& size, const Measured& measured) {
  const std::vector<Row>& rows = measured.rows;
  auto runs = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const Ratios of = ratios_of(row, rows);
    runs.push_back({{"name", row.name},
                    {"command", row.command},
                    {"built_by", row.built_by},
                    {"cores", row.cores},
                    {"states", row.states},
                    {"seconds", row.seconds},
                    {"cpu_seconds", row.cpu_seconds},
                    {"megabytes", row.megabytes},
                    {"time_ratio", of.time},
                    {"cpu_ratio", of.cpu},
                    {"memory_ratio_of_cheapest", of.memory_of_cheapest},
                    {"memory_ratio_of_least", of.memory_of_least}});
  }
  return {{"model", size.model},
          {"clients", size.parameters.clients},
          {"ops", size.parameters.operations},
          {"duplicates", size.parameters.limits.duplicates},
          {"rounds", rows[0].runs.size()},
          {"states", rows[0].states},
          {"counts_agree", counts_agree(rows)},
          {"clients_are", clients_text(size, measured)},
          {"runs", runs}};
}

Result<Measured> measure(const BenchCommand& bench, const Size& size, const ScratchFolder& folder) {
  Measured measured;
  measured.rows = our_rows(size);
  PORTCULLIS_TRY(run_row(measured.rows[0], folder.path()));
  measured.rows[0].runs.clear();  // that one only said how large SPIN's tables should be
  PORTCULLIS_TRY_ASSIGN(std::vector<Row> spin,
                        spin_rows(size, measured.rows[0].states, folder.path()));
  for (Row& row : spin) measured.rows.push_back(std::move(row));
  // In turns: what else the machine does then weighs on all of them.
  for (unsigned round = 0; round < bench.rounds; ++round)
    for (Row& row : measured.rows) PORTCULLIS_TRY(run_row(row, folder.path()));
  for (Row& row : measured.rows) {
    row.seconds = median(row.runs, &Finished::seconds);
    row.cpu_seconds = median(row.runs, &Finished::cpu_seconds);
    row.megabytes = median(row.runs, &Finished::megabytes);
  }
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

namespace {

std::string names_of_models() {
  std::string names;
  for (const BenchModel& model : bench_models())
    names += (names.empty() ? "" : ", ") + std::string(model.model);
  return names;
}

}  // namespace

int run_bench(const BenchCommand& bench, const Streams& io) {
  const std::vector<Size> chosen = sizes(bench);
  if (chosen.empty() || bench.rounds < 1 || bench.rounds > 99)
    return refuse(io,
                  Error{Errc::InvalidArgument,
                        fmt::format("bench of model '{}' in {} rounds, accepted are {} and 1 to "
                                    "99 rounds",
                                    bench.model, bench.rounds, names_of_models())});
  const auto folder = ScratchFolder::create();
  if (!folder) return refuse(io, folder.error());
  auto json = nlohmann::ordered_json::array();
  bool agrees = true;
  if (!bench.is_json)
    io.out << fmt::format(
        "medians of {} rounds, in each of which every program runs once; ratios to the least that "
        "SPIN takes with as many cores,\nmem/ to the build of least processor time\n"
        "spin builds: gcc {}, and\n",
        bench.rounds, kCommonFlags);
  for (const Build& build : kBuilds)
    if (!bench.is_json) io.out << fmt::format("  {:<18} {}\n", build.name, build.flags);
  for (const Size& size : chosen) {
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
