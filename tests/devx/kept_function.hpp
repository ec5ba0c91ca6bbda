// SPDX-License-Identifier: BSD-3-Clause
//
// What tests on a kept function begin with: the kernel in process, the function that DevX opens on
// it, and an address in the port's table.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "devx/function.hpp"
#include "tests/devx/kernel_fake.hpp"

namespace portcullis::testing {

struct KeptFunction : ::testing::Test {
  explicit KeptFunction(std::vector<std::string> behaviours = {}) : kernel(std::move(behaviours)) {}
  void SetUp() override { ASSERT_TRUE(addresses.set(0, {kGid, kMac})); }

  [[nodiscard]] std::uint64_t in_a_minute() const {
    return function->context().device.clock.now_ns() + 60 * kNsPerSecond;
  }

  KernelFake kernel;
  pmd::RoceAddressTable addresses{kernel.hca().context()};
  devx::KeptNic nic{kernel.open(), "a kept function"};
  std::unique_ptr<devx::Function> function = devx::Function::open(nic, nic.device()).value();
};

}  // namespace portcullis::testing
