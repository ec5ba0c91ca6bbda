// SPDX-License-Identifier: BSD-3-Clause
//
// Which IOVAs are in use. Hands out windows of whole 2 MiB, the lowest first and all below 2^47:
// not every device, bridge and table takes an address of 64 bits, whatever the IOMMU's aperture
// says. DPDK maps its own memory in the same container, at virtual addresses; who maps finds out
// (VfioDmaSpace::map) and takes the next window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/device.hpp"

namespace portcullis::pmd {

class IovaAllocator {
 public:
  /// What IOVA and virtual address agree in: the size of an IOMMU's large page.
  static constexpr std::uint64_t kAlignment = std::uint64_t{2} << 20;

  /// One past the last address: what a process can have as virtual addresses too.
  static constexpr Iova kEnd = Iova{1} << 47;

  /// [first, last], both ends included, may be handed out where it lies below kEnd; never IOVA 0.
  void add(Iova first, Iova last);
  /// An address congruent to `offset` modulo kAlignment with `bytes` free behind it.
  [[nodiscard]] std::optional<Iova> allocate(std::uint64_t offset, std::uint64_t bytes);
  /// Gives back what allocate returned for the same `bytes`. What is never given back is never
  /// handed out again.
  void release(Iova iova, std::uint64_t bytes);

 private:
  void insert(Iova begin, Iova end);

  std::map<Iova, Iova> free_;  // first to one past last, disjoint, not adjacent, whole windows
};

}  // namespace portcullis::pmd
