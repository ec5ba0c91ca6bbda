// SPDX-License-Identifier: BSD-3-Clause
#include "service/region_watch.hpp"

#include "base/dma_bytes.hpp"

namespace portcullis::service {

RegionWatch::RegionWatch(std::span<const std::byte> region, Clock clock)
    : region_(region), clock_(clock), word_(dma_peek_u64(region.data())) {}

void RegionWatch::look() noexcept {
  const std::uint64_t word = dma_peek_u64(region_.data());
  if (word == word_) return;
  word_ = word;
  ++changes_;
  last_change_ns_ = clock_.now_ns();
}

void RegionWatch::freeze() {
  look();
  frozen_.resize(region_.size());
  dma_copy(frozen_.data(), region_.data(), region_.size());
}

std::optional<RegionWatch::Difference> RegionWatch::first_difference() const {
  for (std::size_t i = 0; i < frozen_.size(); ++i)
    if (const std::byte is = dma_peek(&region_[i]); is != frozen_[i])
      return Difference{i, frozen_[i], is};
  return std::nullopt;
}

}  // namespace portcullis::service
