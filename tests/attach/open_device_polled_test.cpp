// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <thread>

#include "attach/open_device.hpp"
#include "pmd/hca.hpp"

namespace portcullis::attach {
namespace {

TEST(OpenDevice, PolledModel_IsServedOnACoreOfItsOwn) {
  auto opened = OpenDevice::open(parse_device("model,execution=polled").value());
  ASSERT_TRUE(opened.has_value());
  ASSERT_TRUE(opened->needs_core());
  EXPECT_FALSE(opened->device().clock.is_virtual());
  std::atomic<bool> stop = false;
  std::thread core([&] { opened->serve(stop); });
  {
    auto hca = pmd::Hca::bring_up(opened->device());
    EXPECT_TRUE(hca.has_value()) << hca.error().text;
  }
  stop = true;
  core.join();
}

}  // namespace
}  // namespace portcullis::attach
