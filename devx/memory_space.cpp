// SPDX-License-Identifier: BSD-3-Clause
#include "devx/memory_space.hpp"

#include <bit>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace portcullis::devx {

Result<Iova> MemorySpace::map(std::span<std::byte> memory) {
  const Iova iova = std::bit_cast<std::uintptr_t>(memory.data());
  if (memory.empty() || iova % kPageBytes != 0 || memory.size() % kPageBytes != 0)
    return fail(Errc::InvalidArgument,
                fmt::format("{} bytes at {:#x}; whole pages expected", memory.size(), iova));
  PORTCULLIS_TRY_ASSIGN(const UmemId umem, provider_->register_memory(memory));
  mappings_.insert_or_assign(iova, Mapping{.bytes = memory.size(), .umem = umem});
  return iova;
}

Result<void> MemorySpace::unmap(Iova iova, std::size_t bytes) {
  const auto found = mappings_.find(iova);
  if (found == mappings_.end() || found->second.bytes != bytes)
    return fail(Errc::InvalidArgument,
                fmt::format("{} bytes at {:#x}; a whole mapping expected", bytes, iova));
  Mapping& mapping = found->second;
  if (!mapping.removal.valid()) {
    try {
      mapping.removal = std::async(std::launch::async, [provider = provider_, umem = mapping.umem] {
        return provider->deregister_memory(umem);
      });
    } catch (const std::system_error& error) {
      return fail(Errc::System, fmt::format("a thread to unmap with: {}", error.what()));
    }
  }
  if (mapping.removal.wait_for(kPatience) != std::future_status::ready)
    return fail(Errc::Timeout,
                fmt::format("umem {}: the kernel has not taken it back in {} ms",
                            static_cast<std::uint32_t>(mapping.umem), kPatience.count()));
  PORTCULLIS_TRY(mapping.removal.get());
  mappings_.erase(found);
  return {};
}

Result<void> MemorySpace::retire(Iova iova, std::size_t bytes) {
  PORTCULLIS_TRY(provider_->check_unmap_is_final());
  return unmap(iova, bytes);
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
