// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration space of a PCI function, a dword at a time. Not every function lets its driver
// have it: one that its kernel driver keeps does not. Whoever has it is a PciFunction too.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace portcullis {

class ConfigAccess {
 public:
  virtual ~ConfigAccess() = default;
  /// `offset` is a multiple of 4 below 4096. DeviceGone, System.
  [[nodiscard]] virtual Result<std::uint32_t> read_config_dword(std::uint32_t offset) = 0;
  [[nodiscard]] virtual Result<void> write_config_dword(std::uint32_t offset,
                                                        std::uint32_t value) = 0;
};

}  // namespace portcullis
