// SPDX-License-Identifier: BSD-3-Clause
//
// The device's view of memory where the kernel keeps the NIC: each mapping is a umem. Nobody learns
// an IOVA there, so an address stands for itself, and devx/memory_names.hpp turns the addresses of
// a command into umems and offsets.
//
// unmap() takes the device's access away when it succeeds: the kernel destroys the umem, then
// unmaps and unpins its pages (devx_umem_cleanup, ib_umem_release). Whether that returns after the
// last DMA depends on the IOMMU domain being strict, as everywhere in Linux.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/device.hpp"
#include "devx/provider.hpp"

namespace portcullis::devx {

struct UmemSlice {
  UmemId umem{};
  std::uint64_t offset = 0;  // from the umem's first byte

  bool operator==(const UmemSlice&) const = default;
};

class MemorySpace final : public DmaSpace {
 public:
  /// `provider` must outlive it.
  explicit MemorySpace(Provider& provider) noexcept : provider_(&provider) {}

  [[nodiscard]] Result<Iova> map(std::span<std::byte> memory) override;
  [[nodiscard]] Result<void> unmap(Iova iova, std::size_t bytes) override;
  /// Where [iova, iova + bytes) lies; none unless one mapping holds all of it.
  [[nodiscard]] std::optional<UmemSlice> find(Iova iova, std::uint64_t bytes) const noexcept;

 private:
  struct Mapping {
    std::size_t bytes = 0;
    UmemId umem{};
  };
  Provider* provider_;
  std::map<Iova, Mapping> mappings_;  // by their first byte
};

}  // namespace portcullis::devx
