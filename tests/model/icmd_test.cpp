// SPDX-License-Identifier: BSD-3-Clause
//
// The tools' command interface as iPXE's driver goes through it before any command of its own: by
// mlx_icmd_send_command and mlx_reg_access of its drivers/infiniband/mlx_utils, with their numbers.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/config_access.hpp"
#include "model/vendor_gateway.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kSpaceCr = 2, kSpaceIcmd = 3, kSpaceSemaphore = 0xa;
constexpr std::uint32_t kCtrl = 0x0, kSize = 0x1000, kMailbox = 0x100000;
constexpr std::uint32_t kWriteFlag = 0x80000000;
constexpr std::uint32_t kBusy = 1;
constexpr std::uint16_t kFlashRegAccess = 0x9001;
constexpr std::uint32_t kPtys = 0x5004, kMfrl = 0x9028;
constexpr std::uint32_t kRead = 1, kWrite = 2;
constexpr std::uint32_t kProtoIb = 1;  // 1 << LINK_SPEED_IB
// Dwords of struct mlx_link_speed.
constexpr std::size_t kIbCapability = 4, kIbAdmin = 7, kIbOper = 10, kLinkSpeedDwords = 16;

class IcmdInterface : public ::testing::Test {
 protected:
  explicit IcmdInterface(PortType type = PortType::InfiniBand)
      : driver_(Options{.port_type = type}),
        config_(dynamic_cast<ConfigAccess*>(driver_.device().function)) {}

  void choose(std::uint32_t space) {
    ASSERT_TRUE(config_->write_config_dword(VendorGateway::kAt + 4, space).has_value());
    ASSERT_NE(config_->read_config_dword(VendorGateway::kAt + 4).value() >> 29, 0U);
  }
  std::uint32_t read(std::uint32_t address) {
    EXPECT_TRUE(config_->write_config_dword(VendorGateway::kAt + 0x10, address).has_value());
    EXPECT_EQ(config_->read_config_dword(VendorGateway::kAt + 0x10).value(), address | kWriteFlag);
    return config_->read_config_dword(VendorGateway::kAt + 0x14).value();
  }
  void write(std::uint32_t address, std::uint32_t value) {
    EXPECT_TRUE(config_->write_config_dword(VendorGateway::kAt + 0x14, value).has_value());
    EXPECT_TRUE(
        config_->write_config_dword(VendorGateway::kAt + 0x10, address | kWriteFlag).has_value());
    EXPECT_EQ(config_->read_config_dword(VendorGateway::kAt + 0x10).value(), address);
  }
  /// The status of the command.
  std::uint32_t go(std::uint16_t opcode) {
    write(kCtrl, std::uint32_t{opcode} << 16);
    write(kCtrl, read(kCtrl) | kBusy);
    EXPECT_EQ(read(kCtrl) & kBusy, 0U);
    return read(kCtrl) >> 8 & 0xff;
  }
  /// The status of the register's access; `data` becomes what came back.
  std::uint32_t access(std::uint32_t id, std::uint32_t method, std::span<std::uint32_t> data) {
    choose(kSpaceIcmd);
    write(kMailbox, 1U << 27 | 4U << 16);
    write(kMailbox + 4, id << 16 | method << 8 | 1);
    const auto dwords = static_cast<std::uint32_t>(data.size() + 1);
    write(kMailbox + 16, 3U << 27 | dwords << 16);
    std::uint32_t at = kMailbox + 20;
    for (const std::uint32_t word : data) write(std::exchange(at, at + 4), word);
    EXPECT_EQ(go(kFlashRegAccess), 0U);
    at = kMailbox + 20;
    for (std::uint32_t& word : data) word = read(std::exchange(at, at + 4));
    return read(kMailbox) >> 8 & 0x7f;
  }
  static std::array<std::uint32_t, kLinkSpeedDwords> link_speed(std::uint32_t port = 1) {
    return {port << 16 | kProtoIb};
  }

  MiniDriver driver_;
  ConfigAccess* config_;
};

TEST_F(IcmdInterface, Mailbox_IsAsLargeAsMstflintTakesItFor) {
  choose(kSpaceIcmd);
  EXPECT_EQ(read(kSize), 0x340U);
}

