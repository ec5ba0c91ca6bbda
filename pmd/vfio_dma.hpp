// SPDX-License-Identifier: BSD-3-Clause
//
// DMA space of a VFIO type 1 container. Mapped here and not through rte_vfio_container_dma_map,
// which keeps at most 256 user maps; the kernel's own limit is 65,535 (dma_entry_limit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "pmd/iova_allocator.hpp"

namespace portcullis::pmd {

/// Both ends included.
struct IovaRange {
  Iova first = 0;
  Iova last = 0;
};

/// The ranges that VFIO_IOMMU_GET_INFO answered, from its capability chain; empty when the kernel
/// does not tell.
[[nodiscard]] std::vector<IovaRange> iova_ranges_in(std::span<const std::byte> info);

class VfioDmaSpace final : public DmaSpace {
 public:
  /// `container_fd` stays the caller's and must outlive the space.
  [[nodiscard]] static Result<std::unique_ptr<VfioDmaSpace>> create(int container_fd);

  [[nodiscard]] Result<Iova> map(std::span<std::byte> memory) override;
  [[nodiscard]] Result<void> unmap(Iova iova, std::size_t bytes) override;
  [[nodiscard]] Result<void> retire(Iova iova, std::size_t bytes) override;

 private:
  explicit VfioDmaSpace(int container_fd) noexcept : container_fd_(container_fd) {}

  int container_fd_;
  IovaAllocator iovas_;
};

}  // namespace portcullis::pmd
