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

}  // namespace

Result<std::optional<std::string>> parse_arguments(CLI::App& app,
                                                   std::vector<std::string> arguments) {
  answer_version(app);
  std::ranges::reverse(arguments);  // CLI11 takes the last argument first
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return app.help();
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
  return std::nullopt;
}

}  // namespace portcullis::program
