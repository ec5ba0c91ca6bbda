// SPDX-License-Identifier: BSD-3-Clause
//
// PCI configuration space of a ConnectX-5 function, 4 KiB: ids, one 64-bit prefetchable BAR, PCI
// Express with function level reset, MSI-X with its table in BAR0, power management. Each byte has
// a write mask; what a driver may not change stays. Offsets are those of <linux/pci_regs.h>; where
// the capabilities stand is as `lspci -vv` shows them on a ConnectX-5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace portcullis::model::vfio_user {

class ConfigSpace {
 public:
  static constexpr std::size_t kBytes = 4096;
  static constexpr std::uint16_t kVendorMellanox = 0x15b3;
  static constexpr std::uint16_t kDeviceConnectX5 = 0x1017;
  static constexpr std::uint16_t kDeviceConnectX5Vf = 0x1018;

  struct Options {
    std::uint16_t device_id = kDeviceConnectX5;
    std::uint64_t bar_bytes = std::uint64_t{32} << 20;  // a power of two
    std::uint32_t msix_vectors = 64;                    // 1 to 2048
    std::uint32_t msix_table_offset = 0x2000;           // in BAR0
    std::uint32_t msix_pba_offset = 0x3000;             // in BAR0
    bool strict_ordering = false;  // PCI_EXP_DEVCTL_RELAX_EN is off at power-on
    bool has_vendor_gateway = false;
  };
  explicit ConfigSpace(const Options& options);

  /// Back to the values of power-on.
  void reset();
  /// `offset` + size must lie within kBytes.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  /// What a write asks of the device besides being stored.
  struct Effect {
    bool function_reset = false;  // PCI_EXP_DEVCTL_BCR_FLR was written
  };
  Effect write(std::uint64_t offset, std::span<const std::byte> from);

  /// PCI_COMMAND_MASTER: without it no DMA and no interrupt.
  [[nodiscard]] bool bus_master() const;
  /// PCI_COMMAND_MEMORY: without it BAR0 does not answer.
  [[nodiscard]] bool memory_enabled() const;
  /// MSI-X is on and not masked as a whole.
  [[nodiscard]] bool msix_enabled() const;

 private:
  void put(std::size_t offset, std::uint64_t value, std::size_t bytes);
  void allow(std::size_t offset, std::uint64_t mask, std::size_t bytes);
  [[nodiscard]] std::uint32_t get(std::size_t offset, std::size_t bytes) const;
  void fill_header();
  void fill_capabilities();

  Options options_;
  std::array<std::byte, kBytes> values_{};
  std::array<std::byte, kBytes> writable_{};
};

}  // namespace portcullis::model::vfio_user
