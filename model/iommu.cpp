// SPDX-License-Identifier: BSD-3-Clause
#include "model/iommu.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

namespace portcullis::model {
namespace {

// A range up to this size has its pages in the table at once; of a larger one each comes with its
// first use, so that a guest's memory costs what its device touches of it.
constexpr std::size_t kEagerBytes = std::size_t{2} << 20;

bool is_plain(const Iommu::Special& range) noexcept {
  return range.memory != nullptr && range.readable && range.writeable;
}

/// What has come into the table of a large range goes, whole pages of the table at a time: how much
/// was mapped costs nothing.
void forget(std::span<std::byte*> entries) noexcept {
  const auto at = std::bit_cast<std::uintptr_t>(entries.data());
  const std::uintptr_t end = at + entries.size_bytes();
  const std::uintptr_t first = std::min((at + kPageBytes - 1) / kPageBytes * kPageBytes, end);
  const std::uintptr_t last = std::max(end / kPageBytes * kPageBytes, first);
  const auto whole =
      entries.subspan((first - at) / sizeof(std::byte*)).first((last - first) / sizeof(std::byte*));
  std::fill(entries.data(), whole.data(), nullptr);
  std::fill(whole.data() + whole.size(), entries.data() + entries.size(), nullptr);
  if (!whole.empty() && madvise(whole.data(), whole.size_bytes(), MADV_DONTNEED) != 0)
    std::ranges::fill(whole, nullptr);
}

}  // namespace

Result<Iommu> Iommu::create() {
  const std::size_t bytes = kPages * sizeof(std::byte*);
  void* raw = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    return fail(Errc::OutOfResources, "cannot reserve " + std::to_string(bytes) +
                                          " bytes for an IOMMU table: " + std::strerror(errno));
  return Iommu(std::span<std::byte*>(static_cast<std::byte**>(raw), kPages));
}

Iommu::Iommu(std::span<std::byte*> pages) : pages_(pages), used_(kWindows, 0) {}

Iommu::Iommu(Iommu&& other) noexcept
    : pages_(std::exchange(other.pages_, {})),
      mappings_(std::move(other.mappings_)),
      used_(std::move(other.used_)),
      shared_(std::move(other.shared_)),
      far_(std::move(other.far_)),
      special_(std::move(other.special_)),
      next_(other.next_) {}

Iommu::~Iommu() {
  if (!pages_.empty()) munmap(pages_.data(), pages_.size_bytes());
}

bool Iommu::is_free(Iova iova, std::size_t bytes) const noexcept {
  for (std::uint64_t page = iova / kPageBytes; page < (iova + bytes) / kPageBytes; ++page)
    if (pages_[page] != nullptr) return false;
  return true;
}

void Iommu::count_windows(Iova iova, std::size_t bytes, int by) noexcept {
  for (std::uint64_t w = iova / kWindowBytes; w <= (iova + bytes - 1) / kWindowBytes; ++w)
    used_[w] = static_cast<std::uint16_t>(used_[w] + by);
}

/// The place beside its neighbours, when the range fits one window that is already given.
std::optional<Iova> Iommu::share_window(std::uint64_t address, std::size_t bytes) const {
  const auto known = shared_.find(address / kWindowBytes);
  if (known == shared_.end() || address % kWindowBytes + bytes > kWindowBytes) return std::nullopt;
  const Iova iova = known->second * kWindowBytes + address % kWindowBytes;
  if (!is_free(iova, bytes)) return std::nullopt;
  return iova;
}

std::optional<std::uint64_t> Iommu::find_windows(std::uint64_t memory_window, std::uint64_t count) {
  if (count > kWindows - kFirstWindow) return std::nullopt;
  std::uint64_t run = 0;
  // Twice around: a run may begin just before the starting point.
  for (std::uint64_t tried = 0; tried < 2 * kWindows; ++tried, ++next_) {
    if (next_ >= kWindows) {
      next_ = kFirstWindow;
      run = 0;
    }
    const bool equals_memory = next_ - run == memory_window;
    run = used_[next_] == 0 && !equals_memory ? run + 1 : 0;
    if (run == count) return ++next_ - count;
  }
  return std::nullopt;
}

Result<Iova> Iommu::map(std::span<std::byte> memory) {
  const auto address = std::bit_cast<std::uintptr_t>(memory.data());
  if (memory.empty() || address % kPageBytes != 0 || memory.size() % kPageBytes != 0)
    return fail(Errc::InvalidArgument, "cannot map " + std::to_string(memory.size()) +
                                           " bytes for DMA: whole pages of " +
                                           std::to_string(kPageBytes) + " bytes expected");
  Mapping mapping{memory.size(), std::nullopt};
  std::optional<Iova> iova = share_window(address, memory.size());
  if (!iova) {
    const std::uint64_t skew = address % kWindowBytes;
    const std::uint64_t count = (skew + memory.size() + kWindowBytes - 1) / kWindowBytes;
    const auto window = find_windows(address / kWindowBytes, count);
    if (!window)
      return fail(Errc::OutOfResources, "no IOVA range of " + std::to_string(memory.size()) +
                                            " bytes is free; the space has 128 GiB");
    iova = *window * kWindowBytes + skew;
    if (count == 1) shared_.insert_or_assign(address / kWindowBytes, *window);
  }
  if (const auto known = shared_.find(address / kWindowBytes);
      known != shared_.end() && known->second == *iova / kWindowBytes)
    mapping.memory_window = known->first;
  count_windows(*iova, memory.size(), 1);
  for (std::size_t at = 0; at < memory.size(); at += kPageBytes)
    pages_[(*iova + at) / kPageBytes] = memory.data() + at;
  for (std::size_t at = 0; keeps_stale_ && at < memory.size(); at += kPageBytes)
    stale_.erase((*iova + at) / kPageBytes);
  mappings_.emplace(*iova, mapping);
  return *iova;
}

Result<void> Iommu::unmap(Iova iova, std::size_t bytes) {
  PORTCULLIS_TRY_ASSIGN(const Mapping mapping, take_down(iova, bytes));
  count_windows(iova, bytes, -1);
  const auto window = iova / kWindowBytes;
  if (const auto& key = mapping.memory_window; key && used_[window] == 0) {
    if (const auto known = shared_.find(*key); known != shared_.end() && known->second == window)
      shared_.erase(known);
  }
  return {};
}

Result<void> Iommu::retire(Iova iova, std::size_t bytes) {
  PORTCULLIS_TRY_ASSIGN(const Mapping mapping, take_down(iova, bytes));
  // Neighbours in memory move elsewhere too, and the window's count never falls to 0.
  if (mapping.memory_window) shared_.erase(*mapping.memory_window);
  return {};
}

Result<Iommu::Mapping> Iommu::take_down(Iova iova, std::size_t bytes) {
  const auto found = mappings_.find(iova);
  if (found == mappings_.end() || found->second.bytes != bytes)
    return fail(Errc::InvalidArgument,
                "IOVA " + std::to_string(iova) + " with " + std::to_string(bytes) +
                    " bytes is no mapping; exactly what map() gave expected");
  for (std::size_t at = 0; at < bytes; at += kPageBytes) {
    const std::uint64_t page = (iova + at) / kPageBytes;
    if (keeps_stale_) stale_.insert_or_assign(page, pages_[page]);
    pages_[page] = nullptr;
  }
  const Mapping mapping = found->second;
  mappings_.erase(found);
  return mapping;
}

void Iommu::map_at(Iova iova, std::span<std::byte> memory) {
  if (memory.size() > kEagerBytes)
    return map_special({iova, memory.size(), memory.data(), /*readable=*/true, /*writeable=*/true});
  for (std::size_t at = 0; at < memory.size(); at += kPageBytes) {
    const std::uint64_t page = (iova + at) / kPageBytes;
    if (page < kPages)
      pages_[page] = memory.data() + at;
    else
      far_.insert_or_assign(page, memory.data() + at);
  }
}

void Iommu::unmap_at(Iova iova, std::size_t bytes) {
  if (special_.erase(iova) != 0) {
    const std::uint64_t last = std::min((iova + bytes - 1) / kPageBytes + 1, kPages);
    return forget(pages_.first(last).subspan(std::min(iova / kPageBytes, last)));
  }
  for (std::size_t at = 0; at < bytes; at += kPageBytes) {
    const std::uint64_t page = (iova + at) / kPageBytes;
    if (page < kPages)
      pages_[page] = nullptr;
    else
      far_.erase(page);
  }
}

const Iommu::Special* Iommu::special(Iova iova) const noexcept {
  const auto after = special_.upper_bound(iova);
  if (after == special_.begin()) return nullptr;
  const Special& range = std::prev(after)->second;
  if (iova - range.iova >= range.bytes) return nullptr;
  if (const std::uint64_t page = iova / kPageBytes; page < kPages && is_plain(range))
    pages_[page] = range.memory + (page * kPageBytes - range.iova);
  return &range;
}

std::byte* Iommu::lookup_far(std::uint64_t page) const noexcept {
  if (const auto found = far_.find(page); found != far_.end()) return found->second;
  const Special* const range = special(page * kPageBytes);
  if (range == nullptr || !is_plain(*range)) return nullptr;
  return range->memory + (page * kPageBytes - range->iova);
}

}  // namespace portcullis::model
