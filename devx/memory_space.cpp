// SPDX-License-Identifier: BSD-3-Clause
#include "devx/memory_space.hpp"

#include <bit>
#include <iterator>

#include <fmt/format.h>

namespace portcullis::devx {

Result<Iova> MemorySpace::map(std::span<std::byte> memory) {
  const Iova iova = std::bit_cast<std::uintptr_t>(memory.data());
  if (memory.empty() || iova % kPageBytes != 0 || memory.size() % kPageBytes != 0)
    return fail(Errc::InvalidArgument,
                fmt::format("{} bytes at {:#x}; whole pages expected", memory.size(), iova));
  PORTCULLIS_TRY_ASSIGN(const UmemId umem, provider_->register_memory(memory));
  mappings_.insert_or_assign(iova, Mapping{memory.size(), umem});
  return iova;
}

Result<void> MemorySpace::unmap(Iova iova, std::size_t bytes) {
  const auto found = mappings_.find(iova);
  if (found == mappings_.end() || found->second.bytes != bytes)
    return fail(Errc::InvalidArgument,
                fmt::format("{} bytes at {:#x}; a whole mapping expected", bytes, iova));
  PORTCULLIS_TRY(provider_->deregister_memory(found->second.umem));
  mappings_.erase(found);
  return {};
}

std::optional<UmemSlice> MemorySpace::find(Iova iova, std::uint64_t bytes) const noexcept {
  const auto after = mappings_.upper_bound(iova);
  if (after == mappings_.begin()) return std::nullopt;
  const auto& [start, mapping] = *std::prev(after);
  const std::uint64_t offset = iova - start;
  if (offset > mapping.bytes || bytes > mapping.bytes - offset) return std::nullopt;
  return UmemSlice{mapping.umem, offset};
}

}  // namespace portcullis::devx
