// SPDX-License-Identifier: BSD-3-Clause
//
// How commands travel: kicks, ownership, mailboxes, signatures, delivery status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "prm/signature.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::DeliveryStatus;

class CommandDelivery : public ::testing::Test {
 protected:
  CommandDelivery() { driver_.bring_up_to_boot_pages(); }

  /// QUERY_ISSI: no input beyond the header, one output block, no state.
  Posted query_issi(std::uint32_t slot = 0, bool sign = false) {
    return driver_.lay_out(slot, command<prm::query_issi_in>(prm::Opcode::QUERY_ISSI).all(),
                           prm::query_issi_out::bytes, sign);
  }
  /// SET_HCA_CAP with the capabilities as they are: eight input blocks.
  Posted set_caps(bool sign = false) {
    auto query = command<prm::query_hca_cap_in>(prm::Opcode::QUERY_HCA_CAP);
    query.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_CUR));
    const Answer now = driver_.run<prm::query_hca_cap_out>(query);
    auto set = command<prm::set_hca_cap_in>(prm::Opcode::SET_HCA_CAP);
    std::ranges::copy(now.as<prm::query_hca_cap_out>().bytes<"capability">(),
                      set.bytes<"capability">().begin());
    return driver_.lay_out(0, set.all(), prm::set_hca_cap_out::bytes, sign);
  }
  Answer go(const Posted& posted) {
    driver_.hand_over(posted);
    driver_.ring(posted.slot);
    return driver_.await(posted);
  }

  MiniDriver driver_;
};

TEST_F(CommandDelivery, OwnershipWithoutDoorbell_NothingHappens) {
  const Posted posted = query_issi();
  driver_.hand_over(posted);
  EXPECT_FALSE(driver_.await(posted).returned);
}

TEST_F(CommandDelivery, DoorbellWithoutOwnership_NothingHappens) {
  const Posted posted = query_issi();
  const auto commands = driver_.model().counters().commands;
  driver_.ring(0);
  driver_.pass(kNsPerSecond);
  EXPECT_EQ(driver_.model().counters().commands, commands);
}

TEST_F(CommandDelivery, DoorbellWithoutAStep_NothingHappensYet) {
  const Posted posted = query_issi();
  driver_.hand_over(posted);
  driver_.ring(0);
  EXPECT_FALSE(driver_.is_answered(posted));
}

TEST_F(CommandDelivery, Answer_ComesThroughMailboxes) {
  const Answer answer = go(query_issi());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.as<prm::query_issi_out>().get<"supported_issi_dw0">(), 3U);
}

TEST_F(CommandDelivery, InputOfEightBlocks_Arrives) { EXPECT_TRUE(go(set_caps()).ok()); }

TEST_F(CommandDelivery, OneDoorbellForAnotherSlot_ServesEveryOwnedSlot) {
  const Posted first = query_issi(3);
  const Posted second = query_issi(31);
  driver_.hand_over(first);
  driver_.hand_over(second);
  driver_.ring(7);
  EXPECT_TRUE(driver_.await(first).ok());
  EXPECT_TRUE(driver_.await(second).ok());
}

TEST_F(CommandDelivery, SlotInFlight_IsNotStartedTwice) {
  driver_.model().inject({.kind = CommandFaultRule::Kind::NeverReturns});
  const Posted posted = query_issi();
  const auto commands = driver_.model().counters().commands;
  EXPECT_FALSE(go(posted).returned);
  driver_.ring(0);
  driver_.pass(kNsPerSecond);
  EXPECT_EQ(driver_.model().counters().commands, commands + 1);
}

TEST_F(CommandDelivery, WrongType_IsADescriptorError) {
  const Posted posted = query_issi();
  static_cast<void>(posted.view().try_set<"type">(6));
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::CMD_DESCR_ERR);
}

TEST_F(CommandDelivery, ReservedBitsInTheEntry_AreRefused) {
  const Posted posted = query_issi();
  posted.entry[1] = std::byte{1};
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::RES_FLD_NOT_CLR_ERR);
}

TEST_F(CommandDelivery, ReservedBitsInABlock_AreRefused) {
  const Posted posted = set_caps();
  posted.in_block(4).all()[prm::kCmdDataBlockBytes] = std::byte{1};
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::RES_FLD_NOT_CLR_ERR);
}

