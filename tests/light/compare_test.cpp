// SPDX-License-Identifier: BSD-3-Clause
//
// Two first lights: the same device says the same, and a switch of the model is what differs.
#include "light/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/light/quick_run.hpp"

namespace portcullis::light {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using testing::light_of;
using ::testing::Not;

constexpr const char* kDevice = "model,timing=cx5-16.35.4506";

auto differs(const char* what) { return Contains(Field(&Difference::what, what)); }

TEST(Compare, SameDeviceTwice_IsTheSame) {
  EXPECT_THAT(compare(light_of(kDevice), light_of(kDevice)), IsEmpty());
}

TEST(Compare, SwitchOfTheModel_IsWhatDiffers) {
  const auto found =
      compare(light_of(kDevice, "entries"),
              light_of("model,timing=cx5-16.35.4506,behaviour=dst-qp-inert=off", "entries"));
  EXPECT_THAT(found, AllOf(differs("bth-dst-qp"), differs("entry dst-qp"),
                           Not(differs("entry opcode")), Not(differs("bth-opcode"))));
}

TEST(Compare, ModelBesideACard_IsADifference) {
  const Facts model = light_of(kDevice, "bring-up");
  Facts card = model;
  card.device.is_emulated = false;
  EXPECT_THAT(compare(model, card), differs("emulated"));
}

TEST(Compare, StepThatOneHasNot_IsADifference) {
  const auto found = compare(light_of(kDevice, "key,loopback"), light_of(kDevice, "key"));
  EXPECT_THAT(found,
              AllOf(differs("step loopback"), differs("loopback"), Not(differs("step key"))));
}

TEST(Compare, CommandsOfBoth_AreHeldAgainstEachOther) {
  const auto ratios = command_ratios(light_of(kDevice, "commands"), light_of("model", "commands"));
  EXPECT_THAT(ratios, Contains(Field(&CommandRatio::command, "CREATE_QP")));
  EXPECT_THAT(ratios, Each(Field(&CommandRatio::b_ns, 0u)));
}

}  // namespace
}  // namespace portcullis::light
