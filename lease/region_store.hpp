// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of leases. Every region is pages of its own (never EAL heap), mapped for the device by
// itself so that it can be unmapped by itself, and counted against its tenant's quota.
//
//   fresh or clean   take()       mapped, zero, charged to the tenant
//   granted          give_back()  unmapped already, no DMA reaches it: dirty, charge gone
//   dirty            scrub()      zeroed a piece at a time on the idle path: clean
//
// A region is given back only when its lease is FREE. One whose memory is unproved, or whose lease
// is FENCED, stays with the lease and stays charged, so it can never be granted again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/device.hpp"
#include "base/dma_memory.hpp"
#include "base/result.hpp"

namespace portcullis::lease {

/// Who holds leases; quota and batches go by it.
using TenantId = std::uint64_t;

class RegionStore {
 public:
  struct Options {
    /// That all regions of one tenant may take together; 0 is no limit.
    std::uint64_t tenant_quota_bytes = 0;
    /// Given back and kept for the next grant of that size; what is above goes to the system.
    std::uint64_t keep_bytes = std::uint64_t{64} << 20;
  };
  /// Zeroed in one scrub(): some tens of microseconds.
  static constexpr std::size_t kScrubBytes = std::size_t{256} << 10;

  /// `space` must outlive it.
  RegionStore(DmaSpace& space, const Options& options) noexcept
      : space_(&space), options_(options) {}

  /// A region of whole pages, mapped and zero. OutOfResources names quota and use when they do not
  /// admit it.
  [[nodiscard]] Result<DmaMemory> take(TenantId tenant, std::uint64_t bytes);
  /// What take() gave to that tenant, after unmap().
  void give_back(TenantId tenant, DmaMemory region);
  /// The idle path: zeroes the next piece of what was given back. False when nothing is dirty.
  bool scrub();

  /// What the tenant's quota is charged with.
  [[nodiscard]] std::uint64_t bytes_of(TenantId tenant) const noexcept;
  /// Kept for the next grants.
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept { return kept_bytes_; }

 private:
  struct Dirty {
    DmaMemory region;
    std::size_t zeroed = 0;  // from the start
  };

  [[nodiscard]] Result<void> check_quota(TenantId tenant, std::uint64_t bytes) const;
  [[nodiscard]] Result<DmaMemory> make(std::uint64_t bytes);

  DmaSpace* space_;
  Options options_;
  std::unordered_map<TenantId, std::uint64_t> charged_;
  std::vector<Dirty> dirty_;
  std::unordered_map<std::uint64_t, std::vector<DmaMemory>> clean_;  // by size
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace portcullis::lease
