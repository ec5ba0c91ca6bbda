// SPDX-License-Identifier: BSD-3-Clause
//
// A card whose firmware is loaded again: nobody tells the server that the PCI link goes, and it
// sees that by nobody asking the configuration space for anything.
#include <gtest/gtest.h>
#include <linux/pci_regs.h>

#include <chrono>
#include <vector>

#include "prm/hca_commands.hpp"
#include "prm/init_segment.hpp"
#include "prm/management_registers.hpp"
#include "prm/opcodes.hpp"
#include "tests/model/hca_server/guest.hpp"

namespace portcullis::model::testing {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Linux's link is off for 500 ms (mlx5_pci_link_toggle of mlx5/core/fw_reset.c); a busy machine is
// given longer to see that.
constexpr Milliseconds kLinkIsOff{500};
constexpr Milliseconds kPatience{60'000};
constexpr std::uint32_t kStarterSlot = 1;
constexpr std::size_t kEqOffset = 0x100000;  // in guest memory
constexpr std::uint64_t kQueueHighRegister =
    prm::place<prm::mlx5_init_seg, "cmdq_addr_h">.offset / 8;
constexpr std::uint64_t kQueueRegister =
    prm::place<prm::mlx5_init_seg, "cmdq_addr_l_sz">.offset / 8;

class HcaServerFirmwareReset : public ::testing::Test {
 protected:
  HcaServerFirmwareReset() {
    require(guest_.map(true) == 0 && guest_.bring_up_to_hear());
    const GuestAnswer uar = alloc_uar(guest_);
    require(uar.ok());
    const auto page = prm::ConstView<prm::alloc_uar_out>::at(std::span(uar.out)).get<"uar">();
    require(create_eq(guest_, prm::EventType::GENERAL_EVENT, static_cast<std::uint32_t>(page), 0,
                      kEqOffset)
                .has_value());
  }

  static void require(bool is_so) { ASSERT_TRUE(is_so) << "a test's own set-up failed"; }

  static std::vector<std::byte> mfrl(bool starts) {
    prm::Buffer<prm::access_register_in> in;
    in.put<"opcode">(prm::Opcode::ACCESS_REG).put<"op_mod">(prm::AccessRegisterOpMod::WRITE);
    in.put<"register_id">(prm::ManagementRegisterId::MFRL);
    prm::Buffer<prm::mfrl_reg> data;
    data.put<"reset_level">(prm::ResetLevel::RESET_LEVEL3);
    const auto view = prm::View<prm::mfrl_reg>::at(data.all());
    static_cast<void>(view.try_set<"pci_sync_for_fw_update_start">(starts ? 1U : 0U));
    static_cast<void>(view.try_set<"pci_sync_for_fw_update_resp">(starts ? 0U : prm::kResetAgreed));
    std::vector<std::byte> message(in.all().begin(), in.all().end());
    message.insert(message.end(), data.all().begin(), data.all().end());
    return message;
  }

  void agree_to_a_reset() {
    constexpr std::size_t kOut = prm::access_register_out::bytes + prm::mfrl_reg::bytes;
    guest_.lay_out(mfrl(true), kOut, kStarterSlot);
    guest_.write_bar(Guest::kCommandDoorbell, 1U << kStarterSlot);
    require(guest_.execute(mfrl(false), kOut).ok());
  }

  void tear_down_fast() {
    prm::Buffer<prm::teardown_hca_in> in;
    in.put<"opcode">(prm::Opcode::TEARDOWN_HCA);
    in.put<"profile">(prm::TeardownProfile::PREPARE_FAST_TEARDOWN);
    require(guest_.execute(in.all(), prm::teardown_hca_out::bytes).ok());
    const std::uint32_t now = guest_.read_bar(kQueueRegister);
    guest_.write_bar(kQueueRegister, prm::cmdq_addr_l_sz(prm::cmdq_addr_l(now),
                                                         prm::number(prm::NicInterface::DISABLED)));
  }

  /// Whether the function forgets within that time where its command queue is. The BAR is asked,
  /// and the configuration space left alone.
  [[nodiscard]] bool forgets_its_queue_within(Milliseconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    bool is_forgotten = false;
    while (!is_forgotten && std::chrono::steady_clock::now() < until)
      is_forgotten = guest_.read_bar(kQueueHighRegister) == 0;
    return is_forgotten;
  }

  ServedFunction served_;
  Guest guest_{served_.path()};
};

TEST_F(HcaServerFirmwareReset, LinkOff_FunctionIsAsAfterPowerOn) {
  agree_to_a_reset();
  tear_down_fast();
  EXPECT_TRUE(forgets_its_queue_within(kPatience));
  EXPECT_EQ(guest_.read_config(PCI_COMMAND), 0U);
  EXPECT_EQ(prm::nic_interface(guest_.read_bar(kQueueRegister)),
            prm::number(prm::NicInterface::FULL_DRIVER));
  EXPECT_TRUE(guest_.bring_up());
}

TEST_F(HcaServerFirmwareReset, FastTeardownAlone_IsNoResetHoweverLongNobodyAsks) {
  tear_down_fast();
  EXPECT_FALSE(forgets_its_queue_within(kLinkIsOff));
  EXPECT_EQ(guest_.read_config(PCI_COMMAND), PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  EXPECT_EQ(prm::nic_interface(guest_.read_bar(kQueueRegister)),
            prm::number(prm::NicInterface::DISABLED));
}

TEST_F(HcaServerFirmwareReset, FunctionThatIsStillUp_KeepsItsConfigurationSpace) {
  agree_to_a_reset();
  EXPECT_FALSE(forgets_its_queue_within(kLinkIsOff));
  EXPECT_EQ(guest_.read_config(PCI_COMMAND), PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
  EXPECT_TRUE(alloc_uar(guest_).ok());
}

TEST_F(HcaServerFirmwareReset, DeviceReset_EndsItToo) {
  agree_to_a_reset();
  tear_down_fast();
  guest_.reset_device();
  EXPECT_TRUE(guest_.bring_up());
  EXPECT_FALSE(forgets_its_queue_within(kLinkIsOff));
  EXPECT_TRUE(alloc_uar(guest_).ok());
}

}  // namespace
}  // namespace portcullis::model::testing
