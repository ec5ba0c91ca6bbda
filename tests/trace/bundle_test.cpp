// SPDX-License-Identifier: BSD-3-Clause
//
// A bundle comes back as it was packed, and whatever is no bundle is one line.
#include "trace/bundle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace portcullis::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Bundle two_files() {
  return {{{"facts.json", "{}\n"}, {"commands.trace", std::string(100'000, 'x')}}};
}

TEST(Bundle, Packed_ComesBackWhole) {
  const auto bytes = pack(two_files()).value();
  EXPECT_LT(bytes.size(), 2'000u);
  const auto back = unpack(bytes, "x").value();
  ASSERT_EQ(back.files.size(), 2u);
  EXPECT_EQ(back.find("facts.json")->text, "{}\n");
  EXPECT_EQ(back.find("commands.trace")->text, std::string(100'000, 'x'));
  EXPECT_EQ(back.find("facts"), nullptr);
  EXPECT_EQ(pack(two_files()).value(), bytes);
}

TEST(Bundle, NameWithAFolder_IsRefused) {
  const auto refused = unpack(pack({{{"../facts.json", "{}"}}}).value(), "x.tar.zst");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, AllOf(HasSubstr("x.tar.zst: "), HasSubstr("folder")));
}

TEST(Bundle, FileThatIsThereTwice_IsRefused) {
  const auto refused = unpack(pack({{{"a", "1"}, {"a", "2"}}}).value(), "x");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("a is there twice"));
}

TEST(Bundle, ManyFiles_AreRefused) {
  Bundle many;
  for (std::size_t i = 0; i <= kMostBundleFiles; ++i) many.files.push_back({std::to_string(i), ""});
  EXPECT_FALSE(unpack(pack(many).value(), "x"));
}

TEST(Bundle, SmallArchiveOfMuch_IsRefused) {
  const auto bomb = pack({{{"a", std::string(kMostBundleBytes + 1, '\0')}}}).value();
  EXPECT_LT(bomb.size(), 1'000'000u);
  const auto refused = unpack(bomb, "x");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("more than 268435456 bytes unpacked"));
}

class DamagedBundle : public ::testing::TestWithParam<std::uint32_t> {};

/// Either it is still that bundle, or another, or one line; never a crash.
TEST_P(DamagedBundle, IsReadOrRefusedInOneLine) {
  std::string bytes = pack(two_files()).value();
  std::mt19937 chance(GetParam());
  bytes.resize(bytes.size() - chance() % bytes.size());
  for (int i = 0; i < 3; ++i) {
    char& byte = bytes[chance() % bytes.size()];
    byte = static_cast<char>(byte ^ static_cast<char>(1 + chance() % 255));
  }
  const auto read = unpack(bytes, "x");
  EXPECT_THAT(read ? std::string() : read.error().text, Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(Seeds, DamagedBundle, ::testing::Range(0U, 100U));

TEST(Bundle, Nothing_IsNone) {
  EXPECT_FALSE(unpack("", "x"));
  EXPECT_FALSE(unpack("no archive at all", "x"));
}

}  // namespace
}  // namespace portcullis::trace
