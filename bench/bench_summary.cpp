// SPDX-License-Identifier: BSD-3-Clause
//
// How ./dev bench ends: reads what the programs of a run left and says in ten lines at most what it
// comes to. A program that did not end well left nothing that is read: what lies where its file
// would be is of an earlier run.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <CLI/CLI.hpp>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/common/conclusion.hpp"
#include "program/command_line.hpp"

namespace portcullis::bench {
namespace {

constexpr const char* kFooter = R"(
Each RUN is a program, the status that it ended with and the JSON that it wrote:
  bench_summary --where=results floor_bench:0:results/floor_bench.json

exit status: 0 told, 1 bad arguments, 2 bytes changed after an outcome, 3 told, but a program or a
series has no result)";

struct Options {
  std::vector<std::string> runs;
  std::string where;
};

Result<ResultFile> read_results(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(Errc::System, fmt::format("{}: {}", path, std::strerror(errno)));
  std::ostringstream text;
  if (!(text << file.rdbuf())) return fail(Errc::System, path + ": it has nothing to read");
  return parse_results(text.str(), path);
}

/// "floor_bench:0:results/floor_bench.json"
Result<BenchRun> read_run(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first + 1);
  int status = -1;
  if (first != std::string::npos && second != std::string::npos) {
    const char* end = text.data() + second;
    const auto parsed = std::from_chars(text.data() + first + 1, end, status);
    if (parsed.ptr != end || parsed.ec != std::errc{}) status = -1;
  }
  if (first == 0 || status < 0 || status > 255 || second + 1 == text.size())
    return fail(
        Errc::InvalidArgument,
        fmt::format("run \"{}\"; PROGRAM:STATUS:FILE is accepted, STATUS from 0 to 255", text));
  BenchRun run{text.substr(0, first), status, fail(Errc::NotFound, "it left no results")};
  if (leaves_results(status)) run.file = read_results(text.substr(second + 1));
  return run;
}

Result<int> summarise(int argc, const char* const* argv) {
  Options options;
  CLI::App app("What a run of the bench programs found, in ten lines at most.", "bench_summary");
  app.footer(kFooter);
  app.add_option("RUN", options.runs, "PROGRAM:STATUS:FILE, in the order in which they ran")
      ->required();
  app.add_option("--where", options.where, "the place of the files, as it is told")->required();
  PORTCULLIS_TRY_ASSIGN(const auto text, program::parse_arguments(app, {argv + 1, argv + argc}));
  if (text) {
    fmt::print("{}", *text);
    return 0;
  }
  std::vector<BenchRun> runs;
  for (const std::string& each : options.runs) {
    PORTCULLIS_TRY_ASSIGN(auto run, read_run(each));
    runs.push_back(std::move(run));
  }
  const Conclusion conclusion = conclude(runs, options.where);
  for (const std::string& line : conclusion.lines) fmt::print("{}\n", line);
  if (std::fflush(stdout) != 0)
    return fail(Errc::System, fmt::format("standard output: {}", std::strerror(errno)));
  return conclusion.status;
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  const auto status = portcullis::bench::summarise(argc, argv);
  if (status) return *status;
  fmt::print(stderr, "bench_summary: {}\n", status.error().text);
  return 1;
}
