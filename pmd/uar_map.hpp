// SPDX-License-Identifier: BSD-3-Clause
//
// Where the page of a UAR is, when not in the BAR: a kernel driver that keeps the NIC maps each one
// by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace portcullis::pmd {

class UarMap {
 public:
  virtual ~UarMap() = default;
  /// 4 KiB of the UAR that ALLOC_UAR named; empty for another one.
  [[nodiscard]] virtual std::span<std::byte> page(std::uint32_t index) const noexcept = 0;
};

}  // namespace portcullis::pmd
