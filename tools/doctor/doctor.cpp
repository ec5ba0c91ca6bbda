// SPDX-License-Identifier: BSD-3-Clause
//
// doctor: what is missing on this machine before --device=BDF can work.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "tools/doctor/function_checks.hpp"
#include "tools/doctor/program.hpp"

namespace {

namespace doctor = portcullis::tools::doctor;

doctor::Findings open_function(const std::string& bdf, bool hugepages) {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "doctor: opening {} ..\n", bdf);
  return doctor::function_findings(bdf, hugepages);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const doctor::World world{[](const std::filesystem::path& root) { return doctor::Machine(root); },
                            &open_function};
  const doctor::Outcome outcome = doctor::run(arguments, world);
  static_cast<void>(std::fwrite(outcome.err.data(), 1, outcome.err.size(), stderr));
  if (std::fwrite(outcome.out.data(), 1, outcome.out.size(), stdout) == outcome.out.size() &&
      std::fflush(stdout) == 0)
    return outcome.status;
  fmt::print(stderr, "doctor: standard output refused what was written\n");
  return doctor::kExitUsage;
}
