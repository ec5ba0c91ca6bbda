// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/vfio_dma.hpp"

#include <fmt/format.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace portcullis::pmd {
namespace {

/// Where the kernel tells no ranges: above what 32-bit devices and MSI use, below the least address
/// width of an IOMMU.
constexpr IovaRange kUsualRange{Iova{1} << 32, (Iova{1} << 39) - 1};
/// Windows that somebody else had mapped before one that was free: DPDK's memory, 8 GiB of it.
constexpr int kMostTries = 4096;

/// Reads a kernel structure at `at`; false when it does not lie within `bytes`.
template <class T>
bool read_at(std::span<const std::byte> bytes, std::size_t at, T& value) {
  if (at > bytes.size() || bytes.size() - at < sizeof value) return false;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return true;
}

/// The kernel's answer with its capability chain; it says itself how long that is.
Result<std::vector<std::byte>> query_info(int container_fd) {
  std::vector<std::byte> buffer(sizeof(vfio_iommu_type1_info));
  while (true) {
    vfio_iommu_type1_info info{};
    info.argsz = static_cast<std::uint32_t>(buffer.size());
    std::memcpy(buffer.data(), &info, sizeof info);
    if (ioctl(container_fd, VFIO_IOMMU_GET_INFO, buffer.data()) != 0)
      return fail(Errc::System, fmt::format("VFIO_IOMMU_GET_INFO: {}", std::strerror(errno)));
    std::memcpy(&info, buffer.data(), sizeof info);
    if (info.argsz <= buffer.size()) return buffer;
    buffer.assign(info.argsz, std::byte{0});
  }
}

}  // namespace

std::vector<IovaRange> iova_ranges_in(std::span<const std::byte> bytes) {
  vfio_iommu_type1_info info{};
  if (!read_at(bytes, 0, info) || (info.flags & VFIO_IOMMU_INFO_CAPS) == 0) return {};
  std::vector<IovaRange> ranges;
  vfio_info_cap_header header{};
  // Offsets only grow along the chain; one that does not would go round for ever.
  for (std::size_t at = info.cap_offset, last = 0; at > last && read_at(bytes, at, header);
       last = at, at = header.next) {
    if (header.id != VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE) continue;
    vfio_iommu_type1_info_cap_iova_range list{};
    if (!read_at(bytes, at, list)) return {};
    vfio_iova_range range{};
    for (std::uint32_t i = 0; i < list.nr_iovas; ++i) {
      if (!read_at(bytes, at + sizeof list + i * sizeof range, range)) return {};
      ranges.push_back({range.start, range.end});
    }
  }
  return ranges;
}

Result<std::unique_ptr<VfioDmaSpace>> VfioDmaSpace::create(int container_fd) {
  PORTCULLIS_TRY_ASSIGN(const std::vector<std::byte> info, query_info(container_fd));
  std::unique_ptr<VfioDmaSpace> space(new VfioDmaSpace(container_fd));
  std::vector<IovaRange> ranges = iova_ranges_in(info);
  if (ranges.empty()) ranges.push_back(kUsualRange);
  for (const IovaRange& range : ranges)
    if (range.last > kUsualRange.first)
      space->iovas_.add(std::max(range.first, kUsualRange.first), range.last);
  return space;
}

Result<Iova> VfioDmaSpace::map(std::span<std::byte> memory) {
  const auto address = std::bit_cast<std::uintptr_t>(memory.data());
  if (memory.empty() || (address | memory.size()) % kPageBytes != 0)
    return fail(Errc::InvalidArgument,
                fmt::format("DMA memory at {:#x} of {} bytes; whole pages of {} expected", address,
                            memory.size(), kPageBytes));
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto iova = iovas_.allocate(address, memory.size());
    if (!iova)
      return fail(Errc::OutOfResources,
                  fmt::format("no IOVAs are left for {} bytes", memory.size()));
    vfio_iommu_type1_dma_map request{};
    request.argsz = sizeof request;
    request.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    request.vaddr = address;
    request.iova = *iova;
    request.size = memory.size();
    if (ioctl(container_fd_, VFIO_IOMMU_MAP_DMA, &request) == 0) return *iova;
    if (errno == EEXIST) continue;  // somebody else's for good; the window is not given back
    const int error = errno;
    iovas_.release(*iova, memory.size());
    const char* remedy = error == ENOMEM   ? " (raise the locked memory limit, ulimit -l)"
                         : error == ENOSPC ? " (the container's limit on mappings is reached)"
                                           : "";
    return fail(error == ENOMEM || error == ENOSPC ? Errc::OutOfResources : Errc::System,
                fmt::format("VFIO_IOMMU_MAP_DMA of {} bytes: {}{}", memory.size(),
                            std::strerror(error), remedy));
  }
  return fail(Errc::OutOfResources, "other mappings of this process are everywhere in IOVA space");
}

Result<void> VfioDmaSpace::retire(Iova iova, std::size_t bytes) {
  vfio_iommu_type1_dma_unmap request{};
  request.argsz = sizeof request;
  request.iova = iova;
  request.size = bytes;
  if (ioctl(container_fd_, VFIO_IOMMU_UNMAP_DMA, &request) != 0)
    return fail(Errc::System, fmt::format("VFIO_IOMMU_UNMAP_DMA of {} bytes at {:#x}: {}", bytes,
                                          iova, std::strerror(errno)));
  if (request.size != bytes)
    return fail(Errc::System, fmt::format("VFIO_IOMMU_UNMAP_DMA took {} of {} bytes at {:#x}",
                                          std::uint64_t{request.size}, bytes, iova));
  return {};
}

Result<void> VfioDmaSpace::unmap(Iova iova, std::size_t bytes) {
  PORTCULLIS_TRY(retire(iova, bytes));
  iovas_.release(iova, bytes);
  return {};
}

}  // namespace portcullis::pmd
