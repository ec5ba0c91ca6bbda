// SPDX-License-Identifier: BSD-3-Clause
#include "base/shared_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/device.hpp"
#include "base/dma_bytes.hpp"

namespace portcullis {
namespace {

bool is_zero(std::span<const std::byte> page) noexcept {
  return page[0] == std::byte{0} && std::memcmp(page.data(), page.data() + 1, page.size() - 1) == 0;
}

/// Pages of zeros are left out: they are zeros where they go, and would take room there.
void copy_pages(std::byte* to, std::span<const std::byte> from) noexcept {
  for (; !from.empty(); to += kPageBytes, from = from.subspan(kPageBytes))
    if (const auto page = from.first(kPageBytes); !is_zero(page))
      dma_copy(to, page.data(), page.size());
}

/// New pages, `file`'s or anonymous where it is -1, with the bytes of `memory` and then in its
/// place: the kernel moves a mapping there at once (mremap(2)).
Result<void> replace_pages(std::span<std::byte> memory, int file, std::uint64_t offset) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const fresh =
      mmap(nullptr, memory.size(), PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(offset));
  if (fresh != MAP_FAILED) {
    copy_pages(static_cast<std::byte*>(fresh), memory);
    if (mremap(fresh, memory.size(), memory.size(), MREMAP_MAYMOVE | MREMAP_FIXED, memory.data()) !=
        MAP_FAILED)
      return {};
  }
  const int error = errno;
  if (fresh != MAP_FAILED) munmap(fresh, memory.size());
  return fail(Errc::OutOfResources,
              "cannot map " + std::to_string(memory.size()) +
                  " bytes of memory in the place of others: " + std::strerror(error));
}

}  // namespace

Result<UniqueFd> make_shared_file(const char* name, std::uint64_t bytes, bool is_fixed) {
  UniqueFd file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool is_made =
      file.is_open() && ftruncate(file.get(), static_cast<off_t>(bytes)) == 0 &&
      (!is_fixed || fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
  if (is_made) return file;
  return fail(Errc::System, "cannot make a file of " + std::to_string(bytes) +
                                " bytes in memory: " + std::strerror(errno));
}

Result<void> share_pages(std::span<std::byte> memory, int file, std::uint64_t offset) {
  return replace_pages(memory, file, offset);
}

Result<void> unshare_pages(std::span<std::byte> memory) { return replace_pages(memory, -1, 0); }

Result<void> forget_pages(int file, std::uint64_t offset, std::uint64_t bytes) {
  if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(bytes)) == 0)
    return {};
  return fail(Errc::System, "cannot give back " + std::to_string(bytes) +
                                " bytes of memory: fallocate: " + std::strerror(errno));
}

}  // namespace portcullis
