// SPDX-License-Identifier: BSD-3-Clause
//
// The order of a bring-up, as the kernel goes through it: mlx5_function_setup of
// drivers/net/ethernet/mellanox/mlx5/core/main.c up to INIT_HCA, then what needs a function that
// runs. A command that fails is told by its step, so that which step is hit when the n-th command
// fails says what comes when.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/pmd/hca_rig.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::HcaRig;
using ::testing::ElementsAre;

/// The step whose command is the `nth`, and empty when there is none.
std::string step_of(const model::Options& options, std::uint32_t nth) {
  HcaRig rig(options);
  rig.inject(0, model::CommandFaultRule::Kind::Status, nth);
  const auto up = rig.bring_up();
  const std::string text = up ? ":" : up.error().text;
  return text.substr(0, text.find(':'));
}

/// Each step that sends a command, once, in their order.
std::vector<std::string> steps_of(const model::Options& options) {
  std::vector<std::string> steps;
  std::string step = step_of(options, 1);
  for (std::uint32_t nth = 2; !step.empty(); ++nth) {
    steps.push_back(step);
    step = step_of(options, nth);
  }
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

TEST(BringUpOrder, Pf_GoesThroughEachStepOnceInTheKernelsOrder) {
  EXPECT_THAT(steps_of({}), ElementsAre("ENABLE_HCA", "ISSI", "boot pages", "HOST_ENDIANNESS",
                                        "capabilities", "init pages", "INIT_HCA", "board", "UAR",
                                        "event queue", "capabilities in force", "RoCE", "port"));
}

TEST(BringUpOrder, Vf_DoesTheSameWithoutHostEndianness) {
  EXPECT_THAT(
      steps_of({.virtual_function = true}),
      ElementsAre("ENABLE_HCA", "ISSI", "boot pages", "capabilities", "init pages", "INIT_HCA",
                  "board", "UAR", "event queue", "capabilities in force", "RoCE", "port"));
}

}  // namespace
}  // namespace portcullis::pmd
