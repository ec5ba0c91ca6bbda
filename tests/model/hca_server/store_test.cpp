// SPDX-License-Identifier: BSD-3-Clause
//
// Stores to the BAR and resets that come while the server waits for the answer to a DMA message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <initializer_list>
#include <vector>

#include "model/hca_server/store_queue.hpp"
#include "prm/doorbell.hpp"
#include "prm/hca_commands.hpp"
#include "prm/init_segment.hpp"
#include "prm/object_commands.hpp"
#include "tests/model/hca_server/guest.hpp"

namespace portcullis::model::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::uint64_t kQueueAddressHigh =
    prm::place<prm::mlx5_init_seg, "cmdq_addr_h">.offset / 8;
constexpr std::uint64_t kDeviceControl = 0x60 + PCI_EXP_DEVCTL;   // config_space.cpp
constexpr std::size_t kFirstEq = 0x100000, kSecondEq = 0x101000;  // in guest memory

/// A guest whose memory is behind messages, brought up.
class HcaServerStores : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(guest_.map(false), 0U);
    ASSERT_TRUE(guest_.bring_up());
  }
  /// The server asks for memory from now on, until answer_dma().
  void keep_the_server_waiting() {
    guest_.withhold_dma();
    prm::Buffer<prm::enable_hca_in> command;
    command.put<"opcode">(prm::Opcode::ENABLE_HCA);
    guest_.lay_out(command.all(), prm::enable_hca_out::bytes);
    guest_.post_bar(Guest::kCommandDoorbell, 1);
  }

  ServedFunction served_;
  Guest guest_{served_.path()};
};

bool interrupted(const UniqueFd& eventfd) {
  std::uint64_t count = 0;
  return read(eventfd.get(), &count, sizeof count) == sizeof count;
}

TEST_F(HcaServerStores, TwoEqsArmedThroughOneCellDuringADma_BothInterrupt) {
  const UniqueFd first(eventfd(0, EFD_NONBLOCK)), second(eventfd(0, EFD_NONBLOCK));
  guest_.set_msix(3, first.get());
  guest_.set_msix(4, second.get());
  const GuestAnswer uar = alloc_uar(guest_);
  ASSERT_TRUE(uar.ok());
  const auto number = prm::ConstView<prm::alloc_uar_out>::at(std::span(uar.out)).get<"uar">();
  const auto eqn = create_eq(guest_, prm::EventType::CMD, number, 3, kFirstEq);
  const auto other = create_eq(guest_, prm::EventType::CMD, number, 4, kSecondEq);
  ASSERT_TRUE(eqn && other);
  ASSERT_TRUE(alloc_uar(guest_).ok());  // an event for each

  keep_the_server_waiting();
  guest_.post_bar(prm::uar_offset(number) + prm::kEqDoorbellArm, *eqn << 24);
  guest_.post_bar(prm::uar_offset(number) + prm::kEqDoorbellArm, *other << 24);
  guest_.answer_dma();
  guest_.settle();

  EXPECT_TRUE(interrupted(first));
  EXPECT_TRUE(interrupted(second));
}

TEST_F(HcaServerStores, ReadDuringADma_SeesTheStoresBeforeIt) {
  keep_the_server_waiting();
  guest_.post_bar(kQueueAddressHigh, 0x1234);
  EXPECT_EQ(guest_.read_bar(kQueueAddressHigh), 0x1234U);
  guest_.answer_dma();
}

TEST(HcaServerStoresOfAClient, GoneDuringADma_TheNextFindsThemThere) {
  ServedFunction served;
  {
    Guest guest(served.path());
    guest.start();
    guest.withhold_dma();
    guest.post_bar(Guest::kCommandDoorbell, 1);
    guest.post_bar(kQueueAddressHigh, 0x1234);
  }
  Guest guest(served.path());
  EXPECT_EQ(guest.read_bar(kQueueAddressHigh), 0x1234U);
}

TEST_F(HcaServerStores, StoredAfterAResetThatCameDuringADma_Stays) {
  keep_the_server_waiting();
  guest_.reset_device();
  guest_.post_bar(kQueueAddressHigh, 0x1234);
  guest_.answer_dma();
  guest_.settle();
  EXPECT_EQ(guest_.read_bar(kQueueAddressHigh), 0x1234U);
}

