// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/input.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "program/command_line.hpp"
#include "program/input_file.hpp"
#include "program/output_file.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

std::string name_of(const std::string& input) { return input == "-" ? "/dev/stdin" : input; }

}  // namespace

std::optional<int> parse(CLI::App& app, Arguments arguments, Console& console) {
  const auto text = program::parse_arguments(app, {arguments.begin(), arguments.end()});
  if (!text) return refuse(console, app.get_name(), text.error());
  if (!*text) return std::nullopt;
  console.out << **text;
  return kExitDone;
}

int refuse(Console& console, std::string_view command, const Error& error) {
  fmt::print(console.err, "{}: {}\n", command, error.text);
  return kExitBad;
}

Result<std::string> read_file(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 34U;
  return program::read_input(name_of(path), kMostBytes);
}

Result<void> check_outputs(const std::vector<program::WrittenFile>& files,
                           const std::vector<std::string>& inputs) {
  PORTCULLIS_TRY(program::check_outputs(files, inputs));
  for (const program::WrittenFile& output : files)
    if (!output.file.empty())
      PORTCULLIS_TRY(
          program::named(std::string(output.option), program::check_output(output.file)));
  return {};
}

Result<std::vector<double>> parse_times(std::string_view option, const std::string& text) {
  std::vector<double> times;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value) ||
        value < 0)
      return fail(
          Errc::InvalidArgument,
          fmt::format("{} \"{}\"; times from 0 on with commas between are accepted", option, text));
    times.push_back(value);
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  std::ranges::sort(times);
  return times;
}

}  // namespace portcullis::tools::pfc_deadlock
