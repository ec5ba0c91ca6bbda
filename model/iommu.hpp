// SPDX-License-Identifier: BSD-3-Clause
//
// The IOMMU in front of the model: its own IOVA space and one page table. An IOVA never equals the
// virtual address behind it, so a driver that confuses the two meets a fault, not luck. Looking a
// page up is one load from a flat table that the kernel commits lazily.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"

namespace portcullis::model {

class Iommu {
 public:
  /// OutOfResources when the page table cannot be reserved.
  [[nodiscard]] static Result<Iommu> create();
  Iommu(Iommu&& other) noexcept;
  Iommu& operator=(Iommu&&) = delete;
  ~Iommu();

  /// As DmaSpace::map and unmap; `unmap` takes exactly what one `map` gave.
  [[nodiscard]] Result<Iova> map(std::span<std::byte> memory);
  [[nodiscard]] Result<void> unmap(Iova iova, std::size_t bytes);
  /// As DmaSpace::retire: the windows stay given, so nothing is mapped there again.
  [[nodiscard]] Result<void> retire(Iova iova, std::size_t bytes);
  [[nodiscard]] std::size_t mappings() const noexcept { return mappings_.size(); }

  /// Against promise A5 of docs/hca-contract.md: what is unmapped stays in the IOTLB.
  void keep_stale(bool on) noexcept { keeps_stale_ = on; }
  /// The byte that a stale translation of `iova` leads to, or null. It may be anybody's by now.
  [[nodiscard]] const std::byte* stale(Iova iova) const noexcept {
    const auto found = stale_.find(iova / kPageBytes);
    return found == stale_.end() ? nullptr : found->second + iova % kPageBytes;
  }

  /// A mapping at an address somebody else chose: a guest behind its own IOMMU. Whole pages; what
  /// was mapped there is replaced. An IOMMU is filled by these or by map(), never by both. What a
  /// large one costs does not depend on its size: it is a special range, below.
  void map_at(Iova iova, std::span<std::byte> memory);
  void unmap_at(Iova iova, std::size_t bytes);

  /// What lookup() does not find by itself: ranges that can only be read or only be written, ranges
  /// that messages reach, and of large plain ones the pages that nobody has asked for yet.
  struct Special {
    Iova iova = 0;
    std::uint64_t bytes = 0;
    std::byte* memory = nullptr;  // null: by messages
    bool readable = false;
    bool writeable = false;
  };
  void map_special(const Special& range) { special_.insert_or_assign(range.iova, range); }
  /// The special range that `iova` lies in, or null. When it is plain memory, lookup() finds the
  /// page from then on.
  [[nodiscard]] const Special* special(Iova iova) const noexcept;

  /// The byte behind `iova`, or null. Good to the end of its page.
  [[nodiscard]] std::byte* lookup(Iova iova) const noexcept {
    const std::uint64_t page = iova / kPageBytes;
    std::byte* const memory = page < kPages ? pages_[page] : lookup_far(page);
    return memory == nullptr ? nullptr : memory + iova % kPageBytes;
  }

 private:
  // IOVA space is given in windows of 2 MiB: DmaSpace::map promises an IOVA congruent to the
  // address modulo that, and small regions that are neighbours in memory then share a window.
  static constexpr std::uint64_t kWindowBytes = std::uint64_t{2} << 20;
  static constexpr std::uint64_t kWindowPages = kWindowBytes / kPageBytes;
  static constexpr std::uint64_t kWindows = std::uint64_t{1} << 16;  // 128 GiB
  static constexpr std::uint64_t kFirstWindow = std::uint64_t{1}
                                                << 11;  // the lowest 4 GiB stay free
  static constexpr std::uint64_t kPages = kWindows * kWindowPages;

  struct Mapping {
    std::size_t bytes = 0;
    std::optional<std::uint64_t> memory_window;  // the window's key in shared_, if it is shared
  };

  explicit Iommu(std::span<std::byte*> pages);
  [[nodiscard]] std::optional<Iova> share_window(std::uint64_t address, std::size_t bytes) const;
  [[nodiscard]] std::optional<std::uint64_t> find_windows(std::uint64_t memory_window,
                                                          std::uint64_t count);
  [[nodiscard]] Result<Mapping> take_down(Iova iova, std::size_t bytes);
  [[nodiscard]] bool is_free(Iova iova, std::size_t bytes) const noexcept;
  void count_windows(Iova iova, std::size_t bytes, int by) noexcept;
  [[nodiscard]] std::byte* lookup_far(std::uint64_t page) const noexcept;

  std::span<std::byte*> pages_;
  std::map<Iova, Mapping> mappings_;
  std::vector<std::uint16_t> used_;                          // mappings a window
  std::unordered_map<std::uint64_t, std::uint64_t> shared_;  // memory window to IOVA window
  std::unordered_map<std::uint64_t, std::byte*> far_;        // of small ranges above the table
  std::map<Iova, Special> special_;
  std::unordered_map<std::uint64_t, const std::byte*> stale_;
  bool keeps_stale_ = false;
  std::uint64_t next_ = kFirstWindow;  // next fit: a stale IOVA meets nothing for long
};

}  // namespace portcullis::model
