// SPDX-License-Identifier: BSD-3-Clause
//
// A polled model under a function: served on a core that the EAL has, until the driver is down. The
// EAL is for the whole process, so this is a program of its own.
#include "attach/function.hpp"

#include <gtest/gtest.h>

#include "pmd/eal.hpp"

namespace portcullis::attach {
namespace {

TEST(Function, PolledModel_IsServedWhileTheDriverIsUp) {
  const auto eal = pmd::Eal::start({"attach_eal_test"}, true);
  ASSERT_TRUE(eal.has_value()) << eal.error().text;

  const auto function =
      Function::bring_up(OpenDevice::open(parse_device("model,execution=polled").value()).value());

  ASSERT_TRUE(function.has_value()) << function.error().text;
  EXPECT_TRUE((*function)->driver().poll().has_value());
}

}  // namespace
}  // namespace portcullis::attach
