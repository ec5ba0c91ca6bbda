// SPDX-License-Identifier: BSD-3-Clause
//
// portcullis: the programs of Portcullis in one list, and one of them run.
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>
#include <vector>

#include "program/standard_streams.hpp"
#include "tools/portcullis/command.hpp"

namespace {

namespace command = portcullis::tools::command;

/// Where this program lies, however it was called; empty without /proc.
std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  // Before the standard streams are seen to: the program gets them as they are, closed ones too.
  const bool is_program = command::names_program(arguments);
  const command::Outcome outcome =
      is_program ? command::become(own_folder(), argv) : command::answer(arguments);
  return portcullis::program::run_main("portcullis", [&] {
    std::cerr << outcome.err;
    std::cout << outcome.out;
    return outcome.status;
  });
}
