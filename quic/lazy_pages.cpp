// SPDX-License-Identifier: BSD-3-Clause
#include "quic/lazy_pages.hpp"

#include <ngtcp2/ngtcp2.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/sanitizers.hpp"
#if PORTCULLIS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace portcullis::quic {
namespace {

// What AddressSanitizer knows of malloc()'s memory by itself it is told of these mappings: what
// stands in them keeps other memory from being lost, and bytes that nobody has taken, or that were
// given back, are nobody's to read.
#if PORTCULLIS_ASAN
void tell_mapped(void* at, std::size_t bytes) noexcept {
  __lsan_register_root_region(at, bytes);
  __asan_poison_memory_region(at, bytes);
}
void tell_unmapped(void* at, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(at, bytes);
  __lsan_unregister_root_region(at, bytes);
}
void tell_taken(void* at, std::size_t bytes) noexcept { __asan_unpoison_memory_region(at, bytes); }
void tell_given_back(void* at, std::size_t bytes) noexcept {
  __asan_poison_memory_region(at, bytes);
}
#else
void tell_mapped(void* /*at*/, std::size_t /*bytes*/) noexcept {}
void tell_unmapped(void* /*at*/, std::size_t /*bytes*/) noexcept {}
void tell_taken(void* /*at*/, std::size_t /*bytes*/) noexcept {}
void tell_given_back(void* /*at*/, std::size_t /*bytes*/) noexcept {}
#endif

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMappingPages = 1024;
/// Smaller ones are malloc()'s: they are written whole.
constexpr std::size_t kLeastBytes = kPageBytes;

/// Of one room. A connection's windows are far smaller.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

/// In front of what was taken.
struct alignas(std::max_align_t) Head {
  std::size_t bytes;
  std::size_t pages;  // 0: malloc()'s
};

Head* head_of(void* taken) noexcept { return static_cast<Head*>(taken) - 1; }

void* begin(void* at, const Head& head) noexcept {
  return at == nullptr ? nullptr : ::new (at) Head(head) + 1;
}

}  // namespace

LazyPages::~LazyPages() {
  for (void* each : mappings_) {
    tell_unmapped(each, kMappingPages * kPageBytes);
    ::munmap(each, kMappingPages * kPageBytes);
  }
}

void* LazyPages::take(std::size_t bytes) noexcept {
  if (bytes > kMostBytes) return nullptr;
  const std::size_t pages = (sizeof(Head) + bytes + kPageBytes - 1) / kPageBytes;
  if (bytes < kLeastBytes || pages > kMostPages)
    return begin(std::malloc(sizeof(Head) + bytes), {.bytes = bytes, .pages = 0});
  void* const found = take_pages(pages);
  if (found != nullptr) tell_taken(found, sizeof(Head) + bytes);
  return begin(found, {.bytes = bytes, .pages = pages});
}

void* LazyPages::take_zeros(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return nullptr;
  void* const taken = take(all);
  // What the system has given anew is zeros behind the head.
  if (taken != nullptr && head_of(taken)->pages == 0) std::memset(taken, 0, all);
  return taken;
}

void* LazyPages::take_other(void* taken, std::size_t bytes) noexcept {
  void* const other = take(bytes);
  if (other == nullptr || taken == nullptr) return other;
  std::memcpy(other, taken, std::min(bytes, head_of(taken)->bytes));
  give_back(taken);
  return other;
}

void LazyPages::give_back(void* taken) noexcept {
  if (taken == nullptr) return;
  Head* const head = head_of(taken);
  const auto [bytes, pages] = *head;
  if (pages == 0) return std::free(head);
  const bool is_dropped = ::madvise(head, pages * kPageBytes, MADV_DONTNEED) == 0;
  // take_zeros() rests on it.
  if (!is_dropped) std::memset(static_cast<void*>(head), 0, sizeof(Head) + bytes);
  tell_given_back(head, pages * kPageBytes);
  const std::lock_guard lock(mutex_);
  free_.at(pages).push_back(head);
}

void* LazyPages::take_pages(std::size_t pages) noexcept {
  const std::lock_guard lock(mutex_);
  auto& free = free_.at(pages);
  if (!free.empty()) {
    void* const found = free.back();
    free.pop_back();
    return found;
  }
  if (left_pages_ < pages && !map_more()) return nullptr;
  try {
    free.reserve(made_.at(pages) + 1);  // give_back() cannot fail
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  ++made_.at(pages);
  void* const found = next_;
  next_ += pages * kPageBytes;
  left_pages_ -= pages;
  return found;
}

/// The rest of the mapping before it is less than the largest that is taken.
bool LazyPages::map_more() noexcept {
  constexpr std::size_t kBytes = kMappingPages * kPageBytes;
  void* const mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  // A huge page would be written whole.
  (void)::madvise(mapped, kBytes, MADV_NOHUGEPAGE);
  try {
    mappings_.push_back(mapped);
  } catch (const std::bad_alloc&) {
    ::munmap(mapped, kBytes);
    return false;
  }
  tell_mapped(mapped, kBytes);
  next_ = static_cast<std::byte*>(mapped);
  left_pages_ = kMappingPages;
  return true;
}

namespace {

/// Is never destroyed: a connection may outlive what the end of a program destroys.
LazyPages& pages_of_process() noexcept {
  alignas(LazyPages) static std::array<std::byte, sizeof(LazyPages)> room;
  static LazyPages& all = *::new (static_cast<void*>(room.data())) LazyPages;
  return all;
}

}  // namespace

const ngtcp2_mem* connection_memory() noexcept {
  static const ngtcp2_mem memory{
      .user_data = nullptr,
      .malloc = [](std::size_t bytes, void*) { return pages_of_process().take(bytes); },
      .free = [](void* taken, void*) { pages_of_process().give_back(taken); },
      .calloc = [](std::size_t count, std::size_t bytes,
                   void*) { return pages_of_process().take_zeros(count, bytes); },
      .realloc = [](void* taken, std::size_t bytes,
                    void*) { return pages_of_process().take_other(taken, bytes); }};
  return &memory;
}

}  // namespace portcullis::quic
