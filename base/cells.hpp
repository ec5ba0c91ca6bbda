// SPDX-License-Identifier: BSD-3-Clause
//
// The words that two sides share without a lock: ownership bits, owner bytes, doorbell cells,
// doorbell records, registers. Each is an atomic access with the order its one purpose needs;
// docs/memory-order.md says which guarantee each gives. This file and base/dma_bytes.hpp are the
// only ones that turn raw memory into such accesses.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace portcullis::cells {

template <class T>
concept CellWord = std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint32_t> ||
    std::is_same_v<T, std::uint64_t>;

/// The word at `at`, which must be aligned for T.
template <CellWord T>
[[nodiscard]] inline std::atomic_ref<T> word(std::byte* at) noexcept {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(at));
}

/// Reads an ownership bit, owner byte, record or register; what its writer released before it is
/// visible afterwards (dma_rmb of the kernel, udma_from_device_barrier of rdma-core).
template <CellWord T>
[[nodiscard]] inline T load_acquire(const std::byte* at) noexcept {
  return word<T>(const_cast<std::byte*>(at)).load(std::memory_order_acquire);
}

/// Hands over: all earlier stores are visible to whoever acquires this word (dma_wmb,
/// udma_to_device_barrier).
template <CellWord T>
inline void store_release(std::byte* at, T value) noexcept {
  word<T>(at).store(value, std::memory_order_release);
}

/// A doorbell or register store. A BAR mapped by VFIO is uncached, so on x86 the store leaves in
/// program order after the memory stores before it; release keeps the compiler to that order.
template <CellWord T>
inline void ring(std::byte* at, T value) noexcept {
  word<T>(at).store(value, std::memory_order_release);
}

/// The device's half of a doorbell in process: takes the kick and leaves none.
template <CellWord T>
[[nodiscard]] inline T take(std::byte* at) noexcept {
  // A plain load first: an idle cell stays shared in the poller's cache.
  if (word<T>(at).load(std::memory_order_relaxed) == 0) return 0;
  return word<T>(at).exchange(0, std::memory_order_acq_rel);
}

/// Big-endian to host and back.
[[nodiscard]] constexpr std::uint16_t be16(std::uint16_t v) noexcept {
  return __builtin_bswap16(v);
}
[[nodiscard]] constexpr std::uint32_t be32(std::uint32_t v) noexcept {
  return __builtin_bswap32(v);
}
[[nodiscard]] constexpr std::uint64_t be64(std::uint64_t v) noexcept {
  return __builtin_bswap64(v);
}
static_assert(std::endian::native == std::endian::little, "big-endian hosts are not supported");

}  // namespace portcullis::cells
