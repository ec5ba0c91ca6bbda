// SPDX-License-Identifier: BSD-3-Clause
//
// The device's view of memory where the kernel keeps the NIC: each mapping is a umem. Nobody learns
// an IOVA there, so an address stands for itself, and devx/memory_names.hpp turns the addresses of
// a command into umems and offsets.
//
// unmap() takes the device's access away when it succeeds: the kernel destroys the umem, then
// unmaps and unpins its pages (devx_umem_cleanup, ib_umem_release). Where a key may still name the
// memory, that is worth something in a strict IOMMU domain alone, so retire() wants one. The system
// call has a thread of its own: a device that hangs keeps nobody longer than kPatience.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
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
  /// How long a call waits for the kernel to take a umem back. It goes on with it, and the next
  /// call has its answer.
  static constexpr std::chrono::milliseconds kPatience{400};

  /// Timeout when the kernel does not come back; the mapping stays then.
  [[nodiscard]] Result<void> unmap(Iova iova, std::size_t bytes) override;
  /// Unsupported, and the mapping stays, where an unmap does not keep a live key from memory.
  [[nodiscard]] Result<void> retire(Iova iova, std::size_t bytes) override;
  /// Where [iova, iova + bytes) lies; none unless one mapping holds all of it.
  [[nodiscard]] std::optional<UmemSlice> find(Iova iova, std::uint64_t bytes) const noexcept;

 private:
  struct Mapping {
    std::size_t bytes = 0;
    UmemId umem{};
    std::future<Result<void>>
        removal{};  // of a call that has not come back; waits for it at its end
  };
  Provider* provider_;
  std::map<Iova, Mapping> mappings_;  // by their first byte
};

}  // namespace portcullis::devx
