// SPDX-License-Identifier: BSD-3-Clause
#include "program/command_line.hpp"

#include <algorithm>
#include <utility>

#include "program/version.hpp"

namespace portcullis::program {
namespace {

tl::unexpected<Error> refuse(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  return fail(Errc::InvalidArgument, text + "; --help lists what is accepted");
}

/// Where a line goes on below itself: at its text, behind a term, or a bit further in.
std::size_t goes_on_at(std::string_view line) {
  constexpr std::size_t kFurther = 4;
  constexpr std::size_t kColumn = 30;  // where CLI11 begins the text of an option, after one blank
  const std::size_t term = line.find_first_not_of(' ');
  if (line[term] == '-' && line[kColumn - 1] == ' ' && line[kColumn] != ' ') return kColumn;
  const std::size_t text = line.find_first_not_of(' ', line.find("  ", term));
  if (text <= kColumn) return text;
  return term == 0 || term > kFurther ? term : term + kFurther;
}

/// CLI11 leaves it to the terminal to break lines, in the middle of words.
std::string fitted(std::string_view text) {
  constexpr std::size_t kColumns = 100;
  std::string fits;
  while (!text.empty()) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    while (line.size() > kColumns) {
      const std::size_t below = goes_on_at(line);
      const std::size_t blank = line.rfind(' ', kColumns);
      if (blank == std::string::npos || blank <= below) break;  // one word
      fits += line.substr(0, line.find_last_not_of(' ', blank) + 1) + "\n";
      line = std::string(below, ' ') + line.substr(blank + 1);
    }
    fits += line + "\n";
  }
  return fits;
}

/// An option that was given nothing would be taken for one that was not given.
const CLI::Option* given_nothing(const CLI::App& app) {
  for (const CLI::Option* const option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty() && option->get_expected_max() > 0) return option;
  for (const CLI::App* const command : app.get_subcommands())
    if (const CLI::Option* const option = given_nothing(*command)) return option;
  return nullptr;
}

}  // namespace

Result<std::optional<std::string>> parse_arguments(CLI::App& app,
                                                   std::vector<std::string> arguments) {
  answer_version(app);
  std::ranges::reverse(arguments);  // CLI11 takes the last argument first
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return fitted(app.help());
  } catch (const CLI::CallForVersion& version) {
    return std::string(version.what()) + "\n";
  } catch (const CLI::RequiredError& error) {
    // What is missing is told first, though it may be what was misspelt.
    const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
    return refuse(unknown.empty() ? error.what()
                                  : "The following argument was not expected: " + unknown.front());
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  if (const CLI::Option* const option = given_nothing(app))
    return refuse(option->get_name() + ": an empty value");
  return std::nullopt;
}

}  // namespace portcullis::program
