// SPDX-License-Identifier: BSD-3-Clause
#include "base/dma_bytes.hpp"

#include <cstring>

#include "base/sanitizers.hpp"

namespace portcullis {

// TSan intercepts memcpy and memset even inside a function it was told to leave out, so that build
// copies with string instructions; every other build takes libc's.

__attribute__((no_sanitize("thread"))) void dma_copy(std::byte* to, const std::byte* from,
                                                     std::size_t bytes) noexcept {
  if (bytes == 0) return;  // an empty span has no address to copy from
#if PORTCULLIS_TSAN
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
  std::memcpy(to, from, bytes);
#endif
}

__attribute__((no_sanitize("thread"))) void dma_fill(std::span<std::byte> memory,
                                                     std::byte value) noexcept {
  if (memory.empty()) return;
#if PORTCULLIS_TSAN
  std::byte* to = memory.data();
  std::size_t bytes = memory.size();
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
#else
  std::memset(memory.data(), std::to_integer<int>(value), memory.size());
#endif
}

__attribute__((no_sanitize("thread"))) std::byte dma_peek(const std::byte* at) noexcept {
  return *static_cast<const volatile std::byte*>(at);
}

__attribute__((no_sanitize("thread"))) std::uint64_t dma_peek_u64(const std::byte* at) noexcept {
  return *reinterpret_cast<const volatile std::uint64_t*>(at);
}

__attribute__((no_sanitize("thread"))) void dma_poke_u64(std::byte* at,
                                                         std::uint64_t value) noexcept {
  *reinterpret_cast<volatile std::uint64_t*>(at) = value;
}

}  // namespace portcullis
