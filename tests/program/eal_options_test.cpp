// SPDX-License-Identifier: BSD-3-Clause
//
// Command lines of programs on the EAL: what is the EAL's, ours and another parser's.
#include "program/eal_options.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace portcullis::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<CommandLine> split(const std::vector<const char*>& words) {
  return split_command_line(static_cast<int>(words.size()), words.data(),
                            {"--device", "--benchmark_"});
}

TEST(SplitCommandLine, ArgumentsBeforeTheDashes_AreTheEals) {
  const auto line = split({"prog", "-l", "2-3", "--", "--device=model", "--", "x"});
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(line->eal, ElementsAre("prog", "-l", "2-3"));
  EXPECT_THAT(line->own, ElementsAre("prog", "--device=model", "--", "x"));
}

TEST(SplitCommandLine, WithoutDashes_NothingIsOurs) {
  const auto line = split({"prog", "-l", "2"});
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(line->eal, ElementsAre("prog", "-l", "2"));
  EXPECT_THAT(line->own, ElementsAre("prog"));
}

TEST(SplitCommandLine, WithNothingAtAll_BothPartsHaveTheProgramsName) {
  const auto line = split({"prog"});
  ASSERT_TRUE(line.has_value());
  EXPECT_THAT(line->eal, ElementsAre("prog"));
  EXPECT_THAT(line->own, ElementsAre("prog"));
}

TEST(SplitCommandLine, OurArgumentBeforeTheDashes_IsRefusedWithWhatToWrite) {
  const auto refused = split({"prog", "--benchmark_filter=x", "--", "--device=model"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
  EXPECT_EQ(refused.error().text,
            "--benchmark_filter=x must come after --, before which only EAL arguments stand; "
            "write: prog [EAL arguments] -- --benchmark_filter=x");
}

Result<EalOptions> parse(const std::vector<const char*>& words,
                         std::string_view foreign_prefix = {}) {
  CLI::App app{"A program.", "prog"};
  std::string device;
  app.add_option("--device", device);
  return parse_behind_eal(app, static_cast<int>(words.size()), words.data(), foreign_prefix);
}

TEST(ParseBehindEal, WordsOfAnotherParser_AreHandedOnInTheirOrder) {
  const auto options = parse({"prog", "-l", "2", "--", "--b_x", "--device=a", "--b_y=1"}, "--b_");
  ASSERT_TRUE(options.has_value());
  EXPECT_THAT(options->eal, ElementsAre("prog", "-l", "2"));
  EXPECT_THAT(options->foreign, ElementsAre("--b_x", "--b_y=1"));
  EXPECT_FALSE(options->text.has_value());
}

TEST(ParseBehindEal, WordOfAnotherParserBeforeTheDashes_IsRefused) {
  EXPECT_THAT(parse({"prog", "--b_x"}, "--b_").error().text, HasSubstr("--b_x must come after --"));
}

TEST(ParseBehindEal, HelpOnEitherSide_IsTextInsteadOfAnything) {
  EXPECT_THAT(parse({"prog", "--help"}).value().text, ::testing::Optional(HasSubstr("--device")));
  EXPECT_THAT(parse({"prog", "--", "--help"}).value().text,
              ::testing::Optional(HasSubstr("--device")));
}

TEST(ParseBehindEal, WithoutAnotherParser_NothingIsHandedOn) {
  EXPECT_THAT(parse({"prog", "--", "--device=a"}).value().foreign, IsEmpty());
}

}  // namespace
}  // namespace portcullis::program
