// SPDX-License-Identifier: BSD-3-Clause
//
// main() of the benchmarks in this folder: Google Benchmark's own, with the manners of every other
// program here.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "program/standard_streams.hpp"

int main(int argc, char** argv) {
  const auto run = [&] {
    // Initialize() would print it too, and then exit() whatever became of it.
    if (std::count(argv + 1, argv + argc, std::string_view("--help")) != 0) {
      benchmark::PrintDefaultHelp();
      return 0;
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  };
  return portcullis::program::run_main(std::filesystem::path(argv[0]).filename().string(), run);
}
