// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/device_control.hpp"

#include <linux/pci_regs.h>

#include "pmd/pci_ids.hpp"

namespace portcullis::pmd {

std::optional<bool> relaxed_ordering_of(std::uint16_t device_control,
                                        std::uint16_t device_id) noexcept {
  if ((device_control & PCI_EXP_DEVCTL_RELAX_EN) != 0) return true;
  if (device_id == kConnectX5VfDeviceId) return std::nullopt;
  return false;
}

}  // namespace portcullis::pmd
