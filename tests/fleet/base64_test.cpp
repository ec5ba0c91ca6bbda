// SPDX-License-Identifier: BSD-3-Clause
//
// Base64 against the vectors of RFC 4648, section 10, and against what it must not take.
#include <gtest/gtest.h>

#include <string>

#include "fleet/base64.hpp"

namespace portcullis::fleet {
namespace {

struct Vector {
  const char* bytes;
  const char* text;
};

class Rfc4648 : public testing::TestWithParam<Vector> {};

TEST_P(Rfc4648, Vector_IsWrittenAndReadBack) {
  EXPECT_EQ(to_base64(GetParam().bytes), GetParam().text);
  EXPECT_EQ(from_base64(GetParam().text), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(Section10, Rfc4648,
                         testing::Values(Vector{"", ""}, Vector{"f", "Zg=="}, Vector{"fo", "Zm8="},
                                         Vector{"foo", "Zm9v"}, Vector{"foob", "Zm9vYg=="},
                                         Vector{"fooba", "Zm9vYmE="},
                                         Vector{"foobar", "Zm9vYmFy"}));

TEST(Base64, EveryByte_ComesBack) {
  std::string bytes;
  for (int each = 0; each < 256; ++each) bytes += static_cast<char>(each);

  EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
}

class NoBase64 : public testing::TestWithParam<const char*> {};

TEST_P(NoBase64, Text_IsRefusedByItsOwnWords) {
  const auto read = from_base64(GetParam());

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::Malformed);
  EXPECT_NE(read.error().text.find(GetParam()), std::string::npos);
}

// No padding, padding alone, in the middle, three of it; the alphabet of URLs; bits left over.
INSTANTIATE_TEST_SUITE_P(Texts, NoBase64,
                         testing::Values("Zg", "====", "Zg==Zg==", "Z===", "_-8=", "Zh==", "Zm9="));

}  // namespace
}  // namespace portcullis::fleet
