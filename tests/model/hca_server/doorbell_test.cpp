// SPDX-License-Identifier: BSD-3-Clause
//
// What doorbells say beside that they rang, where every store is seen. The vector of the command
// doorbell: which entries start when, whatever else is half prepared. Linux sets an entry's
// ownership bit before it marks the command pending and rings (cmd_work_handler of
// mlx5/core/cmd.c), while other threads ring for their own. The number in a CQ's doorbell: which CQ
// is armed. Linux has all CQs of the kernel on one UAR page and never arms those that it polls
// (IB_POLL_DIRECT).
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <vector>

#include "base/cells.hpp"
#include "prm/doorbell.hpp"
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

/// Two CQs on one UAR page. Their arm records are 0, as the first request's is, too (mlx5_cq_arm of
/// linux/mlx5/cq.h).
class CqDoorbell : public ::testing::Test {
 protected:
  static constexpr std::size_t kEq = 0x100000, kFirst = 0x101000, kSecond = 0x102000,
                               kRecords = 0x103000;  // in guest memory
  static constexpr std::size_t kRecordBytes = 64;

  void SetUp() override {
    ASSERT_EQ(guest_.map(true), 0U);
    ASSERT_TRUE(guest_.bring_up());
    uar_ = page_of(alloc_uar(guest_));
    const auto eqn = create_eq(guest_, prm::EventType::CMD, uar_, 0, kEq);
    ASSERT_TRUE(eqn);
    eqn_ = *eqn;
    first_ = create_cq(kFirst, kRecords);
    second_ = create_cq(kSecond, kRecords + kRecordBytes);
    ASSERT_NE(first_, second_);
  }
  [[nodiscard]] static std::uint32_t page_of(const GuestAnswer& answer) {
    return static_cast<std::uint32_t>(
        prm::ConstView<prm::alloc_uar_out>::at(std::span(answer.out)).get<"uar">());
  }
  [[nodiscard]] std::uint32_t create_cq(std::size_t entries, std::size_t record) {
    prm::Buffer<prm::create_cq_in> in;
    in.put<"opcode">(prm::Opcode::CREATE_CQ)
        .put<"cq_context.uar_page">(uar_)
        .put<"cq_context.c_eqn_or_apu_element">(eqn_)
        .set<"cq_context.log_cq_size", 4>()
        .put<"cq_context.dbr_addr">(Guest::iova(record));
    std::vector<std::byte> bytes(in.all().begin(), in.all().end());
    const auto page = std::bit_cast<std::array<std::byte, 8>>(cells::be64(Guest::iova(entries)));
    bytes.insert(bytes.end(), page.begin(), page.end());
    const GuestAnswer answer = guest_.execute(bytes, prm::create_cq_out::bytes);
    return static_cast<std::uint32_t>(
        prm::ConstView<prm::create_cq_out>::at(std::span(answer.out)).get<"cqn">());
  }
  /// As a machine of 32 bits stores it (mlx5_write64 of linux/mlx5/doorbell.h).
  void ring(std::uint32_t cqn, std::uint32_t page) {
    const std::uint64_t cell = prm::uar_offset(page) + prm::kCqDoorbell;
    guest_.write_bar(cell, prm::cq_arm_record(0, prm::kCqDbReqNot, 0));
    guest_.write_bar(cell + 4, cqn);
  }
  [[nodiscard]] prm::CqState state(std::uint32_t cqn) {
    prm::Buffer<prm::query_cq_in> in;
    in.put<"opcode">(prm::Opcode::QUERY_CQ).put<"cqn">(cqn);
    const GuestAnswer answer = guest_.execute(in.all(), prm::query_cq_out::bytes);
    return static_cast<prm::CqState>(
        prm::ConstView<prm::query_cq_out>::at(std::span(answer.out)).get<"cq_context.st">());
  }

  ServedFunction served_;
  Guest guest_{served_.path()};
  std::uint32_t uar_ = 0, eqn_ = 0, first_ = 0, second_ = 0;
};

TEST_F(CqDoorbell, NumberOfACq_ArmsThatOneAndNoOther) {
  ring(second_, uar_);
  EXPECT_EQ(state(second_), prm::CqState::NOTIFICATION_REQUEST_ARMED);
  EXPECT_EQ(state(first_), prm::CqState::FIRED);
}

TEST_F(CqDoorbell, NumberOfACqOfAnotherPage_ArmsNone) {
  const std::uint32_t other = page_of(alloc_uar(guest_));
  uar_ = other;
  const std::uint32_t third = create_cq(kFirst, kRecords + 2 * kRecordBytes);
  ring(first_, other);
  EXPECT_EQ(state(first_), prm::CqState::FIRED);
  EXPECT_EQ(state(third), prm::CqState::FIRED);
}

TEST_F(CqDoorbell, NumberOfNoCq_ArmsNone) {
  ring(second_ + 1, uar_);
  EXPECT_EQ(state(first_), prm::CqState::FIRED);
  EXPECT_EQ(state(second_), prm::CqState::FIRED);
}

}  // namespace
}  // namespace portcullis::model::testing
