// SPDX-License-Identifier: BSD-3-Clause
#include "base/dma_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/dma_bytes.hpp"

namespace portcullis {
namespace {

/// Zeroed anonymous memory whose address is a multiple of `alignment` (a power of two >= a page).
Result<std::span<std::byte>> map_pages(std::size_t bytes, std::size_t alignment) {
  const std::size_t reserved = bytes + alignment - kPageBytes;
  void* raw = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED)
    return fail(Errc::OutOfResources, "cannot map " + std::to_string(bytes) +
                                          " bytes of memory: " + std::strerror(errno));
  auto* start = static_cast<std::byte*>(raw);
  const auto address = std::bit_cast<std::uintptr_t>(start);
  const std::size_t skip = (alignment - address % alignment) % alignment;
  const std::size_t rest = reserved - skip - bytes;
  if (skip != 0) munmap(start, skip);
  if (rest != 0) munmap(start + skip + bytes, rest);
  return std::span<std::byte>(start + skip, bytes);
}

void unmap_pages(std::span<std::byte> memory) noexcept { munmap(memory.data(), memory.size()); }

}  // namespace

Result<DmaMemory> DmaMemory::create(DmaSpace& space, std::size_t bytes) {
  if (bytes == 0)
    return fail(Errc::InvalidArgument, "a DMA region of 0 bytes; at least 1 expected");
  const std::size_t whole = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  PORTCULLIS_TRY_ASSIGN(const std::span<std::byte> memory, map_pages(whole, kPageBytes));
  auto iova = space.map(memory);
  if (!iova) {
    unmap_pages(memory);
    return forward_error(std::move(iova));
  }
  return DmaMemory(space, memory, *iova);
}

DmaMemory::DmaMemory(DmaMemory&& other) noexcept
    : space_(other.space_),
      memory_(std::exchange(other.memory_, {})),
      iova_(other.iova_),
      mapped_(std::exchange(other.mapped_, false)),
      retired_(other.retired_) {}

DmaMemory& DmaMemory::operator=(DmaMemory&& other) noexcept {
  if (this != &other) {
    release();
    space_ = other.space_;
    memory_ = std::exchange(other.memory_, {});
    iova_ = other.iova_;
    mapped_ = std::exchange(other.mapped_, false);
    retired_ = other.retired_;
  }
  return *this;
}

DmaMemory::~DmaMemory() { release(); }

Result<void> DmaMemory::unmap() {
  if (!mapped_) return {};
  PORTCULLIS_TRY(space_->unmap(iova_, memory_.size()));
  mapped_ = false;
  return {};
}

Result<void> DmaMemory::map() {
  if (mapped_) return {};
  if (retired_)
    return fail(Errc::InvalidArgument,
                "memory that a key in the device may name is never mapped "
                "again; memory that was only unmapped is");
  PORTCULLIS_TRY_ASSIGN(iova_, space_->map(memory_));
  mapped_ = true;
  return {};
}

Result<void> DmaMemory::retire() {
  if (mapped_) PORTCULLIS_TRY(space_->retire(iova_, memory_.size()));
  mapped_ = false;
  retired_ = true;
  return {};
}

void DmaMemory::release() noexcept {
  if (memory_.empty()) return;
  if (retired_) {
    // The range stays reserved; only the pages behind it go back.
    madvise(memory_.data(), memory_.size(), MADV_DONTNEED);
  } else if (unmap()) {
    unmap_pages(memory_);
  }
  memory_ = {};
}