TEST_F(IcmdInterface, Semaphore_TakesAMarkOnlyWhenItIsFree) {
  choose(kSpaceSemaphore);
  write(0, 7);
  write(0, 9);
  EXPECT_EQ(read(0), 7U);
  write(0, 0);
  EXPECT_EQ(read(0), 0U);
}

TEST_F(IcmdInterface, BeforeAnyCommand_LinkSpeedIsRead) {
  auto speed = link_speed();
  EXPECT_EQ(access(kPtys, kRead, speed), 0U);
  EXPECT_EQ(speed[kIbCapability] & 0xffff, 0x37U);  // SDR, DDR, QDR, FDR, EDR
}

TEST_F(IcmdInterface, SdrAlone_IsWhatTheLinkThenMayRunAt) {
  auto speed = link_speed();
  ASSERT_EQ(access(kPtys, kRead, speed), 0U);
  speed[kIbAdmin] = (speed[kIbAdmin] & 0xffff0000) | 1;  // LINK_SPEED_SDR_MASK
  ASSERT_EQ(access(kPtys, kWrite, speed), 0U);
  auto now = link_speed();
  ASSERT_EQ(access(kPtys, kRead, now), 0U);
  EXPECT_EQ(now[kIbAdmin] & 0xffff, 1U);
  EXPECT_EQ(now[kIbOper], 0U);  // the link is down before INIT_HCA
}

TEST_F(IcmdInterface, NoSpeedThatThePortHas_ChangesNothing) {
  auto speed = link_speed();
  speed[kIbAdmin] = 0x40;
  EXPECT_EQ(access(kPtys, kWrite, speed), 0U);
  EXPECT_EQ(speed[kIbAdmin] & 0xffff, 0x37U);
}

TEST_F(IcmdInterface, SecondPort_IsABadParameter) {
  auto speed = link_speed(2);
  EXPECT_EQ(access(kPtys, kRead, speed), 7U);
}

TEST_F(IcmdInterface, RegisterThatIsNotThere_IsNotSupported) {
  std::array<std::uint32_t, 4> data{};
  EXPECT_EQ(access(0x9024, kRead, data), 4U);
}

TEST_F(IcmdInterface, FirmwareResetIsNotStartedByIt) {
  std::array<std::uint32_t, 4> data{};
  EXPECT_EQ(access(kMfrl, kWrite, data), 6U);
}

TEST_F(IcmdInterface, RegisterLongerThanTheMailbox_IsReadAsFarAsThatGoes) {
  std::vector<std::uint32_t> data(0x340 / 4 - 5 + 100);
  data[0] = 1U << 16 | kProtoIb;
  choose(kSpaceIcmd);
  EXPECT_EQ(access(kPtys, kRead, data), 0U);
  EXPECT_EQ(data[kIbCapability] & 0xffff, 0x37U);
}

TEST_F(IcmdInterface, OpcodeThatIsNotKnown_IsInvalid) {
  choose(kSpaceIcmd);
  EXPECT_EQ(go(0x8007), 1U);
}

TEST_F(IcmdInterface, MailboxWithoutAnOperation_IsAnInvalidCommand) {
  choose(kSpaceIcmd);
  EXPECT_EQ(go(kFlashRegAccess), 2U);
}

TEST_F(IcmdInterface, Chip_IsNamedInItsOwnSpace) {
  choose(kSpaceCr);
  EXPECT_EQ(read(0xf0014), 0x20dU);  // CX5_HW_ID of mstflint, DeviceConnectX5_HwId
}

TEST_F(IcmdInterface, Reset_ForgetsSemaphoreAndMailbox) {
  choose(kSpaceSemaphore);
  write(0, 7);
  choose(kSpaceIcmd);
  write(kMailbox, 5);
  ASSERT_TRUE(driver_.device().function->reset().has_value());
  choose(kSpaceIcmd);
  EXPECT_EQ(read(kMailbox), 0U);
  choose(kSpaceSemaphore);
  EXPECT_EQ(read(0), 0U);
}

}  // namespace
}  // namespace portcullis::model::testing
