// SPDX-License-Identifier: BSD-3-Clause
//
// Zeroed memory straight from the kernel that grows where it lies: addresses are reserved at once,
// pages come when they are touched, huge ones as soon as a few kilobytes no longer matter. A state
// set is a cache miss per lookup, and should not be a TLB miss too. Where a process may not reserve
// so many addresses (ulimit -v) the arena takes what it needs and moves when it grows. Move-only.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace portcullis::failover {

class Arena {
 public:
  /// Room for as many bytes as the machine has; none yet when the kernel reserves no addresses.
  Arena() {
    room_ = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
            static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    mapped_bytes_ = room_ + kHuge;
    mapping_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) {
      mapping_ = nullptr;
      mapped_bytes_ = 0;
      room_ = 0;
      return;
    }
    is_reserved_ = true;
    void* start = mapping_;
    std::size_t space = mapped_bytes_;
    data_ = static_cast<char*>(std::align(kHuge, room_, start, space));
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)),
        mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
        room_(std::exchange(other.room_, 0)),
        bytes_(std::exchange(other.bytes_, 0)),
        is_reserved_(std::exchange(other.is_reserved_, false)),
        data_(std::exchange(other.data_, nullptr)) {}
  Arena& operator=(Arena&&) = delete;
  ~Arena() {
    if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
  }

  [[nodiscard]] char* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// False when there is no room for so many. What is new is zero, and data() may be elsewhere.
  [[nodiscard]] bool grow_to(std::size_t bytes) noexcept {
    if (bytes > room_ && (is_reserved_ || !move_to(bytes))) return false;
    if (bytes >= kWorthHugePages)
      ::madvise(data_, (bytes + kHuge - 1) / kHuge * kHuge, MADV_HUGEPAGE);
    bytes_ = bytes;
    return true;
  }

 private:
  /// A larger mapping with the same pages: mremap(2) of Linux copies tables, not bytes.
  [[nodiscard]] bool move_to(std::size_t bytes) noexcept {
    const std::size_t wanted = (bytes + kHuge - 1) / kHuge * kHuge;
    void* const moved = mapping_ == nullptr
                            ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                            : ::mremap(mapping_, mapped_bytes_, wanted, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return false;
    mapping_ = moved;
    mapped_bytes_ = room_ = wanted;
    data_ = static_cast<char*>(moved);
    return true;
  }

  static constexpr std::size_t kHuge = std::size_t{1} << 21;
  static constexpr std::size_t kWorthHugePages = 8 * kHuge;

  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::size_t room_ = 0;
  std::size_t bytes_ = 0;
  bool is_reserved_ = false;
  char* data_ = nullptr;
};

}  // namespace portcullis::failover
