// SPDX-License-Identifier: BSD-3-Clause
//
// What is refused of an argument, and that the refusal shows nothing of it.
#include "program/arguments.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace portcullis::program {
namespace {

std::string line_of(const std::vector<std::string>& arguments) {
  std::string line = "program";
  line += '\0';
  for (const std::string& argument : arguments) line += argument + '\0';
  return wrong_argument(line);
}

TEST(WrongArgument, WordsOfEachKind_AreTaken) {
  EXPECT_EQ(line_of({}), "");
  EXPECT_EQ(line_of({"", "--option=a b", "\xc3\xa9", "\xff", ""}), "");
  EXPECT_EQ(line_of({std::string(kMostArgumentBytes, 'x')}), "");
  EXPECT_EQ(wrong_argument(""), "");
  EXPECT_EQ(wrong_argument("program"), "");
}

TEST(WrongArgument, TooLongOne_IsToldByItsNumber) {
  EXPECT_EQ(line_of({"a", std::string(kMostArgumentBytes + 1, 'x')}),
            "argument 2 has 16385 bytes; at most 16384 are accepted");
}

TEST(WrongArgument, ControlCharacter_IsToldAndNotShown) {
  EXPECT_EQ(line_of({"a", "b\x1b[2J", "\n"}),
            "argument 2 has the control character 0x1b; none is accepted");
  EXPECT_EQ(line_of({"\n"}), "argument 1 has the control character 0x0a; none is accepted");
  EXPECT_EQ(line_of({"x\x7f"}), "argument 1 has the control character 0x7f; none is accepted");
  EXPECT_EQ(line_of({"", "", "\t"}), "argument 3 has the control character 0x09; none is accepted");
}

}  // namespace
}  // namespace portcullis::program
