// SPDX-License-Identifier: BSD-3-Clause
//
// The IOMMU in front of the model: its own IOVA space and one page table. An IOVA never equals the
// virtual address behind it, so a driver that confuses the two meets a fault, not luck. Looking a
// page up is one load from a flat table that the kernel commits lazily.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/device.hpp"
#include "base/result.hpp"

namespace portcullis::model {

class Iommu {
 public:
  /// System when the page table cannot be reserved.
  [[nodiscard]] static Result<Iommu> create();
  Iommu(Iommu&& other) noexcept;
  Iommu& operator=(Iommu&&) = delete;
  ~Iommu();

  /// As DmaSpace::map and unmap; `unmap` takes exactly what one `map` gave.
  [[nodiscard]] Result<Iova> map(std::span<std::byte> memory);
  [[nodiscard]] Result<void> unmap(Iova iova, std::size_t bytes);
  [[nodiscard]] std::size_t mappings() const noexcept { return mappings_.size(); }

  /// The byte behind `iova`, or null. Good to the end of its page.
  [[nodiscard]] std::byte* lookup(Iova iova) const noexcept {
    const std::uint64_t page = iova / kPageBytes;
    if (page >= kPages || pages_[page] == nullptr) return nullptr;
    return pages_[page] + iova % kPageBytes;
  }

 private:
  static constexpr std::uint64_t kPages = std::uint64_t{1} << 25;  // 128 GiB of IOVA space
  explicit Iommu(std::byte** pages) noexcept : pages_(pages) {}
  [[nodiscard]] Iova find_gap(std::uint64_t address, std::size_t bytes);

  std::byte** pages_;
  std::map<Iova, std::size_t> mappings_;
  Iova next_ = 0;  // next fit: a freed IOVA is not given again at once, so stale ones fault
};

}  // namespace portcullis::model
