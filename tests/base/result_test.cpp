// SPDX-License-Identifier: BSD-3-Clause
#include "base/result.hpp"

#include <gtest/gtest.h>

namespace portcullis {
namespace {

struct Pair {
  int a = 0;
  int b = 0;
};

Result<int> sum(Pair of) {
  if (of.a < 0) return fail(Errc::InvalidArgument, "a");
  return of.a + of.b;
}
Result<void> accepted(Pair of) {
  PORTCULLIS_TRY(sum({of.a, of.b}));
  return {};
}
Result<int> twice(Pair of) {
  PORTCULLIS_TRY_ASSIGN(const int once, sum({of.a, of.b}));
  return 2 * once;
}

TEST(ResultMacros, ExpressionWithCommas_IsTakenWhole) {
  EXPECT_TRUE(accepted({.a = 1, .b = 2}));
  EXPECT_EQ(accepted({.a = -1, .b = 2}).error().text, "a");
}

TEST(ResultMacros, AssignedExpressionWithCommas_IsTakenWhole) {
  EXPECT_EQ(twice({.a = 1, .b = 2}), 6);
  EXPECT_FALSE(twice({.a = -1, .b = 2}));
}

}  // namespace
}  // namespace portcullis
