// SPDX-License-Identifier: BSD-3-Clause
//
// Many leases of a scripted function that fences act on. No manager: what a fence does by itself.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "base/device.hpp"
#include "base/dma_memory.hpp"
#include "lease/fence.hpp"
#include "lease/fence_plan.hpp"
#include "lease/fence_target.hpp"
#include "tests/lease/scripted_function.hpp"

namespace portcullis::testing {

class FenceWorld : public ::testing::Test {
 protected:
  /// `count` leases, instead of those before: slot i with QP 100 + i, key 200 + i, PD 300 + i.
  void make(std::uint32_t count) {
    targets.clear();
    regions.clear();
    regions.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      regions.push_back(DmaMemory::create(host.dma, kPageBytes).value());
      targets.push_back({.slot = i,
                         .qpn = prm::QpNumber{100 + i},
                         .mkey_index = prm::MkeyIndex{200 + i},
                         .pdn = prm::PdNumber{300 + i},
                         .region = &regions[i]});
    }
  }
  lease::Fence fence(const lease::Plan& plan, const lease::FenceOptions& options = {}) {
    return {port, plan, targets, options};
  }
  static std::vector<lease::Verdict> verdicts(const lease::Fence& of) {
    std::vector<lease::Verdict> all;
    for (std::size_t i = 0; i < of.size(); ++i) all.push_back(of.verdict(i));
    return all;
  }
  std::uint64_t elapsed_ns() const { return host.now_ns - ScriptedFunction::kStartNs; }

  ScriptedFunction host;
  std::vector<DmaMemory> regions;
  std::vector<lease::FenceTarget> targets;
  lease::FencePort port{.device = &host.device, .commands = &host.channel};
};

}  // namespace portcullis::testing
