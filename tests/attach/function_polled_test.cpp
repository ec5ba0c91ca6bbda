// SPDX-License-Identifier: BSD-3-Clause
//
// A polled model under a function: served on a thread of its own until the driver is down.
#include "attach/function.hpp"

#include <gtest/gtest.h>

namespace portcullis::attach {
namespace {

TEST(Function, PolledModel_IsServedWhileTheDriverIsUp) {
  const auto function =
      Function::bring_up(OpenDevice::open(parse_device("model,execution=polled").value()).value());
  ASSERT_TRUE(function.has_value()) << function.error().text;

  EXPECT_TRUE((*function)->hca().poll().has_value());
  EXPECT_TRUE((*function)->hca().tear_down().has_value());
}

}  // namespace
}  // namespace portcullis::attach
