// SPDX-License-Identifier: BSD-3-Clause
//
// Configuration space as a driver walks it: offsets by number, from the PCI specification as
// <linux/pci_regs.h> has them.
#include "model/vfio_user/config_space.hpp"

#include <gtest/gtest.h>

#include <array>

namespace portcullis::model::vfio_user {
namespace {

std::uint32_t read32(const ConfigSpace& space, std::uint64_t offset) {
  std::array<std::byte, 4> raw{};
  space.read(offset, raw);
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(raw[i]) << (8 * i);
  return value;
}

ConfigSpace::Effect write32(ConfigSpace& space, std::uint64_t offset, std::uint32_t value) {
  std::array<std::byte, 4> raw{};
  for (unsigned i = 0; i < 4; ++i) raw[i] = static_cast<std::byte>(value >> (8 * i));
  return space.write(offset, raw);
}

/// Offset of the capability `id`, found as a driver finds it; 0 when it is not in the chain.
std::uint32_t find_capability(const ConfigSpace& space, std::uint32_t id) {
  std::uint32_t at = read32(space, 0x34) & 0xff;
  for (int hops = 0; at != 0 && (read32(space, at) & 0xff) != id && hops < 48; ++hops)
    at = read32(space, at) >> 8 & 0xff;
  return at;
}

TEST(ConfigSpace, PowerOn_IsAConnectX5WithEverythingOff) {
  const ConfigSpace space({});
  EXPECT_EQ(read32(space, 0), 0x101715b3U);
  EXPECT_FALSE(space.bus_master());
  EXPECT_FALSE(space.memory_enabled());
  EXPECT_FALSE(space.msix_enabled());
}

TEST(ConfigSpace, BarSized_Says32MiB64BitPrefetchable) {
  ConfigSpace space({});
  write32(space, 0x10, 0xffffffff);
  write32(space, 0x14, 0xffffffff);
  EXPECT_EQ(read32(space, 0x10), 0xfe00000cU);
  EXPECT_EQ(read32(space, 0x14), 0xffffffffU);
}

TEST(ConfigSpace, IdsWritten_StayTheSame) {
  ConfigSpace space({});
  write32(space, 0, 0);
  EXPECT_EQ(read32(space, 0), 0x101715b3U);
}

TEST(ConfigSpace, RelaxedOrderingOfAVirtualFunction_IsWiredToZero) {
  constexpr std::uint32_t kRelaxed = 1U << 4;  // of Device Control, 8 bytes into the capability
  ConfigSpace physical({});
  ConfigSpace virtual_function({.device_id = ConfigSpace::kDeviceConnectX5Vf});
  const std::uint32_t at = find_capability(physical, 0x10) + 8;
  EXPECT_EQ(read32(physical, at) & kRelaxed, kRelaxed);
  write32(virtual_function, at, kRelaxed);
  EXPECT_EQ(read32(virtual_function, at) & kRelaxed, 0U);
}

TEST(ConfigSpace, RelaxedOrderingThatIsStrict_BeginsOffAndCanBeSwitchedOn) {
  constexpr std::uint32_t kRelaxed = 1U << 4;
  ConfigSpace space({.strict_ordering = true});
  const std::uint32_t at = find_capability(space, 0x10) + 8;
  EXPECT_EQ(read32(space, at) & kRelaxed, 0U);
  write32(space, at, kRelaxed);
  EXPECT_EQ(read32(space, at) & kRelaxed, kRelaxed);
}

TEST(ConfigSpace, VendorGateway_StandsInTheChainWhereThereIsOne) {
  const ConfigSpace with({.has_vendor_gateway = true});
  const std::uint32_t at = find_capability(with, 0x9);
  EXPECT_EQ(at, 0xc0U);
  EXPECT_EQ(read32(with, at) >> 16 & 0xff, 0x18U);
  EXPECT_NE(find_capability(with, 0x1), 0U);
  const ConfigSpace without({});
  EXPECT_EQ(find_capability(without, 0x9), 0U);
  EXPECT_NE(find_capability(without, 0x1), 0U);
}

TEST(ConfigSpace, CommandWritten_BusMasterAndMemoryFollow) {
  ConfigSpace space({});
  write32(space, 4, 0x6);
  EXPECT_TRUE(space.bus_master());
  EXPECT_TRUE(space.memory_enabled());
  write32(space, 4, 0x2);
  EXPECT_FALSE(space.bus_master());
}

TEST(ConfigSpace, Express_OffersFunctionLevelReset) {
  ConfigSpace space({});
  const std::uint32_t express = find_capability(space, 0x10);
  ASSERT_NE(express, 0U);
  EXPECT_NE(read32(space, express + 4) & 1U << 28, 0U);
  EXPECT_TRUE(write32(space, express + 8, 1U << 15).function_reset);
  EXPECT_EQ(read32(space, express + 8) & 1U << 15, 0U);
}

TEST(ConfigSpace, DeviceControlWithoutTheBit_NoReset) {
  ConfigSpace space({});
  EXPECT_FALSE(write32(space, find_capability(space, 0x10) + 8, 0x2810).function_reset);
}

TEST(ConfigSpace, Msix_TableAndPbaInBar0AndEnableSticks) {
  ConfigSpace space({.msix_vectors = 64});
  const std::uint32_t msix = find_capability(space, 0x11);
  ASSERT_NE(msix, 0U);
  EXPECT_EQ(read32(space, msix) >> 16 & 0x7ff, 63U);
  EXPECT_EQ(read32(space, msix + 4), 0x2000U);
  EXPECT_EQ(read32(space, msix + 8), 0x3000U);
  write32(space, msix, 0x80000000);
  EXPECT_TRUE(space.msix_enabled());
  write32(space, msix, 0xc0000000);
  EXPECT_FALSE(space.msix_enabled());
}

TEST(ConfigSpace, Reset_BackToPowerOn) {
  ConfigSpace space({});
  write32(space, 4, 0x6);
  space.reset();
  EXPECT_FALSE(space.bus_master());
}

}  // namespace
}  // namespace portcullis::model::vfio_user
