// SPDX-License-Identifier: BSD-3-Clause
#include "model/dma.hpp"

#include <algorithm>
#include <cstring>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"

namespace portcullis::model {

/// Calls copy(memory, offset, bytes) for each piece that lies in one page.
template <class Copy>
bool Dma::by_page(Iova at, std::size_t bytes, Copy copy) noexcept {
  if (!bus_master_) return fault();
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece =
        std::min<std::size_t>(bytes - done, kPageBytes - (at + done) % kPageBytes);
    std::byte* memory = iommu_->lookup(at + done);
    if (memory == nullptr) return fault();
    copy(memory, done, piece);
    done += piece;
  }
  return true;
}

bool Dma::read(Iova from, std::span<std::byte> to) noexcept {
  return by_page(from, to.size(), [&](std::byte* memory, std::size_t at, std::size_t bytes) {
    std::memcpy(to.data() + at, memory, bytes);
  });
}

bool Dma::write(Iova to, std::span<const std::byte> from) noexcept {
  return by_page(to, from.size(), [&](std::byte* memory, std::size_t at, std::size_t bytes) {
    std::memcpy(memory, from.data() + at, bytes);
  });
}

bool Dma::read_payload(Iova from, std::span<std::byte> to) noexcept {
  return by_page(from, to.size(), [&](std::byte* memory, std::size_t at, std::size_t bytes) {
    dma_copy(to.data() + at, memory, bytes);
  });
}

bool Dma::write_payload(Iova to, std::span<const std::byte> from) noexcept {
  return by_page(to, from.size(), [&](std::byte* memory, std::size_t at, std::size_t bytes) {
    dma_copy(memory, from.data() + at, bytes);
  });
}

bool Dma::read_payload(const Extents& from, std::byte* to) noexcept {
  for (std::uint32_t i = 0; i < from.count; ++i) {
    const Extent& extent = from.extent[i];
    if (!read_payload(extent.iova, std::span<std::byte>(to, extent.bytes))) return false;
    to += extent.bytes;
  }
  return true;
}

bool Dma::write_payload(const Extents& to, const std::byte* from) noexcept {
  for (std::uint32_t i = 0; i < to.count; ++i) {
    const Extent& extent = to.extent[i];
    if (!write_payload(extent.iova, std::span<const std::byte>(from, extent.bytes))) return false;
    from += extent.bytes;
  }
  return true;
}

std::optional<std::uint32_t> Dma::load_be32(Iova at) noexcept {
  std::byte* memory = bus_master_ && at % 4 == 0 ? iommu_->lookup(at) : nullptr;
  if (memory == nullptr) {
    fault();
    return std::nullopt;
  }
  return cells::be32(cells::load_acquire<std::uint32_t>(memory));
}

std::optional<std::uint8_t> Dma::load_u8(Iova at) noexcept {
  std::byte* memory = bus_master_ ? iommu_->lookup(at) : nullptr;
  if (memory == nullptr) {
    fault();
    return std::nullopt;
  }
  return cells::load_acquire<std::uint8_t>(memory);
}

bool Dma::publish(Iova to, std::span<const std::byte> entry) noexcept {
  std::byte* memory = window(to, entry.size());
  if (memory == nullptr) return fault();
  std::memcpy(memory, entry.data(), entry.size() - 1);
  cells::store_release<std::uint8_t>(memory + entry.size() - 1,
                                     std::to_integer<std::uint8_t>(entry.back()));
  return true;
}

std::byte* Dma::window_over_pages(Iova at, std::size_t bytes) const noexcept {
  std::byte* first = iommu_->lookup(at);
  if (first == nullptr || bytes > ~at) return nullptr;
  for (Iova page = (at / kPageBytes + 1) * kPageBytes; page < at + bytes; page += kPageBytes)
    if (iommu_->lookup(page) != first + (page - at)) return nullptr;
  return first;
}

bool Dma::reachable(Iova at, std::size_t bytes) const noexcept {
  if (!bus_master_ || bytes > ~at) return false;
  for (Iova page = at / kPageBytes * kPageBytes; page < at + bytes; page += kPageBytes)
    if (iommu_->lookup(page) == nullptr) return false;
  return true;
}

}  // namespace portcullis::model
