// SPDX-License-Identifier: BSD-3-Clause
#include "model/dma.hpp"

#include <algorithm>
#include <cstring>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "model/model.hpp"
#include "model/steering/sw_icm.hpp"

namespace portcullis::model {

void Dma::tell(const std::byte* memory, std::size_t bytes, Direction direction) const noexcept {
  if (observer_ != nullptr) observer_->on_dma({memory, bytes}, direction == Direction::Write);
}

/// A piece of one page that lookup() did not find. Messages go through a page of our own, so that
/// `copy` sees memory in every case.
template <class Copy>
bool Dma::special_piece(Iova at, std::size_t bytes, Direction direction, Copy copy) noexcept {
  const Iommu::Special* const range = iommu_->special(at);
  if (range != nullptr && !(direction == Direction::Read ? range->readable : range->writeable))
    return false;
  if (range != nullptr && range->memory != nullptr) {
    std::byte* const memory = range->memory + (at - range->iova);
    copy(memory);
    tell(memory, bytes, direction);
    return true;
  }
  // An address in no range goes out as well: a device does not know what is mapped, and it is the
  // guest's IOMMU that says no and records the fault.
  if (remote_ == nullptr) return false;
  std::array<std::byte, kPageBytes> page;
  const std::span<std::byte> piece(page.data(), bytes);
  if (direction == Direction::Read && !remote_->read(at, piece)) return false;
  copy(page.data());
  return direction == Direction::Read || remote_->write(at, piece);
}

/// Calls copy(memory, offset, bytes) for each piece that lies in one page.
template <class Copy>
bool Dma::by_page(Iova at, std::size_t bytes, Direction direction, Copy copy) noexcept {
  for (std::size_t done = 0; done < bytes;) {
    if (!bus_master_) return fault();  // taken away while an earlier piece was asked for by message
    const std::size_t piece =
        std::min<std::size_t>(bytes - done, kPageBytes - (at + done) % kPageBytes);
    if (std::byte* memory = iommu_->lookup(at + done); memory != nullptr) {
      copy(memory, done, piece);
      tell(memory, piece, direction);
    } else if (const std::byte* old = iommu_->stale(at + done); old != nullptr) {
      std::array<std::byte, kPageBytes> nothing{};
      if (direction == Direction::Read) copy(nothing.data(), done, piece);
      tell(old, piece, direction);
    } else if (!special_piece(at + done, piece, direction,
                              [&](std::byte* where) { copy(where, done, piece); })) {
      return fault();
    }
    done += piece;
  }
  return true;
}

bool Dma::read(Iova from, std::span<std::byte> to) noexcept {
  const auto copy = [&](const std::byte* memory, std::size_t at, std::size_t bytes) {
    std::memcpy(to.data() + at, memory, bytes);
  };
  return by_page(from, to.size(), Direction::Read, copy);
}

bool Dma::write(Iova to, std::span<const std::byte> from) noexcept {
  const auto copy = [&](std::byte* memory, std::size_t at, std::size_t bytes) {
    std::memcpy(memory, from.data() + at, bytes);
  };
  return by_page(to, from.size(), Direction::Write, copy);
}

bool Dma::read_payload(Iova from, std::span<std::byte> to) noexcept {
  const auto copy = [&](const std::byte* memory, std::size_t at, std::size_t bytes) {
    dma_copy(to.data() + at, memory, bytes);
  };
  return by_page(from, to.size(), Direction::Read, copy);
}

bool Dma::write_payload(Iova to, std::span<const std::byte> from) noexcept {
  const auto copy = [&](std::byte* memory, std::size_t at, std::size_t bytes) {
    dma_copy(memory, from.data() + at, bytes);
  };
  return by_page(to, from.size(), Direction::Write, copy);
}

bool Dma::read_device(Iova from, std::span<std::byte> to) const noexcept {
  if (from >= bar_.size()) return steering_memory_ != nullptr && steering_memory_->read(from, to);
  dma_copy(to.data(), bar_.subspan(from, to.size()).data(), to.size());
  return true;
}

bool Dma::write_device(Iova to, std::span<const std::byte> from) noexcept {
  if (to >= bar_.size()) return steering_memory_ != nullptr && steering_memory_->write(to, from);
  dma_copy(bar_.subspan(to, from.size()).data(), from.data(), from.size());
  return true;
}

bool Dma::read_payload(const Extents& from, std::byte* to) noexcept {
  for (std::uint32_t i = 0; i < from.count; ++i) {
    const Extent& extent = from.extent[i];
    const std::span<std::byte> piece(to, extent.bytes);
    if (!(extent.on_device ? read_device(extent.iova, piece) : read_payload(extent.iova, piece)))
      return false;
    to += extent.bytes;
  }
  return true;
}

bool Dma::write_payload(const Extents& to, const std::byte* from) noexcept {
  for (std::uint32_t i = 0; i < to.count; ++i) {
    const Extent& extent = to.extent[i];
    const std::span<const std::byte> piece(from, extent.bytes);
    if (!(extent.on_device ? write_device(extent.iova, piece) : write_payload(extent.iova, piece)))
      return false;
    from += extent.bytes;
  }
  return true;
}

std::optional<std::uint32_t> Dma::load_be32(Iova at) noexcept {
  if (bus_master_ && at % 4 == 0) {
    if (std::byte* memory = iommu_->lookup(at); memory != nullptr) {
      tell(memory, sizeof(std::uint32_t), Direction::Read);
      return cells::be32(cells::load_acquire<std::uint32_t>(memory));
    }
    std::uint32_t raw = 0;
    const auto load = [&raw](std::byte* where) { raw = cells::load_acquire<std::uint32_t>(where); };
    if (special_piece(at, sizeof raw, Direction::Read, load)) return cells::be32(raw);
  }
  fault();
  return std::nullopt;
}

std::optional<std::uint8_t> Dma::load_u8(Iova at) noexcept {
  if (bus_master_) {
    if (std::byte* memory = iommu_->lookup(at); memory != nullptr) {
      tell(memory, 1, Direction::Read);
      return cells::load_acquire<std::uint8_t>(memory);
    }
    std::uint8_t value = 0;
    const auto load = [&](std::byte* where) { value = cells::load_acquire<std::uint8_t>(where); };
    if (special_piece(at, sizeof value, Direction::Read, load)) return value;
  }
  fault();
  return std::nullopt;
}

bool Dma::publish(Iova to, std::span<const std::byte> entry) noexcept {
  const auto body = entry.first(entry.size() - 1);
  const auto last = std::to_integer<std::uint8_t>(entry.back());
  if (std::byte* memory = window(to, entry.size()); memory != nullptr) {
    std::memcpy(memory, body.data(), body.size());
    cells::store_release<std::uint8_t>(memory + body.size(), last);
    tell(memory, entry.size(), Direction::Write);
    return true;
  }
  // By messages the order is theirs: the last byte has one of its own.
  if (!bus_master_ || to % kPageBytes + entry.size() > kPageBytes) return fault();
  const auto store_body = [&](std::byte* at) { std::memcpy(at, body.data(), body.size()); };
  const auto store_last = [&](std::byte* at) { cells::store_release<std::uint8_t>(at, last); };
  if (special_piece(to, body.size(), Direction::Write, store_body) && bus_master_ &&
      special_piece(to + body.size(), 1, Direction::Write, store_last))
    return true;
  return fault();
}

std::byte* Dma::window_over_pages(Iova at, std::size_t bytes) const noexcept {
  std::byte* first = iommu_->lookup(at);
  if (first == nullptr || bytes > ~at) return nullptr;
  for (Iova page = (at / kPageBytes + 1) * kPageBytes; page < at + bytes; page += kPageBytes)
    if (iommu_->lookup(page) != first + (page - at)) return nullptr;
  return first;
}

}  // namespace portcullis::model
