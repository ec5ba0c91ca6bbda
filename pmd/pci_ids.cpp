// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/pci_ids.hpp"

#include <fmt/format.h>

namespace portcullis::pmd {

std::string pci_id_text(std::uint16_t vendor_id, std::uint16_t device_id) {
  return fmt::format("{:04x}:{:04x}", vendor_id, device_id);
}

Result<void> check_pci_id(std::uint16_t vendor_id, std::uint16_t device_id) {
  if (vendor_id == kMellanoxVendorId &&
      (device_id == kConnectX5DeviceId || device_id == kConnectX5VfDeviceId))
    return {};
  return fail(Errc::Unsupported,
              fmt::format("PCI id {}; {} (ConnectX-5) or {} (its virtual function) expected",
                          pci_id_text(vendor_id, device_id),
                          pci_id_text(kMellanoxVendorId, kConnectX5DeviceId),
                          pci_id_text(kMellanoxVendorId, kConnectX5VfDeviceId)));
}

}  // namespace portcullis::pmd