DmaBuffer::DmaBuffer(DmaBuffer&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      memory_(std::exchange(other.memory_, {})),
      iova_(other.iova_) {}

DmaBuffer& DmaBuffer::operator=(DmaBuffer&& other) noexcept {
  if (this != &other) {
    if (arena_ != nullptr) arena_->give_back(memory_);
    arena_ = std::exchange(other.arena_, nullptr);
    memory_ = std::exchange(other.memory_, {});
    iova_ = other.iova_;
  }
  return *this;
}

DmaBuffer::~DmaBuffer() {
  if (arena_ != nullptr) arena_->give_back(memory_);
}

void DmaBuffer::quarantine() noexcept {
  arena_ = nullptr;
  memory_ = {};
}

// Orders run from kLeastBytes (0) to kBlockBytes (kOrders - 1). A free piece stands in the list of
// its order; two free buddies merge when the second comes back, and a whole block stays mapped: the
// number of mappings only follows the high-water mark.
struct DmaArena::State {
  static constexpr std::size_t kOrders =
      std::bit_width(kBlockBytes) - std::bit_width(kLeastBytes) + 1;

  struct Block {
    std::span<std::byte> memory;
    Iova iova;
  };

  explicit State(DmaSpace& s) : space(&s) {}

  DmaSpace* space;
  std::vector<Block> blocks;
  std::array<std::vector<std::byte*>, kOrders> free;
  std::size_t in_use = 0;

  static std::size_t order_of(std::size_t bytes) {
    const std::size_t rounded = std::max(std::bit_ceil(bytes), kLeastBytes);
    return static_cast<std::size_t>(std::bit_width(rounded) - std::bit_width(kLeastBytes));
  }
  static std::size_t bytes_of(std::size_t order) { return kLeastBytes << order; }

  [[nodiscard]] const Block& block_of(const std::byte* at) const {
    return *std::find_if(blocks.begin(), blocks.end(), [at](const Block& block) {
      return at >= block.memory.data() && at < block.memory.data() + block.memory.size();
    });
  }

  Result<void> add_block() {
    PORTCULLIS_TRY_ASSIGN(const std::span<std::byte> memory, map_pages(kBlockBytes, kBlockBytes));
    auto iova = space->map(memory);
    if (!iova) {
      unmap_pages(memory);
      return forward_error(std::move(iova));
    }
    blocks.push_back({memory, *iova});
    free[kOrders - 1].push_back(memory.data());
    return {};
  }

  /// A free piece of `order`, splitting a larger one where needed; null when there is none.
  std::byte* take(std::size_t order) {
    std::size_t from = order;
    while (from < kOrders && free[from].empty()) ++from;
    if (from == kOrders) return nullptr;
    std::byte* piece = free[from].back();
    free[from].pop_back();
    for (; from > order; --from) free[from - 1].push_back(piece + bytes_of(from - 1));
    return piece;
  }

  void put(std::byte* piece, std::size_t order) {
    const Block& block = block_of(piece);
    while (order + 1 < kOrders) {
      const auto offset = static_cast<std::size_t>(piece - block.memory.data());
      std::byte* buddy = block.memory.data() + (offset ^ bytes_of(order));
      auto at = std::find(free[order].begin(), free[order].end(), buddy);
      if (at == free[order].end()) break;
      *at = free[order].back();
      free[order].pop_back();
      piece = std::min(piece, buddy);
      ++order;
    }
    free[order].push_back(piece);
  }
};

DmaArena::DmaArena(DmaSpace& space) : state_(std::make_unique<State>(space)) {}

DmaArena::~DmaArena() {
  for (const State::Block& block : state_->blocks) {
    // A block the device will not let go of is kept: see DmaMemory.
    if (state_->space->unmap(block.iova, block.memory.size())) unmap_pages(block.memory);
  }
}

Result<DmaBuffer> DmaArena::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > kBlockBytes)
    return fail(Errc::InvalidArgument, "a DMA buffer of " + std::to_string(bytes) +
                                           " bytes; 1 to " + std::to_string(kBlockBytes) +
                                           " expected");
  const std::size_t order = State::order_of(bytes);
  std::byte* piece = state_->take(order);
  if (piece == nullptr) {
    PORTCULLIS_TRY(state_->add_block());
    piece = state_->take(order);
  }
  const State::Block& block = state_->block_of(piece);
  const std::span<std::byte> memory(piece, State::bytes_of(order));
  dma_fill(memory, std::byte{0});
  state_->in_use += memory.size();
  return DmaBuffer(this, memory, block.iova + static_cast<Iova>(piece - block.memory.data()));
}

std::size_t DmaArena::bytes_in_use() const noexcept { return state_->in_use; }

void DmaArena::give_back(std::span<std::byte> memory) noexcept {
  state_->in_use -= memory.size();
  state_->put(memory.data(), State::order_of(memory.size()));
}

}  // namespace portcullis
