// SPDX-License-Identifier: BSD-3-Clause
//
// Clients that come and go, resets, the bus-master bit, interrupts, and several servers at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/pci_regs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "prm/doorbell.hpp"
#include "prm/init_segment.hpp"
#include "prm/object_commands.hpp"
#include "tests/model/hca_server/guest.hpp"

namespace portcullis::model::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::uint64_t kDeviceControl = 0x60 + PCI_EXP_DEVCTL;  // config_space.cpp
constexpr std::size_t kEqOffset = 0x100000;                      // in guest memory

class HcaServerSession : public ::testing::Test {
 protected:
  ServedFunction served_;
};

TEST_F(HcaServerSession, ClientGone_ObjectsStayUntilTheNextResets) {
  {
    Guest guest(served_.path());
    ASSERT_EQ(guest.map(true), 0U);
    ASSERT_TRUE(guest.bring_up());
    ASSERT_TRUE(alloc_uar(guest).ok());
  }
  Guest guest(served_.path());
  ASSERT_EQ(guest.map(true), 0U);
  guest.start();
  EXPECT_TRUE(alloc_uar(guest).ok());  // still initialised
  guest.reset_device();
  guest.start();
  EXPECT_FALSE(alloc_uar(guest).ok());
  EXPECT_EQ(served_.stop().census().uars, 0U);
}

TEST_F(HcaServerSession, ClientGone_ItsMemoryIsNoLongerReached) {
  {
    Guest guest(served_.path());
    ASSERT_EQ(guest.map(true), 0U);
    ASSERT_TRUE(guest.bring_up());
  }
  Guest guest(served_.path());
  guest.start();
  EXPECT_FALSE(alloc_uar(guest).returned);
  EXPECT_GT(served_.stop().counters().dma_faults, 0U);
}

TEST_F(HcaServerSession, MemoryFileCutShortWhileMapped_HungUpAndTheNextIsServed) {
  {
    Guest guest(served_.path());
    ASSERT_EQ(guest.map(true), 0U);
    ASSERT_TRUE(guest.bring_up());
    guest.cut_memory_short();
    guest.post_bar(Guest::kCommandDoorbell, 1);
    EXPECT_TRUE(guest.is_hung_up());
  }
  EXPECT_THAT(served_.log(), Contains(HasSubstr("a page of its memory file is gone")));
  Guest next(served_.path());
  next.reset_device();
  ASSERT_EQ(next.map(true), 0U);
  EXPECT_TRUE(next.bring_up());
}

TEST_F(HcaServerSession, ClientGone_BothAreLogged) {
  { const Guest guest(served_.path()); }
  { const Guest guest(served_.path()); }
  const Guest third(served_.path());
  EXPECT_THAT(served_.log(), Contains("client gone").Times(2));
}

TEST_F(HcaServerSession, MalformedMessage_HungUpWithTheReasonAndTheNextIsServed) {
  {
    Guest guest(served_.path());
    guest.send_raw(std::vector<std::byte>(16, std::byte{0}));
    EXPECT_TRUE(guest.is_hung_up());
  }
  Guest guest(served_.path());
  ASSERT_EQ(guest.map(true), 0U);
  EXPECT_TRUE(guest.bring_up());
  EXPECT_THAT(served_.log(),
              Contains(HasSubstr("client hung up on: vfio-user message of 0 bytes")));
}

TEST_F(HcaServerSession, DeviceReset_EverythingIsAsAfterPowerOn) {
  Guest guest(served_.path());
  ASSERT_EQ(guest.map(true), 0U);
  ASSERT_TRUE(guest.bring_up());
  guest.reset_device();
  EXPECT_EQ(guest.read_config(PCI_COMMAND), 0U);
  EXPECT_EQ(guest.read_bar(prm::place<prm::mlx5_init_seg, "cmdq_addr_h">.offset / 8), 0U);
  EXPECT_TRUE(guest.bring_up());
}

TEST_F(HcaServerSession, FunctionLevelReset_IsTheSame) {
  Guest guest(served_.path());
  ASSERT_EQ(guest.map(true), 0U);
  ASSERT_TRUE(guest.bring_up());
  guest.write_config(kDeviceControl, PCI_EXP_DEVCTL_BCR_FLR);
  EXPECT_EQ(guest.read_config(PCI_COMMAND), 0U);
  EXPECT_TRUE(guest.bring_up());
}

TEST_F(HcaServerSession, BusMasterOff_NoDmaUntilItIsOnAgain) {
  Guest guest(served_.path());
  ASSERT_EQ(guest.map(true), 0U);
  ASSERT_TRUE(guest.bring_up());
  guest.set_bus_master(false);
  EXPECT_FALSE(alloc_uar(guest).returned);
  guest.set_bus_master(true);
  EXPECT_TRUE(alloc_uar(guest).ok());
}

/// An EQ of command events on MSI-X vector 3, armed.
class HcaServerInterrupt : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(guest_.map(true), 0U);
    ASSERT_TRUE(guest_.bring_up());
    guest_.set_msix(3, eventfd_.get());
    const GuestAnswer uar = alloc_uar(guest_);
    ASSERT_TRUE(uar.ok());
    const auto number = prm::ConstView<prm::alloc_uar_out>::at(std::span(uar.out)).get<"uar">();
    const auto eqn = create_eq(guest_, prm::EventType::CMD, number, 3, kEqOffset);
    ASSERT_TRUE(eqn);
    guest_.write_bar(prm::uar_offset(number) + prm::kEqDoorbellArm, *eqn << 24);
  }
  [[nodiscard]] bool interrupted() const {
    std::uint64_t count = 0;
    return read(eventfd_.get(), &count, sizeof count) == sizeof count;
  }

  UniqueFd eventfd_{eventfd(0, EFD_NONBLOCK)};
  ServedFunction served_;
  Guest guest_{served_.path()};
};

TEST_F(HcaServerInterrupt, CommandCompletes_VectorIsSignalled) {
  ASSERT_TRUE(alloc_uar(guest_).ok());
  EXPECT_TRUE(interrupted());
}

TEST_F(HcaServerInterrupt, NotArmedAgain_SecondCommandIsSilent) {
  ASSERT_TRUE(alloc_uar(guest_).ok());
  ASSERT_TRUE(interrupted());
  ASSERT_TRUE(alloc_uar(guest_).ok());
  EXPECT_FALSE(interrupted());
}

TEST_F(HcaServerInterrupt, BusMasterOff_NoInterrupt) {
  guest_.set_bus_master(false);
  EXPECT_FALSE(alloc_uar(guest_).returned);
  EXPECT_FALSE(interrupted());
}

TEST_F(HcaServerInterrupt, MsixDisabled_NoInterrupt) {
  guest_.write_config(0x9c + PCI_MSIX_FLAGS, 0);
  ASSERT_TRUE(alloc_uar(guest_).ok());
  EXPECT_FALSE(interrupted());
}

TEST(HcaServerInstances, TwoAtOnce_EachServesItsOwnGuest) {
  ServedFunction first;
  ServedFunction second;
  Guest one(first.path());
  Guest two(second.path());
  ASSERT_EQ(one.map(true), 0U);
  ASSERT_EQ(two.map(true), 0U);
  EXPECT_TRUE(one.bring_up());
  EXPECT_TRUE(two.bring_up());
  ASSERT_TRUE(alloc_uar(one).ok());
  EXPECT_EQ(first.stop().census().uars, 1U);
  EXPECT_EQ(second.stop().census().uars, 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
