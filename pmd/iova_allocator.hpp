// SPDX-License-Identifier: BSD-3-Clause
//
// Which IOVAs are in use. Hands out windows of whole 2 MiB from the top of the address space down:
// DPDK maps its own memory at virtual addresses near the bottom of the same container.
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

  /// [first, last], both ends included, may be handed out.
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
