// SPDX-License-Identifier: BSD-3-Clause
//
// The gateway as Linux goes through it, step by step, by the numbers of mlx5/core/lib/pci_vsc.c:
// mlx5_vsc_gw_lock, _set_space, _gw_write, _gw_read, _gw_read_block_fast.
#include "model/vendor_gateway.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

namespace portcullis::model {
namespace {

constexpr std::uint32_t kCtrl = 0x4;
constexpr std::uint32_t kCounter = 0x8;
constexpr std::uint32_t kSemaphore = 0xc;
constexpr std::uint32_t kAddr = 0x10;
constexpr std::uint32_t kData = 0x14;
constexpr std::uint32_t kFlag = 0x80000000;
constexpr std::uint32_t kAddrMask = 0x3fffffff;

/// mlx5_vsc_gw_set_space: the status, and how large the space is.
struct Space {
  std::uint32_t status = 0;
  std::uint32_t bytes = 0;
};
Space choose(VendorGateway& gateway, std::uint32_t space) {
  gateway.write(kCtrl, (gateway.read(kCtrl) & 0xffff0000) | space);
  const std::uint32_t control = gateway.read(kCtrl);
  const bool has_size = (control >> 28 & 1) != 0;
  return {control >> 29, has_size ? gateway.read(kAddr) & kAddrMask : 0};
}

TEST(VendorGateway, Header_IsThatOfAVendorSpecificCapability) {
  EXPECT_EQ(VendorGateway::header(0x40), 0x00184009U);
}

TEST(VendorGateway, VirtualFunction_HasNone) {
  EXPECT_TRUE(VendorGateway::is_there(false, std::nullopt));
  EXPECT_FALSE(VendorGateway::is_there(true, std::nullopt));
  EXPECT_FALSE(VendorGateway::is_there(false, CrashDumpSide::Absent));
}

TEST(VendorGateway, Counter_IsNeverTwiceTheSame) {
  VendorGateway gateway(std::nullopt);
  const std::uint32_t first = gateway.read(kCounter);
  EXPECT_NE(gateway.read(kCounter), first);
  EXPECT_NE(first, 0U);
}

TEST(VendorGateway, Semaphore_TakesAMarkOnlyWhenItIsFree) {
  VendorGateway gateway(std::nullopt);
  gateway.write(kSemaphore, 7);
  gateway.write(kSemaphore, 9);
  EXPECT_EQ(gateway.read(kSemaphore), 7U);
  gateway.write(kSemaphore, 0);
  EXPECT_EQ(gateway.read(kSemaphore), 0U);
}

TEST(VendorGateway, SemaphoreOfAnother_StaysWithHim) {
  VendorGateway gateway(CrashDumpSide::Held);
  gateway.write(kSemaphore, 0);
  EXPECT_EQ(gateway.read(kSemaphore), VendorGateway::kOthersMark);
}

TEST(VendorGateway, SpaceThatIsThere_HasAStatusAndASize) {
  VendorGateway gateway(std::nullopt);
  const Space scanned = choose(gateway, 0x7);
  EXPECT_NE(scanned.status, 0U);
  EXPECT_EQ(scanned.bytes, VendorGateway::kSpaceBytes);
  EXPECT_EQ(choose(gateway, 0xb).status, 0U);
}

/// mlx_pci_gw_set_space of iPXE: the space in two bytes, the status in one.
TEST(VendorGateway, SpaceStoredInTwoBytes_HasItsStatusInTheLast) {
  VendorGateway gateway(std::nullopt);
  gateway.write_part(kCtrl, 0xa, 2);
  EXPECT_NE(gateway.read_part(kCtrl + 3, 1) & 0x20, 0U);
  gateway.write_part(kCtrl, 0xb, 2);
  EXPECT_EQ(gateway.read_part(kCtrl + 3, 1) & 0xe0, 0U);
  EXPECT_EQ(gateway.read_part(kCtrl, 2), 0xbU);
}

TEST(VendorGateway, FunctionWithoutRegisters_HasNoSpaceForCommands) {
  VendorGateway gateway(std::nullopt);
  EXPECT_EQ(choose(gateway, 0x3).status, 0U);
}

TEST(VendorGateway, SpaceThatIsRefused_HasStatusZero) {
  VendorGateway gateway(CrashDumpSide::Refused);
  EXPECT_EQ(choose(gateway, 0x7).status, 0U);
  EXPECT_NE(choose(gateway, 0xa).status, 0U);
}

/// mlx5_vsc_sem_set_space: what was written is read back by who holds it, and by nobody else.
TEST(VendorGateway, SemaphoreOfResets_IsWrittenAndReadInItsDomain) {
  VendorGateway gateway(std::nullopt);
  ASSERT_NE(choose(gateway, 0xa).status, 0U);
  gateway.write(kData, 5);
  gateway.write(kAddr, 0x20 | kFlag);
  EXPECT_EQ(gateway.read(kAddr) & kFlag, 0U);
  gateway.write(kData, 6);
  gateway.write(kAddr, 0x20 | kFlag);
  gateway.write(kAddr, 0x20);
  EXPECT_EQ(gateway.read(kAddr) & kFlag, kFlag);
  EXPECT_EQ(gateway.read(kData), 5U);
}

TEST(VendorGateway, Scan_ComesToTheEndAndPassesOverTheHole) {
  VendorGateway gateway(std::nullopt);
  const std::uint32_t bytes = choose(gateway, 0x7).bytes;
  std::map<std::uint32_t, std::uint32_t> words;
  for (std::uint32_t at = 0; at < bytes; at = gateway.read(kAddr) & kAddrMask) {
    gateway.write(kAddr, at);
    ASSERT_EQ(gateway.read(kAddr) & kFlag, kFlag);
    words[at] = gateway.read(kData);
  }
  EXPECT_EQ(words.size(), (VendorGateway::kSpaceBytes - 0x2000) / 4);
  EXPECT_EQ(words.count(VendorGateway::kHoleFrom), 0U);
  EXPECT_EQ(words.at(VendorGateway::kHoleTo), VendorGateway::word_at(VendorGateway::kHoleTo));
}

TEST(VendorGateway, StuckOne_NeverSetsTheFlag) {
  VendorGateway gateway(CrashDumpSide::Stuck);
  ASSERT_NE(choose(gateway, 0x7).status, 0U);
  gateway.write(kAddr, 0);
  EXPECT_EQ(gateway.read(kAddr) & kFlag, 0U);
}

TEST(VendorGateway, Reset_LetsGoOfWhatADriverHeld) {
  VendorGateway gateway(std::nullopt);
  gateway.write(kSemaphore, 7);
  gateway.reset();
  EXPECT_EQ(gateway.read(kSemaphore), 0U);
}

}  // namespace
}  // namespace portcullis::model
