// SPDX-License-Identifier: BSD-3-Clause
//
// A DmaSpace that only keeps the books: which ranges are mapped, and refusals on demand.
#pragma once

#include <cstdint>
#include <map>

#include "base/device.hpp"
#include "base/host_patience.hpp"

namespace portcullis::testing {

class FakeDmaSpace final : public DmaSpace {
 public:
  Result<Iova> map(std::span<std::byte> memory) override {
    if (refuse_map) return fail(Errc::OutOfResources, "no IOVA left");
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const Iova iova = next + address % kHugePage;
    next += (memory.size() / kHugePage + 2) * kHugePage;
    mapped[iova] = memory.size();
    return iova;
  }
  Result<void> unmap(Iova iova, std::size_t bytes) override {
    if (refuse_unmap) return fail(Errc::System, "unmap refused");
    unmap_until_ns = HostPatience::until_ns();
    if (mapped[iova] != bytes) return fail(Errc::InvalidArgument, "not mapped so");
    mapped.erase(iova);
    return {};
  }

  static constexpr Iova kHugePage = Iova{2} << 20;
  Iova next = Iova{1} << 40;
  std::map<Iova, std::size_t> mapped;
  std::uint64_t unmap_until_ns = 0;  // how long the last one might have waited
  bool refuse_map = false;
  bool refuse_unmap = false;
};

}  // namespace portcullis::testing
