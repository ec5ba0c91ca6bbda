// SPDX-License-Identifier: BSD-3-Clause
//
// main() of the benchmarks in this folder: Google Benchmark's own, with the manners of every other
// program here.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "tools/standard_streams.hpp"

int main(int argc, char** argv) {
  const auto run = [&] {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  };
  return portcullis::tools::run_main(std::filesystem::path(argv[0]).filename().string(), run);
}
