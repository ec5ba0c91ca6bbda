// SPDX-License-Identifier: BSD-3-Clause
#include "model/vfio_user/config_space.hpp"

#include <linux/pci_regs.h>

#include <algorithm>

#include "model/vendor_gateway.hpp"

namespace portcullis::model::vfio_user {
namespace {

// Where the capabilities stand, first to last in the chain.
constexpr std::size_t kExpress = 0x60;
constexpr std::size_t kMsix = 0x9c;
constexpr std::size_t kVendor = VendorGateway::kAt;
constexpr std::size_t kPower = 0x40;

constexpr std::uint32_t kClassEthernet = 0x020000;
constexpr std::uint32_t kPayload512 = 2;      // PCI_EXP_DEVCAP_PAYLOAD: 128 << 2 bytes
constexpr std::uint32_t kLinkWidthShift = 4;  // PCI_EXP_LNKCAP_MLW, PCI_EXP_LNKSTA_NLW
constexpr std::uint32_t kLanes = 8;

}  // namespace

ConfigSpace::ConfigSpace(const Options& options) : options_(options) { reset(); }

void ConfigSpace::reset() {
  values_.fill(std::byte{0});
  writable_.fill(std::byte{0});
  fill_header();
  fill_capabilities();
}

void ConfigSpace::put(std::size_t offset, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    values_[offset + i] = static_cast<std::byte>(value >> (8 * i));
}

void ConfigSpace::allow(std::size_t offset, std::uint64_t mask, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    writable_[offset + i] = static_cast<std::byte>(mask >> (8 * i));
}

std::uint32_t ConfigSpace::get(std::size_t offset, std::size_t bytes) const {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= std::to_integer<std::uint32_t>(values_[offset + i]) << (8 * i);
  return value;
}

void ConfigSpace::fill_header() {
  put(PCI_VENDOR_ID, kVendorMellanox, 2);
  put(PCI_DEVICE_ID, options_.device_id, 2);
  put(PCI_STATUS, PCI_STATUS_CAP_LIST, 2);
  allow(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE, 2);
  put(PCI_CLASS_REVISION, kClassEthernet << 8, 4);
  allow(PCI_CACHE_LINE_SIZE, 0xff, 1);
  // Sizing: the bits below the size read as zero whatever is written.
  put(PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH, 4);
  allow(PCI_BASE_ADDRESS_0, ~(options_.bar_bytes - 1), 8);
  put(PCI_SUBSYSTEM_VENDOR_ID, kVendorMellanox, 2);
  put(PCI_SUBSYSTEM_ID, 0x0007, 2);
  put(PCI_CAPABILITY_LIST, kExpress, 1);
  allow(PCI_INTERRUPT_LINE, 0xff, 1);
}

void ConfigSpace::fill_capabilities() {
  put(kExpress + PCI_CAP_LIST_ID, PCI_CAP_ID_EXP, 1);
  put(kExpress + PCI_CAP_LIST_NEXT, kMsix, 1);
  put(kExpress + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4, 2);
  // Payload 512 bytes, role based error reporting, function level reset.
  put(kExpress + PCI_EXP_DEVCAP, kPayload512 | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR, 4);
  // BCR_FLR starts a reset and reads as zero.
  // A virtual function's bit for relaxed ordering is wired to 0: its PF's counts.
  const unsigned relaxed =
      options_.device_id == kDeviceConnectX5Vf ? 0U : unsigned{PCI_EXP_DEVCTL_RELAX_EN};
  const unsigned fixed = PCI_EXP_DEVCTL_BCR_FLR | (PCI_EXP_DEVCTL_RELAX_EN ^ relaxed);
  const unsigned begins = options_.strict_ordering ? 0U : relaxed;
  put(kExpress + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_READRQ_512B | begins, 2);
  allow(kExpress + PCI_EXP_DEVCTL, 0xffff & ~fixed, 2);
  put(kExpress + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_8_0GB | kLanes << kLinkWidthShift, 4);
  put(kExpress + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_8_0GB | kLanes << kLinkWidthShift, 2);
  // Without the vector Linux knows no speed above 5 GT/s (pcie_get_speed_cap of drivers/pci/pci.c).
  put(kExpress + PCI_EXP_LNKCAP2,
      PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB | PCI_EXP_LNKCAP2_SLS_8_0GB, 4);
  allow(kExpress + PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_CCC, 2);
  allow(kExpress + PCI_EXP_DEVCTL2, 0xffff, 2);

  put(kMsix + PCI_CAP_LIST_ID, PCI_CAP_ID_MSIX, 1);
  put(kMsix + PCI_CAP_LIST_NEXT, options_.has_vendor_gateway ? kVendor : kPower, 1);
  put(kMsix + PCI_MSIX_FLAGS, options_.msix_vectors - 1, 2);
  allow(kMsix + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL, 2);
  // The low bits name the BAR: 0.
  put(kMsix + PCI_MSIX_TABLE, options_.msix_table_offset, 4);
  put(kMsix + PCI_MSIX_PBA, options_.msix_pba_offset, 4);

  // What is behind the header is no memory: model/vendor_gateway.hpp.
  if (options_.has_vendor_gateway) put(kVendor, VendorGateway::header(kPower), 4);

  put(kPower + PCI_CAP_LIST_ID, PCI_CAP_ID_PM, 1);
  put(kPower + PCI_PM_PMC, 3, 2);
  put(kPower + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET, 2);
  allow(kPower + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK, 2);
}

void ConfigSpace::read(std::uint64_t offset, std::span<std::byte> to) const {
  std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
}

ConfigSpace::Effect ConfigSpace::write(std::uint64_t offset, std::span<const std::byte> from) {
  Effect effect;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t at = offset + i;
    values_[at] = (values_[at] & ~writable_[at]) | (from[i] & writable_[at]);
    constexpr std::size_t kResetByte = kExpress + PCI_EXP_DEVCTL + 1;
    constexpr auto kResetBit = static_cast<std::byte>(PCI_EXP_DEVCTL_BCR_FLR >> 8);
    if (at == kResetByte && (from[i] & kResetBit) != std::byte{0}) effect.function_reset = true;
  }
  return effect;
}

bool ConfigSpace::bus_master() const { return (get(PCI_COMMAND, 2) & PCI_COMMAND_MASTER) != 0; }

bool ConfigSpace::memory_enabled() const { return (get(PCI_COMMAND, 2) & PCI_COMMAND_MEMORY) != 0; }

bool ConfigSpace::msix_enabled() const {
  const std::uint32_t flags = get(kMsix + PCI_MSIX_FLAGS, 2);
  return (flags & PCI_MSIX_FLAGS_ENABLE) != 0 && (flags & PCI_MSIX_FLAGS_MASKALL) == 0;
}

}  // namespace portcullis::model::vfio_user
