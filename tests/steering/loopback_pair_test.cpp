// SPDX-License-Identifier: BSD-3-Clause
//
// The pair a self-test writes over: what it is made of, what is left when a part of it is refused,
// and what its WRITEs do to the word.
#include "steering/loopback_pair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "prm/object_commands.hpp"
#include "tests/steering/noted_world.hpp"

namespace portcullis::testing {
namespace {

using prm::Opcode;
using steering::LoopbackPair;

class LoopbackPairs : public NotedSteering {
 protected:
  void SetUp() override { start_noted({}); }
  std::uint64_t objects() const { return model->census().objects(); }
};

TEST_F(LoopbackPairs, Key_MayBeWrittenByThePeerAndByTheDeviceItself) {
  const auto made = LoopbackPair::create(*context, path).value();
  const auto in = channel->told<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  EXPECT_EQ(in.get<"memory_key_mkey_entry.lw">(), 1U);
  EXPECT_EQ(in.get<"memory_key_mkey_entry.rw">(), 1U);
}

TEST_F(LoopbackPairs, LongWrite_ComesFromTheSecondHalfOfTheRegion) {
  connect();
  ASSERT_TRUE(passes(7));
  ASSERT_TRUE(pair->post_bytes(sizeof(std::uint64_t)));
  EXPECT_EQ(pair->outcome(50 * kMs).value(), prm::WcStatus::SUCCESS);
  EXPECT_EQ(pair->word(), 0U);
}

TEST_F(LoopbackPairs, SilenceShorterThanAsked_IsNotWaitedFor) {
  connect();
  const std::uint64_t before_ns = now_ns();
  EXPECT_FALSE(pair->outcome(30 * kMs).value());
  EXPECT_EQ(now_ns() - before_ns, 30 * kMs);
}

TEST_F(LoopbackPairs, WriteThatIsTooLong_IsToldAndNothingIsRung) {
  connect();
  const auto refused = pair->post_bytes(~std::uint32_t{0});
  EXPECT_FALSE(refused);
  EXPECT_FALSE(pair->outcome(kMs).value());
}

TEST_F(LoopbackPairs, FullQueue_IsTold) {
  connect();
  int posted = 0;
  while (posted < 10'000 && pair->post(1)) ++posted;
  EXPECT_LT(posted, 10'000);
}

struct Part {
  Opcode opcode{};
  std::uint32_t nth = 1;
};

std::string name_of(const ::testing::TestParamInfo<Part>& info) {
  return std::string(prm::name(info.param.opcode)) + "_" + std::to_string(info.param.nth);
}

class BrokenPairs : public LoopbackPairs, public ::testing::WithParamInterface<Part> {
 protected:
  /// No pair, and nothing left of it, where that part meets `kind`.
  void expect_none(model::CommandFaultRule::Kind kind) {
    const std::uint64_t before = objects();
    model->inject({.opcode = prm::number(GetParam().opcode),
                   .kind = kind,
                   .status = prm::number(prm::CommandStatus::NO_RES_ERR),
                   .nth = GetParam().nth});
    EXPECT_EQ(LoopbackPair::create(*context, path).error().code, Errc::CommandFailed);
    EXPECT_EQ(objects(), before);
  }
};

class UnmadePairs : public BrokenPairs {};

TEST_P(UnmadePairs, ObjectThatIsRefused_NoPairAndNothingLeft) {
  expect_none(model::CommandFaultRule::Kind::Status);
}

INSTANTIATE_TEST_SUITE_P(Objects, UnmadePairs,
                         ::testing::Values(Part{Opcode::ALLOC_PD}, Part{Opcode::CREATE_MKEY},
                                           Part{Opcode::CREATE_CQ}, Part{Opcode::CREATE_QP},
                                           Part{Opcode::CREATE_QP, 2}),
                         name_of);

class UnconnectedPairs : public BrokenPairs {};

/// The device did it all the same: whoever went on would not meet a second refusal.
TEST_P(UnconnectedPairs, TransitionThatFailed_NoPairAndNothingLeft) {
  expect_none(model::CommandFaultRule::Kind::StatusAfter);
}

INSTANTIATE_TEST_SUITE_P(Transitions, UnconnectedPairs,
                         ::testing::Values(Part{Opcode::RST2INIT_QP}, Part{Opcode::INIT2RTR_QP},
                                           Part{Opcode::RTR2RTS_QP}, Part{Opcode::RST2INIT_QP, 2},
                                           Part{Opcode::INIT2RTR_QP, 2},
                                           Part{Opcode::RTR2RTS_QP, 2}),
                         name_of);

}  // namespace
}  // namespace portcullis::testing
