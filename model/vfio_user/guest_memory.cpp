// SPDX-License-Identifier: BSD-3-Clause
#include "model/vfio_user/guest_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "model/vfio_user/lost_pages.hpp"

namespace portcullis::model::vfio_user {

/// One shared file, mapped whole while any range refers to it.
class GuestMemory::File {
 public:
  static Result<std::shared_ptr<File>> create(const UniqueFd& fd, std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
      return fail(Errc::System, fmt::format("cannot map {} bytes of guest memory: {}", bytes,
                                            std::strerror(errno)));
    auto file = std::make_shared<File>(std::span(static_cast<std::byte*>(memory), bytes));
    if (!LostPages::watch(file->memory_))
      return fail(Errc::OutOfResources,
                  fmt::format("DMA_MAP of one more file: {} files are mapped, no more are accepted",
                              LostPages::kMaxMappings));
    return file;
  }
  explicit File(std::span<std::byte> memory) noexcept : memory_(memory) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    LostPages::forget(memory_);
    munmap(memory_.data(), memory_.size());
  }
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }

 private:
  std::span<std::byte> memory_;
};

Result<void> GuestMemory::check(const DmaMap& request) const {
  if (request.size == 0 || request.size % kPageBytes != 0 || request.address % kPageBytes != 0 ||
      request.offset % kPageBytes != 0 || request.address + request.size < request.address)
    return fail(Errc::InvalidArgument,
                fmt::format("DMA_MAP of {:#x} bytes at {:#x}, offset {:#x}: whole pages of {} that "
                            "do not wrap are accepted",
                            request.size, request.address, request.offset, kPageBytes));
  if (ranges_.size() >= kMaxRanges)
    return fail(Errc::OutOfResources,
                fmt::format("DMA_MAP at {:#x}: {} ranges are mapped already, no more are accepted; "
                            "with huge pages or memory mapped in one piece fewer are needed",
                            request.address, ranges_.size()));
  const auto next = ranges_.lower_bound(request.address);
  const bool meets_next = next != ranges_.end() && next->first - request.address < request.size;
  const bool meets_previous = next != ranges_.begin() && request.address - std::prev(next)->first <
                                                             std::prev(next)->second.range.bytes;
  if (meets_next || meets_previous)
    return fail(Errc::Busy, fmt::format("DMA_MAP of {:#x} bytes at {:#x} overlaps a mapped range",
                                        request.size, request.address));
  return {};
}

Result<std::shared_ptr<GuestMemory::File>> GuestMemory::open(const UniqueFd& fd) {
  struct stat status {};
  if (fstat(fd.get(), &status) != 0)
    return fail(Errc::System, fmt::format("fstat of guest memory: {}", std::strerror(errno)));
  const FileId id{status.st_dev, status.st_ino};
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (const auto known = files_.find(id); known != files_.end())
    if (auto file = known->second.lock(); file != nullptr && file->memory().size() == bytes)
      return file;
  std::uint64_t mapped = 0;
  for (const auto& [known, file] : files_)
    if (const auto live = file.lock(); live != nullptr) mapped += live->memory().size();
  if (bytes > kMaxFileBytes - std::min(mapped, kMaxFileBytes))
    return fail(
        Errc::OutOfResources,
        fmt::format("DMA_MAP of a file of {:#x} bytes: {:#x} bytes of files are mapped, {:#x} "
                    "are accepted",
                    bytes, mapped, kMaxFileBytes));
  PORTCULLIS_TRY_ASSIGN(std::shared_ptr<File> file, File::create(fd, bytes));
  files_[id] = file;
  return file;
}

Result<GuestRange> GuestMemory::map(const DmaMap& request, UniqueFd fd) {
  PORTCULLIS_TRY(check(request));
  Entry entry{.range = {.address = request.address,
                        .bytes = request.size,
                        .memory = {},
                        .readable = (request.flags & DmaMap::kReadable) != 0,
                        .writeable = (request.flags & DmaMap::kWriteable) != 0},
              .file = nullptr};
  if (fd.is_open()) {
    PORTCULLIS_TRY_ASSIGN(entry.file, open(fd));
    const std::span<std::byte> all = entry.file->memory();
    if (request.offset > all.size() || request.size > all.size() - request.offset)
      return fail(Errc::InvalidArgument,
                  fmt::format("DMA_MAP of {:#x} bytes at offset {:#x} of a file of {:#x} bytes",
                              request.size, request.offset, all.size()));
    entry.range.memory = all.subspan(request.offset, request.size);
  }
  const GuestRange range = entry.range;
  ranges_.emplace(request.address, std::move(entry));
  return range;
}

Result<std::vector<GuestRange>> GuestMemory::inside(Iova address, std::uint64_t bytes) const {
  const auto cut = [&] {
    return fail(Errc::InvalidArgument,
                fmt::format("DMA_UNMAP of {:#x} bytes at {:#x} would cut a mapped range in two",
                            bytes, address));
  };
  if (bytes == 0 || address + bytes - 1 < address)
    return fail(Errc::InvalidArgument,
                fmt::format("DMA_UNMAP of {:#x} bytes at {:#x}: a range that does not wrap is "
                            "accepted",
                            bytes, address));
  const Iova last = address + bytes - 1;
  auto at = ranges_.lower_bound(address);
  if (at != ranges_.begin()) {
    const GuestRange& before = std::prev(at)->second.range;
    if (address - before.address < before.bytes) return cut();
  }
  std::vector<GuestRange> found;
  for (; at != ranges_.end() && at->first <= last; ++at) {
    const GuestRange& range = at->second.range;
    if (range.bytes - 1 > last - range.address) return cut();
    found.push_back(range);
  }
  return found;
}

void GuestMemory::unmap(const GuestRange& range) {
  if (ranges_.erase(range.address) == 0) return;
  std::erase_if(files_, [](const auto& file) { return file.second.expired(); });
}

std::optional<GuestRange> GuestMemory::first() const noexcept {
  if (ranges_.empty()) return std::nullopt;
  return ranges_.begin()->second.range;
}

}  // namespace portcullis::model::vfio_user
