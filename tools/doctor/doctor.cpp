// SPDX-License-Identifier: BSD-3-Clause
//
// doctor: what is missing on this machine before --device=BDF can work.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string_view>
#include <vector>

#include "program/standard_streams.hpp"
#include "tools/doctor/function_checks.hpp"
#include "tools/doctor/kept_checks.hpp"
#include "tools/doctor/program.hpp"

namespace {

namespace doctor = portcullis::tools::doctor;

doctor::Findings open_function(const std::string& bdf, bool hugepages) {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "doctor: opening {} ..\n", bdf);
  return doctor::function_findings(bdf, hugepages);
}

doctor::Findings open_kept_nic(const std::string& name) { return doctor::devx_findings(name); }

int examine(const std::vector<std::string_view>& arguments) {
  const doctor::World world{[](const std::filesystem::path& root) { return doctor::Machine(root); },
                            &open_function, &open_kept_nic};
  const doctor::Outcome outcome = doctor::run(arguments, world);
  std::cerr << outcome.err;
  std::cout << outcome.out;
  return outcome.status;
}

}  // namespace

int main(int argc, char** argv) {
  return portcullis::program::run_main("doctor", [&] { return examine({argv + 1, argv + argc}); });
}
