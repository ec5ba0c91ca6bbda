// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that programs write their steering into: who has which part of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "model/steering/sw_icm.hpp"
#include "prm/steering_commands.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;

constexpr std::uint64_t kAt = SwIcm::kEntriesAt;
constexpr std::uint32_t kLogPages = 14;
constexpr std::uint64_t kBytes = 1 << kLogPages;
constexpr std::uint32_t kProgram = 7;

class SteeringMemory : public ::testing::Test {
 protected:
  Verdict create(std::uint64_t at, std::uint32_t log_bytes = kLogPages) {
    return memory_.create(at, log_bytes, kProgram, id_);
  }
  static prm::Buffer<prm::mkc> key(std::uint64_t at, std::uint64_t bytes) {
    prm::Buffer<prm::mkc> context;
    context.set<"access_mode_1_0", (prm::kMkcModeSwIcm & 3)>()
        .set<"access_mode_4_2", (prm::kMkcModeSwIcm >> 2)>()
        .put<"start_addr">(at)
        .put<"len">(bytes);
    return context;
  }
  static prm::ConstView<prm::mkc> view(const prm::Buffer<prm::mkc>& context) {
    return prm::ConstView<prm::mkc>(context.all());
  }
  SwIcm memory_;
  std::uint32_t id_ = 0;
};

TEST_F(SteeringMemory, NotWritten_ReadsAsZeros) {
  ASSERT_TRUE(create(kAt).ok());
  std::array<std::byte, 64> read;
  read.fill(std::byte{1});
  ASSERT_TRUE(memory_.read(kAt + 64, read));
  EXPECT_TRUE(std::ranges::all_of(read, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(SteeringMemory, WrittenOverPages_ReadsAsItWas) {
  ASSERT_TRUE(create(kAt).ok());
  std::array<std::byte, 5000> written;
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(memory_.write(kAt + 4000, written));
  std::array<std::byte, 5000> read{};
  ASSERT_TRUE(memory_.read(kAt + 4000, read));
  EXPECT_EQ(read, written);
}

TEST_F(SteeringMemory, OfALaterOwner_ReadsAsZeros) {
  ASSERT_TRUE(create(kAt).ok());
  const std::array<std::byte, 4> written{std::byte{1}, std::byte{2}};
  ASSERT_TRUE(memory_.write(kAt, written));
  ASSERT_TRUE(memory_.destroy(id_).ok());
  ASSERT_TRUE(create(kAt).ok());
  std::array<std::byte, 4> read{std::byte{9}};
  ASSERT_TRUE(memory_.read(kAt, read));
  EXPECT_EQ(read, (std::array<std::byte, 4>{}));
}

TEST_F(SteeringMemory, BehindTheEnd_IsNobodys) {
  ASSERT_TRUE(create(kAt).ok());
  std::array<std::byte, 64> bytes{};
  EXPECT_FALSE(memory_.read(kAt + kBytes - 32, bytes));
  EXPECT_FALSE(memory_.write(kAt + kBytes - 32, bytes));
  EXPECT_FALSE(memory_.read(kAt - 64, bytes));
  EXPECT_EQ(memory_.owner_of(kAt + kBytes, 1), std::nullopt);
}

TEST_F(SteeringMemory, OverTwoAllocations_IsNobodys) {
  ASSERT_TRUE(create(kAt).ok());
  ASSERT_TRUE(create(kAt + kBytes).ok());
  EXPECT_EQ(memory_.owner_of(kAt + kBytes - 32, 64), std::nullopt);
  EXPECT_EQ(memory_.owner_of(kAt + kBytes - 64, 64), kProgram);
}

TEST_F(SteeringMemory, OutsideOfBothAreas_IsRefused) {
  EXPECT_EQ(create(0).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create(kAt + (std::uint64_t{1} << SwIcm::kLogEntriesBytes)).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(create(SwIcm::kActionsAt).ok());
  EXPECT_EQ(create(SwIcm::kActionsAt + kBytes, SwIcm::kLogActionsBytes).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SteeringMemory, PartOfAnAllocation_IsRefusedToTheNext) {
  ASSERT_TRUE(create(kAt + kBytes).ok());
  EXPECT_EQ(create(kAt, kLogPages + 2).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create(kAt + kBytes + 4096, 12).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(create(kAt).ok());
}

TEST_F(SteeringMemory, SmallerThanAUnitOrNotAligned_IsRefused) {
  EXPECT_EQ(create(kAt, 11).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create(kAt + 64).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SteeringMemory, WithAKey_IsNotDestroyedBeforeIt) {
  constexpr std::uint32_t kIndex = 5;
  ASSERT_TRUE(create(kAt).ok());
  const auto context = key(kAt, kBytes);
  memory_.hold(kIndex, view(context));
  EXPECT_EQ(memory_.destroy(id_).status, CommandStatus::BAD_RES_STATE_ERR);
  memory_.let_go(kIndex);
  EXPECT_TRUE(memory_.destroy(id_).ok());
}

TEST_F(SteeringMemory, KeyOfSomebodyElse_HasNoRange) {
  ASSERT_TRUE(create(kAt).ok());
  const auto context = key(kAt, kBytes);
  EXPECT_TRUE(memory_.has_range_of(view(context), kProgram));
  EXPECT_TRUE(memory_.has_range_of(view(context), /*uid=*/0)) << "the kernel's";
  EXPECT_FALSE(memory_.has_range_of(view(context), kProgram + 1));
}

TEST_F(SteeringMemory, KeyThatGoesBeyond_HasNoRange) {
  ASSERT_TRUE(create(kAt).ok());
  const auto context = key(kAt + 64, kBytes);
  EXPECT_FALSE(memory_.has_range_of(view(context), kProgram));
}

TEST_F(SteeringMemory, Query_SaysWhereItLies) {
  ASSERT_TRUE(create(kAt).ok());
  prm::Buffer<prm::sw_icm> context;
  ASSERT_TRUE(memory_.query(id_, context.view()).ok());
  EXPECT_EQ(context.get<"sw_icm_start_addr">(), kAt);
  EXPECT_EQ(context.get<"log_sw_icm_size">(), kLogPages);
  EXPECT_EQ(memory_.query(id_ + 1, context.view()).status, CommandStatus::BAD_RES_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
