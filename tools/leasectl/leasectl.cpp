// SPDX-License-Identifier: BSD-3-Clause
//
// leasectl: what a person, or a script, says to leased.
#include <unistd.h>

#include <atomic>
#include <iostream>

#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "tools/leasectl/commands.hpp"

namespace {

namespace program = portcullis::program;
namespace leasectl = portcullis::tools::leasectl;

std::atomic<bool> stop_asked{false};

int refuse(const portcullis::Error& error) {
  constexpr int kNotAsked = 2;
  std::cerr << "leasectl: " << error.text << '\n';
  return kNotAsked;
}

int body(int argc, char** argv) {
  const auto options = leasectl::parse_options(argc, argv);
  if (!options) return refuse(options.error());
  if (options->text) {
    std::cout << *options->text;
    return 0;
  }
  const auto status = leasectl::run(
      *options,
      {.stop = [] { return stop_asked.load(); },
       .print = [](const std::string& line) { std::cout << line << std::endl; },
       .is_terminal = ::isatty(STDOUT_FILENO) != 0,
       .warn = [](const std::string& line) { std::cerr << "leasectl: " << line << '\n'; }});
  return status ? *status : refuse(status.error());
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::uint64_t kMomentMs = 1'000;  // in which what is known is printed
  program::heed_stop_signals_once_a_moment(stop_asked, kMomentMs);
  return program::run_main(
      "leasectl", [&] { return body(argc, argv); }, &stop_asked);
}
