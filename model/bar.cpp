// SPDX-License-Identifier: BSD-3-Clause
#include "model/bar.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/dma_bytes.hpp"

namespace portcullis::model {

Result<Bar> Bar::create() {
  void* raw = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    return fail(Errc::OutOfResources, "cannot reserve " + std::to_string(kBytes) +
                                          " bytes for a BAR: " + std::strerror(errno));
  return Bar(std::span<std::byte>(static_cast<std::byte*>(raw), kBytes));
}

Bar::Bar(Bar&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Bar::~Bar() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

void Bar::fill_with_ones(std::size_t bytes) const noexcept {
  dma_fill(bytes_.first(bytes), std::byte{0xff});
}

}  // namespace portcullis::model
