// SPDX-License-Identifier: BSD-3-Clause
//
// What the client let the device reach: ranges of IOVA space, each a piece of a file that came with
// its DMA_MAP, or without a file and then reachable by messages only. With a virtual IOMMU nearly
// every range is one page, so a file is mapped once and ranges refer to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "model/vfio_user/connection.hpp"

namespace portcullis::model::vfio_user {

/// A range of IOVA space. `memory` is empty when only messages reach it.
struct GuestRange {
  Iova address = 0;
  std::uint64_t bytes = 0;
  std::span<std::byte> memory;
  bool readable = false;
  bool writeable = false;
};

class GuestMemory {
 public:
  /// As max_dma_maps of the protocol.
  static constexpr std::size_t kMaxRanges = 65535;
  /// Of all files together: they are mapped whole, and the address space has an end.
  static constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 42;

  /// Adds a range; `file` may be closed. Busy when it overlaps one (EEXIST on the wire),
  /// InvalidArgument for sizes and addresses, OutOfResources, System when the file cannot be
  /// mapped or is too short.
  [[nodiscard]] Result<GuestRange> map(const DmaMap& request, UniqueFd file);
  /// The ranges that lie in [address, address + bytes), none when nothing was mapped there: as
  /// VFIO_IOMMU_UNMAP_DMA of type1v2, and as QEMU needs it, which unmaps the whole address space
  /// when a virtual IOMMU takes it over. InvalidArgument when it would cut one in two.
  [[nodiscard]] Result<std::vector<GuestRange>> inside(Iova address, std::uint64_t bytes) const;
  /// Forgets a range; its memory goes with the last range of its file, so whoever used it has let
  /// go before.
  void unmap(const GuestRange& range);
  /// The lowest; none when nothing is mapped.
  [[nodiscard]] std::optional<GuestRange> first() const noexcept;

  [[nodiscard]] std::size_t ranges() const noexcept { return ranges_.size(); }
  [[nodiscard]] std::size_t files() const noexcept { return files_.size(); }

 private:
  class File;
  struct Entry {
    GuestRange range;
    std::shared_ptr<File> file;
  };
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

  [[nodiscard]] Result<void> check(const DmaMap& request) const;
  [[nodiscard]] Result<std::shared_ptr<File>> open(const UniqueFd& fd);

  std::map<Iova, Entry> ranges_;
  std::map<FileId, std::weak_ptr<File>> files_;
};

}  // namespace portcullis::model::vfio_user
