// SPDX-License-Identifier: BSD-3-Clause
#include "model/hca_server/store_queue.hpp"

#include <algorithm>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "model/vfio_user/connection.hpp"

namespace portcullis::model {

void StoreQueue::push(std::uint64_t offset, std::span<const std::byte> from) {
  stores_.push_back({offset, {from.begin(), from.end()}});
  bytes_ += from.size();
}

void StoreQueue::apply_oldest(std::span<std::byte> bar) {
  if (stores_.empty()) return;
  const auto& [offset, data] = stores_.front();
  std::byte* const at = bar.subspan(offset, data.size()).data();
  if (data.size() == sizeof(std::uint32_t) && offset % sizeof(std::uint32_t) == 0) {
    cells::ring<std::uint32_t>(at, *vfio_user::decode<std::uint32_t>(data));
  } else if (data.size() == sizeof(std::uint64_t) && offset % sizeof(std::uint64_t) == 0) {
    cells::ring<std::uint64_t>(at, *vfio_user::decode<std::uint64_t>(data));
  } else {
    dma_copy(at, data.data(), data.size());
  }
  bytes_ -= data.size();
  stores_.pop_front();
}

void StoreQueue::overlay(std::uint64_t offset, std::span<std::byte> to) const {
  const std::uint64_t end = offset + to.size();
  for (const Store& store : stores_) {
    const std::uint64_t first = std::max(offset, store.offset);
    const std::uint64_t last = std::min<std::uint64_t>(end, store.offset + store.data.size());
    if (first >= last) continue;
    const auto piece = std::span(store.data).subspan(first - store.offset, last - first);
    std::copy(piece.begin(), piece.end(), to.begin() + static_cast<std::ptrdiff_t>(first - offset));
  }
}

void StoreQueue::clear() noexcept {
  stores_.clear();
  bytes_ = 0;
}

}  // namespace portcullis::model
