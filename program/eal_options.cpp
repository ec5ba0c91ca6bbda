// SPDX-License-Identifier: BSD-3-Clause
#include "program/eal_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "program/command_line.hpp"
#include "program/version.hpp"

namespace portcullis::program {
namespace {

/// The words that tell one of our options where it stands before `--`.
std::vector<std::string> own_prefixes(const CLI::App& app, std::string_view foreign_prefix) {
  std::vector<std::string> prefixes;
  if (!foreign_prefix.empty()) prefixes.emplace_back(foreign_prefix);
  for (const CLI::Option* option : app.get_options())
    if (option != app.get_help_ptr() && option != app.get_version_ptr())
      prefixes.push_back(option->get_name());
  return prefixes;
}

/// --help and --version are answered on either side of `--`.
bool asks_for_text(const std::string& word) {
  return word == "--help" || word == "-h" || word == "--version";
}

}  // namespace

Result<CommandLine> split_command_line(int argc, const char* const* argv,
                                       const std::vector<std::string>& own_prefixes) {
  const std::vector<std::string> all(argv, argv + argc);
  const auto separator = std::find(all.begin(), all.end(), "--");
  CommandLine line;
  line.eal.assign(all.begin(), separator);
  line.own.assign(1, all.empty() ? std::string() : all.front());
  if (separator != all.end()) line.own.insert(line.own.end(), separator + 1, all.end());
  for (const std::string& argument : line.eal) {
    for (const std::string& prefix : own_prefixes) {
      if (argument.compare(0, prefix.size(), prefix) != 0) continue;
      return fail(Errc::InvalidArgument,
                  fmt::format("{0} must come after --, before which only EAL arguments stand; "
                              "write: {1} [EAL arguments] -- {0}",
                              argument, line.own.front()));
    }
  }
  return line;
}

Result<EalOptions> parse_behind_eal(CLI::App& app, int argc, const char* const* argv,
                                    std::string_view foreign_prefix) {
  answer_version(app);
  PORTCULLIS_TRY_ASSIGN(auto parts,
                        split_command_line(argc, argv, own_prefixes(app, foreign_prefix)));
  EalOptions options;
  std::vector<std::string> ours;
  for (const std::string& word : std::span(parts.own).subspan(1)) {
    const bool is_foreign = !foreign_prefix.empty() && word.starts_with(foreign_prefix);
    (is_foreign ? options.foreign : ours).push_back(word);
  }
  for (const std::string& word : parts.eal)
    if (asks_for_text(word)) ours = {word};
  PORTCULLIS_TRY_ASSIGN(options.text, parse_arguments(app, std::move(ours)));
  options.eal = std::move(parts.eal);
  return options;
}

}  // namespace portcullis::program
