// SPDX-License-Identifier: BSD-3-Clause
//
// JSON with positions: the line of every value is its own, whatever stands behind it.
#include "base/json.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace portcullis {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Json, Values_KnowTheirLine) {
  const auto tree = parse_json("{\n\"a\": 1\n,\"b\": [\n2,\n  \"x\"\n],\n \"c\": true}\n", "f");
  ASSERT_TRUE(tree.has_value()) << tree.error().text;
  EXPECT_EQ(tree->line, 1u);
  EXPECT_EQ(tree->find("a")->line, 2u);
  EXPECT_EQ(tree->find("b")->line, 3u);
  EXPECT_EQ(tree->find("b")->items[0].line, 4u);
  EXPECT_EQ(tree->find("b")->items[1].line, 5u);
  EXPECT_EQ(tree->find("c")->line, 7u);
  EXPECT_EQ(tree->find("b")->items[0].number, 2);
  EXPECT_EQ(tree->find("none"), nullptr);
}

TEST(Json, BrokenText_NamesItsLine) {
  EXPECT_THAT(parse_json("{\n\"a\": 1,\n]", "x.json").error().text, StartsWith("x.json:3: "));
  EXPECT_THAT(parse_json("", "x.json").error().text, StartsWith("x.json:1: "));
  EXPECT_THAT(parse_json("{\"a\": 1} \n2", "x.json").error().text, StartsWith("x.json:2: "));
}

TEST(Json, TwiceTheSameKey_IsRefused) {
  EXPECT_EQ(parse_json("{\"a\": 1,\n\"a\": 2}", "x").error().text,
            "x:2: \"a\" stands twice in one object");
}

TEST(Json, NestingWithoutEnd_IsRefused) {
  EXPECT_THAT(parse_json(std::string(100'000, '['), "x").error().text, HasSubstr("nested deeper"));
}

TEST(Json, KeyTwiceInALargeTable_IsRefused) {
  std::string text = "{\"x\": {\"k0\": 0}, \"t\": {";
  for (int i = 0; i < 200; ++i) text += "\"k" + std::to_string(i) + "\": {\"k0\": 1},\n";
  EXPECT_TRUE(parse_json(text + "\"k200\": 0}}", "f").has_value());
  EXPECT_THAT(parse_json(text + "\"k150\": 0}}", "f").error().text,
              HasSubstr("\"k150\" stands twice in one object"));
}

TEST(Json, NulsAfterTheEnd_AreNoEnd) {
  const std::string text("{\"a\": 1}\n\0\0 {", 13);
  EXPECT_EQ(parse_json(text, "f").error().text, "f:2: a NUL byte; JSON expected");
}

TEST(Json, NumberBeyondADouble_IsRefusedWithItsField) {
  EXPECT_EQ(parse_json("{\"a\": {}, \"links\": [{},\n{\"x\": 1, \"capacity\": -1e400}]}", "f")
                .error()
                .text,
            "f:2: links[1].capacity: -1e400; a number up to 1.8e+308 is accepted");
  EXPECT_THAT(parse_json("[1e999]", "x").error().text, StartsWith("x:1: [0]: 1e999; "));
  EXPECT_THAT(parse_json("1e999", "x").error().text, StartsWith("x:1: 1e999; "));
}

TEST(Json, WholeNumbers_KeepAll64Bits) {
  const auto tree = parse_json("[18446744073709551615, 9007199254740993, -1, 1.5]", "x");
  ASSERT_TRUE(tree.has_value()) << tree.error().text;
  EXPECT_EQ(tree->items[0].whole, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(tree->items[1].whole, 9007199254740993u);  // 2^53 + 1, which no double is
  EXPECT_EQ(tree->items[2].whole, std::nullopt);
  EXPECT_EQ(tree->items[3].whole, std::nullopt);
}

/// As JSON Schema has it: any number without a fraction is an integer.
TEST(Json, NumberWithoutAFraction_IsWholeHoweverItIsWritten) {
  const auto tree = parse_json("[8.0, -0, -0.0, 8e2, 1e16, -8.0]", "x");
  ASSERT_TRUE(tree.has_value()) << tree.error().text;
  EXPECT_EQ(tree->items[0].whole, 8U);
  EXPECT_EQ(tree->items[1].whole, 0U);
  EXPECT_EQ(tree->items[2].whole, 0U);
  EXPECT_EQ(tree->items[3].whole, 800U);
  EXPECT_EQ(tree->items[4].whole, std::nullopt);  // beyond 2^53 a double leaves some out
  EXPECT_EQ(tree->items[5].whole, std::nullopt);
}

TEST(JsonCursor, WrongKind_NamesFieldAndBothKinds) {
  const auto tree = parse_json("{\"a\": [\n{\"b\": \"x\"}]}", "f");
  ASSERT_TRUE(tree.has_value());
  const JsonCursor b = JsonCursor(*tree, "f").at("a").item(0).at("b");
  EXPECT_EQ(b.number().error().text, "f:2: a[0].b: a number expected, a string found");
}

TEST(JsonCursor, Refusal_ShowsTheValue) {
  const auto tree = parse_json("[\"x\", 9007199254740993, -1.5, null, true, false]", "f");
  ASSERT_TRUE(tree.has_value());
  const JsonCursor list(*tree, "f");
  EXPECT_EQ(list.item(0).refuse("a or b").value().text, "f:1: [0]: \"x\"; a or b is accepted");
  EXPECT_EQ(list.item(1).refuse("1").value().text, "f:1: [1]: 9007199254740993; 1 is accepted");
  EXPECT_EQ(list.item(2).refuse("1").value().text, "f:1: [2]: -1.5; 1 is accepted");
  EXPECT_EQ(list.item(3).refuse("1").value().text, "f:1: [3]: null; 1 is accepted");
  EXPECT_EQ(list.item(4).refuse("1").value().text, "f:1: [4]: true; 1 is accepted");
  EXPECT_EQ(list.item(5).refuse("1").value().text, "f:1: [5]: false; 1 is accepted");
}

TEST(JsonCursor, ControlCharactersOfAFile_StayOutOfMessages) {
  const auto tree = parse_json("{\"a\\nb\": \"x\\u001b[2J\"}", "f");
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(JsonCursor(*tree, "f").item(0).refuse("y").value().text,
            "f:1: a b: \"x [2J\"; y is accepted");
}

TEST(JsonCursor, UnknownField_NamesWhatIsAccepted) {
  const auto tree = parse_json("{\"a\": 1,\n \"bb\": 1}", "f");
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(JsonCursor(*tree, "f").expect_object("a, b").error().text,
            "f:2: bb: no such field; accepted are a, b");
}

TEST(JsonCursor, Count_IsWholeAndInRange) {
  const auto tree = parse_json("[3, 3.5, -1, 9]", "f");
  ASSERT_TRUE(tree.has_value());
  const JsonCursor list(*tree, "f");
  EXPECT_EQ(list.item(0).count(8), 3u);
  EXPECT_EQ(list.item(1).count(8).error().text,
            "f:1: [1]: 3.5; a whole number from 0 to 8 is accepted");
  EXPECT_FALSE(list.item(2).count(8).has_value());
  EXPECT_FALSE(list.item(3).count(8).has_value());
}

}  // namespace
}  // namespace portcullis