TEST_F(CommandDelivery, OtherTokenInAnInputBlock_IsATokenError) {
  const Posted posted = set_caps();
  posted.in_block(7).put<"token">(std::uint8_t{1});
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::TOK_ERR);
}

TEST_F(CommandDelivery, OtherTokenInAnOutputBlock_IsATokenError) {
  const Posted posted = query_issi();
  posted.out_block(0).put<"token">(std::uint8_t{1});
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::TOK_ERR);
}

TEST_F(CommandDelivery, WrongBlockNumber_IsABlockNumberError) {
  const Posted posted = set_caps();
  posted.in_block(1).put<"block_number">(2U);
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::BAD_BLK_NUM_ERR);
}

TEST_F(CommandDelivery, ChainThatLoops_EndsAtAWrongBlockNumber) {
  const Posted posted = set_caps();
  const Iova first = posted.in_blocks[0].iova();
  posted.in_block(2).put<"next_pointer_63_32">(static_cast<std::uint32_t>(first >> 32));
  static_cast<void>(posted.in_block(2).try_set<"next_pointer_31_10">((first & 0xffffffff) >> 10));
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::BAD_BLK_NUM_ERR);
}

/// mcx_create_sq of OpenBSD's if_mcx.c announces 768 bytes and has one block behind the entry.
TEST_F(CommandDelivery, ChainThatEndsBehindWhatItsCommandNeeds_IsTaken) {
  const Posted posted = set_caps();
  posted.in_block(0).put<"next_pointer_63_32">(0U);
  posted.in_block(0).set<"next_pointer_31_10", 0>();
  EXPECT_TRUE(go(posted).ok());
}

TEST_F(CommandDelivery, ChainThatEndsBeforeIt_IsABadInputLength) {
  const Posted posted = set_caps();
  posted.view().put<"input_mailbox_pointer_63_32">(0U);
  posted.view().set<"input_mailbox_pointer_31_9", 0>();
  const Answer answer = go(posted);
  EXPECT_EQ(answer.delivery, DeliveryStatus::OK);
  EXPECT_EQ(answer.status, prm::CommandStatus::BAD_INP_LEN_ERR);
}

TEST_F(CommandDelivery, OutputWithoutMailboxes_IsALengthError) {
  const Posted posted = query_issi();
  posted.view().put<"output_mailbox_pointer_63_32">(0U);
  posted.view().set<"output_mailbox_pointer_31_9", 0>();
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::OUT_LENGTH_ERR);
}

TEST_F(CommandDelivery, LengthsBelowAHeaderOrAboveAllReason_AreLengthErrors) {
  const Posted tiny = query_issi(0);
  tiny.view().put<"input_length">(4U);
  EXPECT_EQ(go(tiny).delivery, DeliveryStatus::IN_LENGTH_ERR);
  const Posted huge = query_issi(1);
  huge.view().put<"input_length">(0xffffffffU);
  EXPECT_EQ(go(huge).delivery, DeliveryStatus::IN_LENGTH_ERR);
  const Posted out = query_issi(2);
  out.view().put<"output_length">(0xffffffffU);
  EXPECT_EQ(go(out).delivery, DeliveryStatus::OUT_LENGTH_ERR);
}

TEST_F(CommandDelivery, MisalignedFirstPointers_AreAlignmentErrors) {
  const Posted in = set_caps();
  constexpr std::size_t kInLow =
      prm::place<prm::cmd_queue_entry, "input_mailbox_pointer_31_9">.offset / 8 + 3;
  in.entry[kInLow] = std::byte{0x40};
  EXPECT_EQ(go(in).delivery, DeliveryStatus::IN_PTR_ALIGN_ERR);
  const Posted out = query_issi(1);
  constexpr std::size_t kOutLow =
      prm::place<prm::cmd_queue_entry, "output_mailbox_pointer_31_9">.offset / 8 + 3;
  out.entry[kOutLow] = std::byte{0x40};
  EXPECT_EQ(go(out).delivery, DeliveryStatus::OUT_PTR_ALIGN_ERR);
}

TEST_F(CommandDelivery, MisalignedNextPointer_IsAnAlignmentError) {
  const Posted posted = set_caps();
  constexpr std::size_t kLow = prm::place<prm::cmd_if_box, "next_pointer_31_10">.offset / 8 + 2;
  posted.in_block(0).all()[kLow] |= std::byte{2};  // 512, half of what blocks must be aligned to
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::IN_PTR_ALIGN_ERR);
}

