// SPDX-License-Identifier: BSD-3-Clause
//
// Every program's command line: --help and --version are text, a mistake is one line.
#include "program/command_line.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

namespace portcullis::program {
namespace {

using ::testing::ContainsRegex;
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

TEST(CommandLine, ListWithAnEmptyPlace_IsNoShorterList) {
  CLI::App app("Counts.", "counter");
  std::vector<int> rests;
  app.add_option("--rests", rests, "how long")->delimiter(',');
  CLI::App* const twice = app.add_subcommand("twice", "counts twice");
  twice->add_option("--again", rests, "how long")->delimiter('+');
  EXPECT_THAT(parse_arguments(app, {"--rests=1,,2"}).error().text,
              StartsWith("--rests: 1,,2: an empty place in a list; "));
  EXPECT_THAT(parse_arguments(app, {"--rests", "1,2,"}).error().text,
              StartsWith("--rests: 1,2,: an empty place in a list; "));
  EXPECT_THAT(parse_arguments(app, {"twice", "--again", "+1"}).error().text,
              StartsWith("--again: +1: an empty place in a list; "));
  EXPECT_TRUE(parse_arguments(app, {"--rests", "1,2"}));
}

TEST(CommandLine, FlagWithAValue_IsRefusedWithWhatItWasGiven) {
  CLI::App app("Counts.", "counter");
  bool all = false;
  app.add_flag("--all", all, "all of them");
  CLI::App* const twice = app.add_subcommand("twice", "counts twice");
  twice->add_flag("--loud", all, "aloud");
  EXPECT_THAT(parse_arguments(app, {"--all=3"}).error().text,
              StartsWith("--all=3: --all takes no value; "));
  EXPECT_THAT(parse_arguments(app, {"twice", "--loud=no"}).error().text,
              StartsWith("--loud=no: --loud takes no value; "));
  EXPECT_FALSE(all);
  EXPECT_TRUE(parse_arguments(app, {"--all"}));
  EXPECT_TRUE(all);
}

/// CLI11 takes -1 and what 64 bits do not hold for the most that they hold.
TEST(CommandLine, NumberOutOfRange_IsNoOtherNumber) {
  CLI::App app("Counts.", "counter");
  std::uint64_t count = 0;
  int below = 0;
  app.add_option("--count", count, "how many")->type_name("N");
  app.add_option("--below", below, "how far");
  std::string file;
  app.add_option("--file", file, "where to");
  for (const char* const value : {"-1", "18446744073709551616", "0x10000000000000000", " -1"})
    EXPECT_THAT(parse_arguments(app, {"--count", value}).error().text,
                HasSubstr("--count: " + std::string(value) + ": a number from 0 to"));
  EXPECT_TRUE(parse_arguments(app, {"--count", "18446744073709551615"}));
  EXPECT_TRUE(parse_arguments(app, {"--count", "0x10", "--below", "-1", "--file", "-1"}));
  EXPECT_EQ(count, 16U);
  EXPECT_EQ(below, -1);
  EXPECT_EQ(file, "-1");
}

/// CLI11 takes 010 for 8, as C does.
TEST(CommandLine, NumberWithALeadingZero_IsNoOctalOne) {
  CLI::App app("Counts.", "counter");
  std::uint64_t count = 0;
  int below = 0;
  std::vector<unsigned> sizes;
  unsigned level = 0;
  app.add_option("--count", count, "how many")->type_name("N")->check(CLI::Range(0U, 5000U));
  app.add_option("--below", below, "how far");
  app.add_option("--sizes", sizes, "of each")->type_name("LIST")->delimiter(',');
  app.add_option("--level", level, "how high")->type_name("0-7")->check(CLI::Range(0U, 7U));
  for (const auto& [option, given, value] :
       std::vector<std::array<std::string, 3>>{{"--count", "010", "010"},
                                               {"--count", "08", "08"},
                                               {"--count", "00", "00"},
                                               {"--count", " 010", " 010"},
                                               {"--count", "0777777", "0777777"},
                                               {"--below", "-010", "-010"},
                                               {"--sizes", "1,064", "064"},
                                               {"--level", "010", "010"}})
    EXPECT_THAT(
        parse_arguments(app, {option, given}).error().text,
        StartsWith(option + ": " + value + ": a decimal number without a leading zero, or 0x"));
  EXPECT_TRUE(parse_arguments(
      app, {"--count", "0", "--below", "-0", "--sizes", "0,0x0a,10", "--level", "0x07"}));
  EXPECT_EQ(sizes, (std::vector<unsigned>{0, 10, 10}));
  EXPECT_EQ(level, 7U);
}

TEST(CommandLine, TextAndFractions_MayBeginWithZeros) {
  CLI::App app("Counts.", "counter");
  std::string file;
  std::string text;
  double share = 0;
  app.add_option("--file", file, "where to")->type_name("FILE");
  app.add_option("--text", text, "what");
  app.add_option("--share", share, "of it");
  EXPECT_TRUE(parse_arguments(app, {"--file", "007", "--text", "010", "--share", "010"}));
  EXPECT_EQ(file + text, "007010");
  EXPECT_EQ(share, 10);
}

TEST(CommandLine, NotANumber_IsInNoRange) {
  CLI::App app("Waits.", "waiter");
  double time = 0;
  double limit = 0;
  app.add_option("--time", time, "how long")->check(CLI::Range(0.0, 10.0));
  app.add_option("--limit", limit, "at most")->type_name("MS")->check(CLI::Range(0.0, 10.0));
  app.add_option("--size", limit, "above")
      ->type_name("KB")
      ->check(CLI::Range(50.0, 90.0, "50 to 90"));
  for (const char* option : {"--time", "--limit", "--size"})
    for (const char* value : {"nan", "NaN", "-nan"})
      EXPECT_THAT(parse_arguments(app, {option, value}).error().text,
                  StartsWith(std::string(option) + ": " + value + ": a number is accepted"));
  EXPECT_TRUE(parse_arguments(app, {"--time", "2.5", "--limit", "0"}));
}

TEST(CommandLine, NumberWithALeadingZero_IsToldBeforeWhatIsMissing) {
  CLI::App app("Counts.", "counter");
  unsigned count = 0;
  std::string file;
  app.add_option("--file", file, "where to")->required();
  CLI::App* const twice = app.add_subcommand("twice", "counts twice");
  twice->add_option("--count", count, "how many");
  EXPECT_THAT(parse_arguments(app, {"twice", "--count", "010"}).error().text,
              StartsWith("--count: 010: "));
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

/// Some 80 columns of text, in words of one letter.
std::string of_words(char letter) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::string(text.empty() ? "" : " ") + letter;
  return text;
}

TEST(CommandLine, HelpInLinesThatAreTooLong_HasNoWordOnALineOfItsOwn) {
  CLI::App app("Counts.", "counter");
  std::string value;
  app.add_option("--count", value, of_words('a') + "\n" + of_words('b') + "\n" + of_words('c'));
  app.add_option("--kinds", value, of_words('d') + ":\nlist");
  app.footer("TERMS\n  -t" + std::string(26, ' ') + of_words('e') + "\n  -u  f");
  const auto text = parse_arguments(app, {"--help"}).value().value();
  const std::string below = "\n" + std::string(30, ' ');
  EXPECT_THAT(text, ContainsRegex("a a" + below + "a a.* a b b"));
  EXPECT_THAT(text, ContainsRegex("b b" + below + "b b.* b c c"));
  EXPECT_THAT(text, ContainsRegex("d:" + below + "list\n"));
  EXPECT_THAT(text, ContainsRegex(" e\n  -u  f\n"));
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