TEST_F(HcaServerStores, StoredBeforeAResetThatCameDuringADma_IsGoneWithIt) {
  keep_the_server_waiting();
  guest_.post_bar(kQueueAddressHigh, 0x1234);
  guest_.reset_device();
  EXPECT_EQ(guest_.read_bar(kQueueAddressHigh), 0U);
}

TEST_F(HcaServerStores, ResetDuringADma_IsDoneBeforeTheNextMessage) {
  keep_the_server_waiting();
  guest_.reset_device();
  EXPECT_EQ(guest_.read_bar(kQueueAddressHigh), 0U);
  EXPECT_EQ(served_.stop().census().pages, 0U);
}

TEST_F(HcaServerStores, FunctionLevelResetDuringADma_IsDoneBeforeTheNextMessage) {
  keep_the_server_waiting();
  guest_.write_config(kDeviceControl, PCI_EXP_DEVCTL_BCR_FLR);
  EXPECT_EQ(guest_.read_bar(kQueueAddressHigh), 0U);
  EXPECT_EQ(served_.stop().census().pages, 0U);
}

TEST_F(HcaServerStores, DmaAnsweredAfterTheResetThatEndedIt_AnswerIsPassedOver) {
  keep_the_server_waiting();
  guest_.reset_device();
  guest_.answer_dma();
  EXPECT_TRUE(guest_.bring_up());
}

TEST_F(HcaServerStores, ResetOverAndOverWithoutAnAnswer_HungUp) {
  constexpr int kOneMore = 65;
  for (int i = 0; i < kOneMore; ++i) {
    guest_.set_bus_master(true);
    keep_the_server_waiting();
    guest_.reset_device();
  }
  EXPECT_TRUE(guest_.is_hung_up());
  EXPECT_THAT(served_.log(), Contains(HasSubstr("64 before it have no reply yet")));
}

std::vector<std::byte> bytes_of(std::initializer_list<int> list) {
  std::vector<std::byte> out;
  for (const int value : list) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST(StoreQueue, TwoStoresToOneWord_OneAfterTheOther) {
  std::vector<std::byte> bar(8);
  StoreQueue stores;
  stores.push(4, bytes_of({1, 2, 3, 4}));
  stores.push(4, bytes_of({5, 6, 7, 8}));
  stores.apply_oldest(bar);
  EXPECT_EQ(bar, bytes_of({0, 0, 0, 0, 1, 2, 3, 4}));
  stores.apply_oldest(bar);
  EXPECT_EQ(bar, bytes_of({0, 0, 0, 0, 5, 6, 7, 8}));
  EXPECT_TRUE(stores.empty());
}

TEST(StoreQueue, ReadAcrossStores_TheLaterOneWins) {
  StoreQueue stores;
  stores.push(2, bytes_of({1, 1, 1, 1}));
  stores.push(5, bytes_of({2, 2}));
  stores.push(100, bytes_of({3}));
  std::vector<std::byte> read(6);
  stores.overlay(0, read);
  EXPECT_EQ(read, bytes_of({0, 0, 1, 1, 1, 2}));
}

TEST(StoreQueue, Empty_NothingIsApplied) {
  std::vector<std::byte> bar(8);
  StoreQueue().apply_oldest(bar);
  EXPECT_EQ(bar, std::vector<std::byte>(8));
}

TEST(StoreQueue, ManyStores_NoRoomUntilOneIsApplied) {
  std::vector<std::byte> bar(8);
  StoreQueue stores;
  for (std::size_t i = 0; i < StoreQueue::kMostStores; ++i) stores.push(0, bytes_of({1}));
  EXPECT_FALSE(stores.has_room());
  stores.apply_oldest(bar);
  EXPECT_TRUE(stores.has_room());
}

TEST(StoreQueue, ManyBytes_NoRoomUntilTheyAreCleared) {
  StoreQueue stores;
  stores.push(0, std::vector<std::byte>(StoreQueue::kMostBytes));
  EXPECT_FALSE(stores.has_room());
  stores.clear();
  EXPECT_TRUE(stores.has_room());
}

}  // namespace
}  // namespace portcullis::model::testing
