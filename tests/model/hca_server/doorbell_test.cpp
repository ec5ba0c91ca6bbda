// SPDX-License-Identifier: BSD-3-Clause
//
// The vector of the command doorbell, where every store is seen: which entries start when, whatever
// else is half prepared. Linux sets an entry's ownership bit before it marks the command pending
// and rings (cmd_work_handler of mlx5/core/cmd.c), while other threads ring for their own.
#include <gtest/gtest.h>

#include "prm/object_commands.hpp"
#include "tests/model/hca_server/guest.hpp"

namespace portcullis::model::testing {
namespace {

class CommandDoorbell : public ::testing::Test {
 protected:
  void bring_up(bool with_file) {
    ASSERT_EQ(guest_.map(with_file), 0U);
    ASSERT_TRUE(guest_.bring_up());
  }
  void prepare(std::uint32_t slot) {
    prm::Buffer<prm::alloc_pd_in> in;
    in.put<"opcode">(prm::Opcode::ALLOC_PD);
    guest_.lay_out(in.all(), prm::alloc_pd_out::bytes, slot);
  }
  void ring(std::uint32_t vector) { guest_.write_bar(Guest::kCommandDoorbell, vector); }
  [[nodiscard]] bool is_answered(std::uint32_t slot) {
    return guest_.answer_in(slot, prm::alloc_pd_out::bytes).ok();
  }
  [[nodiscard]] std::uint64_t pds() { return served_.stop().census().pds; }

  ServedFunction served_;
  Guest guest_{served_.path()};
};

TEST_F(CommandDoorbell, BitOfAnotherEntry_CommandIsNeverStarted) {
  bring_up(true);
  prepare(0);
  ring(1U << 1);
  EXPECT_FALSE(is_answered(0));
  EXPECT_EQ(pds(), 0U);
}

TEST_F(CommandDoorbell, EntryOwnedButNotRung_WaitsForItsOwnBit) {
  bring_up(true);
  prepare(0);
  prepare(1);
  ring(1U << 0);
  EXPECT_TRUE(is_answered(0));
  EXPECT_FALSE(is_answered(1));
  ring(1U << 1);
  EXPECT_TRUE(is_answered(1));
}

TEST_F(CommandDoorbell, RungBeforeOwnership_IsNotRemembered) {
  bring_up(true);
  ring(1U << 2);
  prepare(2);
  ring(1U << 0);
  EXPECT_FALSE(is_answered(2));
  ring(1U << 2);
  EXPECT_TRUE(is_answered(2));
}

TEST_F(CommandDoorbell, SeveralBitsInOneStore_StartEach) {
  bring_up(true);
  prepare(0);
  prepare(3);
  prepare(31);
  ring(1U << 0 | 1U << 3 | 1U << 31);
  EXPECT_TRUE(is_answered(0));
  EXPECT_TRUE(is_answered(3));
  EXPECT_TRUE(is_answered(31));
}

TEST_F(CommandDoorbell, RungWhileAnEarlierCommandIsReadByMessage_NoneIsLost) {
  bring_up(false);
  for (const std::uint32_t slot : {0U, 1U, 2U}) prepare(slot);
  guest_.withhold_dma();
  for (const std::uint32_t slot : {0U, 1U, 2U})
    guest_.post_bar(Guest::kCommandDoorbell, 1U << slot);
  guest_.answer_dma();
  guest_.settle();
  EXPECT_TRUE(is_answered(0));
  EXPECT_TRUE(is_answered(1));
  EXPECT_TRUE(is_answered(2));
}

TEST_F(CommandDoorbell, RungForAnEntryThatIsAtWork_RunsItOnce) {
  bring_up(false);
  prepare(0);
  guest_.withhold_dma();
  guest_.post_bar(Guest::kCommandDoorbell, 1);
  guest_.post_bar(Guest::kCommandDoorbell, 1);
  guest_.answer_dma();
  guest_.settle();
  EXPECT_TRUE(is_answered(0));
  EXPECT_EQ(pds(), 1U);
}

}  // namespace
}  // namespace portcullis::model::testing