TEST_F(CommandDelivery, UnmappedMailbox_IsAFirmwareErrorAndCountedAsFault) {
  const Posted posted = set_caps();
  posted.view().put<"input_mailbox_pointer_63_32">(0x7fffU);
  const auto faults = driver_.model().counters().dma_faults;
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::FW_ERR);
  EXPECT_EQ(driver_.model().counters().dma_faults, faults + 1);
}

TEST_F(CommandDelivery, BusMasteringOff_LeavesTheCommandWithTheDevice) {
  const Posted posted = query_issi();
  ASSERT_TRUE(driver_.device().function->set_bus_master(false).has_value());
  const auto faults = driver_.model().counters().dma_faults;
  EXPECT_FALSE(go(posted).returned);
  EXPECT_EQ(driver_.model().counters().dma_faults, faults + 1);
}

TEST_F(CommandDelivery, UnmappedQueue_IsAFaultAndNothingMore) {
  driver_.registers().write<"cmdq_addr_h">(0x7fff);
  const Posted posted = query_issi();
  EXPECT_FALSE(go(posted).returned);
  EXPECT_GT(driver_.model().counters().dma_faults, 0U);
}

TEST_F(CommandDelivery, DisabledInterface_DoesNotServe) {
  const auto now = driver_.registers().get<"cmdq_addr_l_sz">();
  driver_.registers().write<"cmdq_addr_l_sz">(
      now | prm::cmdq_addr_l_sz(0, prm::number(prm::NicInterface::DISABLED)));
  EXPECT_FALSE(go(query_issi()).returned);
}

TEST_F(CommandDelivery, UnsignedCommands_AreTakenWithoutChecksum) {
  const Posted posted = query_issi();
  posted.view().put<"signature">(std::uint8_t{0x11});
  EXPECT_TRUE(go(posted).ok());
}

class SignedDelivery : public CommandDelivery {
 protected:
  SignedDelivery() { EXPECT_TRUE(driver_.set_checksum(3).ok()); }
};

TEST_F(SignedDelivery, SignedCommand_IsAnsweredWithSignatures) {
  const Posted posted = query_issi(0, true);
  EXPECT_TRUE(go(posted).ok());
  EXPECT_TRUE(prm::entry_signature_is_valid(posted.view()));
  EXPECT_TRUE(prm::block_signature_is_valid(posted.out_block(0)));
}

TEST_F(SignedDelivery, WrongEntrySignature_IsRefused) {
  const Posted posted = query_issi(0, true);
  posted.view().put<"signature">(std::uint8_t(~posted.view().get<"signature">()));
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::SIGNAT_ERR);
}

TEST_F(SignedDelivery, WrongBlockSignature_IsRefused) {
  auto set = command<prm::manage_pages_in>(prm::Opcode::MANAGE_PAGES);
  set.put<"op_mod">(prm::ManagePagesOpMod::ALLOCATION_SUCCESS).set<"input_num_entries", 1>();
  const DmaBuffer page = driver_.allocate(kPageBytes);
  const std::array<Iova, 1> list{page.iova()};
  const Posted posted = driver_.lay_out(0, MiniDriver::with_list(set.all(), list),
                                        prm::manage_pages_out::bytes, true);
  posted.in_block(0).bytes<"mailbox_data">()[500] = std::byte{1};
  EXPECT_EQ(go(posted).delivery, DeliveryStatus::SIGNAT_ERR);
}

TEST_F(SignedDelivery, ChecksumTurnedOff_ChecksNoMore) {
  Posted query = driver_.lay_out(
      0,
      [] {
        auto in = command<prm::query_hca_cap_in>(prm::Opcode::QUERY_HCA_CAP);
        in.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_MAX));
        return in;
      }()
          .all(),
      prm::query_hca_cap_out::bytes, true);
  const Answer max = go(query);
  auto set = command<prm::set_hca_cap_in>(prm::Opcode::SET_HCA_CAP);
  std::ranges::copy(max.as<prm::query_hca_cap_out>().bytes<"capability">(),
                    set.bytes<"capability">().begin());
  const auto page = prm::View<prm::cmd_hca_cap>::at(set.bytes<"capability">());
  page.set<"cmdif_checksum", 0>();
  EXPECT_TRUE(go(driver_.lay_out(0, set.all(), prm::set_hca_cap_out::bytes, true)).ok());
  EXPECT_TRUE(go(query_issi()).ok());
}

}  // namespace
}  // namespace portcullis::model::testing
