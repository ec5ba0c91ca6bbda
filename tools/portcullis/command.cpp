// SPDX-License-Identifier: BSD-3-Clause
#include "tools/portcullis/command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "program/standard_streams.hpp"
#include "program/version.hpp"

namespace portcullis::tools::command {
namespace {

constexpr std::string_view kHelp =
    R"(usage: portcullis PROGRAM [ARGUMENT ..]
       portcullis --help | --version

Lists the programs of Portcullis, and runs them: `portcullis leasectl status` is `leasectl status`.
PROGRAM --help says what one takes, and so does its manual page.

programs:
{}
options:
  --version   prints which build it is
  -h, --help  prints this

exit status: that of the program; 126 it could not be run, 127 it is not installed, 2 bad arguments
)";

const Program* find(std::string_view name) noexcept {
  const auto known = programs();
  const auto found = std::ranges::find(known, name, &Program::name);
  return found == known.end() ? nullptr : &*found;
}

std::string help() {
  std::string list;
  for (const Program& program : programs())
    list += fmt::format("  {:<15} {}\n", program.name, program.summary);
  return fmt::format(kHelp, list) + std::string(program::kExitHelp);
}

}  // namespace

Outcome answer(std::span<const std::string_view> arguments) {
  if (arguments.empty()) return {0, help(), {}};
  const std::string_view first = arguments.front();
  if (first == "--help" || first == "-h") return {0, help(), {}};
  if (first == "--version") return {0, program::version_text("portcullis") + "\n", {}};
  return {
      kExitUsage,
      {},
      fmt::format("portcullis: no program \"{}\"; --help lists them, --version is accepted too\n",
                  first)};
}

bool names_program(std::span<const std::string_view> arguments) noexcept {
  return !arguments.empty() && find(arguments.front()) != nullptr;
}

Outcome become(const std::filesystem::path& folder, char** argv) {
  const std::string name = argv[1];
  const std::string beside = folder / name;
  ::execv(beside.c_str(), argv + 1);
  if (errno == ENOENT) ::execvp(name.c_str(), argv + 1);
  const int error = errno;
  if (error == ENOENT)
    return {kExitNotInstalled,
            {},
            fmt::format("portcullis: {} is not installed; looked in {} and PATH\n", name,
                        folder.string())};
  return {kExitNotRun,
          {},
          fmt::format("portcullis: {}: {}\n", name, std::generic_category().message(error))};
}

}  // namespace portcullis::tools::command
