// SPDX-License-Identifier: BSD-3-Clause
//
// Every program's command line: --help and --version are text, a mistake is one line.
#include "program/command_line.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

namespace portcullis::program {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using ::testing::StartsWith;

struct Parsed {
  Result<std::optional<std::string>> text;
  unsigned count = 0;
};

Parsed parse(std::vector<std::string> arguments) {
  CLI::App app("Counts.", "counter");
  Parsed parsed;
  app.add_option("--count", parsed.count, "how many")->check(CLI::Range(1U, 7U))->required();
  app.add_subcommand("twice", "counts twice");
  app.set_version_flag("--version", "counter 3");
  parsed.text = parse_arguments(app, std::move(arguments));
  return parsed;
}

TEST(CommandLine, WhatIsAccepted_IsTakenAndHasNoText) {
  const Parsed parsed = parse({"--count", "3"});
  EXPECT_EQ(parsed.text.value(), std::nullopt);
  EXPECT_EQ(parsed.count, 3U);
}

TEST(CommandLine, EmptyValue_IsNoneThatWasNotGiven) {
  CLI::App app("Counts.", "counter");
  std::string file;
  app.add_option("--file", file, "where to");
  CLI::App* const twice = app.add_subcommand("twice", "counts twice");
  twice->add_option("--file", file, "where to");
  EXPECT_THAT(parse_arguments(app, {"--file", ""}).error().text,
              StartsWith("--file: an empty value"));
  EXPECT_THAT(parse_arguments(app, {"twice", "--file", ""}).error().text,
              StartsWith("--file: an empty value"));
  EXPECT_TRUE(parse_arguments(app, {"--file", " "}));
}

/// The longest line, and those that begin with a blank in the column of an option's text.
TEST(CommandLine, HelpOfManyWords_GoesOnBelowItsText) {
  CLI::App app("Counts.", "counter");
  std::string many = "begins";
  for (int i = 0; i < 60; ++i) many += " word";
  std::string value;
  app.add_option("--count", value, many + " ends");
  app.add_option("--twenty-letters-in-it", value, many);
  app.description(many);
  app.footer("EXAMPLES\n  counter " + std::string(120, 'x') + "\n  " + many);
  const auto text = parse_arguments(app, {"--help"}).value().value();
  EXPECT_THAT(text, HasSubstr("--count TEXT                begins word"));
  EXPECT_THAT(text, HasSubstr("\n" + std::string(30, ' ') + "word word"));
  EXPECT_THAT(text, HasSubstr("word ends\n"));
  EXPECT_THAT(text, HasSubstr("--twenty-letters-in-it TEXT begins"));
  EXPECT_THAT(text, Not(HasSubstr("\n    word")));
  EXPECT_THAT(text, StartsWith("begins word"));
  EXPECT_THAT(text, HasSubstr("word\nword"));
  EXPECT_THAT(text, HasSubstr("\n  counter\n      " + std::string(120, 'x') + "\n"));
  EXPECT_THAT(text, HasSubstr("\n  begins word"));
  EXPECT_THAT(text, HasSubstr("\n      word word"));
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.find('x') == std::string::npos) longest = std::max(longest, line.size());
  EXPECT_LE(longest, 100U);
  EXPECT_GT(longest, 94U);
}

TEST(CommandLine, Help_IsTextWithTheProgramsName) {
  EXPECT_THAT(parse({"--help"}).text.value(), Optional(HasSubstr("Usage: counter ")));
}

TEST(CommandLine, HelpOfASubcommand_IsItsOwn) {
  EXPECT_THAT(parse({"twice", "--help"}).text.value(), Optional(StartsWith("counts twice")));
}

TEST(CommandLine, Version_IsALine) {
  EXPECT_THAT(parse({"--version"}).text.value(), Optional(std::string("counter 3\n")));
}

TEST(CommandLine, Mistakes_AreALineThatNamesThem) {
  for (const auto& [arguments, named] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--count", "8"}, "--count: Value 8 not in range 1 to 7"},
           {{"--count", "x"}, "x"},
           {{"--count", "3", "--size"}, "--size"},
           {{"--cuont", "3"}, "--cuont"},
           {{}, "--count is required"}}) {
    const Parsed parsed = parse(arguments);
    ASSERT_FALSE(parsed.text.has_value()) << named;
    EXPECT_THAT(parsed.text.error().text, HasSubstr(named));
    EXPECT_THAT(parsed.text.error().text, HasSubstr("--help"));
    EXPECT_THAT(parsed.text.error().text, Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace portcullis::program
