// SPDX-License-Identifier: BSD-3-Clause
//
// Zeroed memory straight from the kernel, in huge pages where it grants them: a state set is one
// cache miss per lookup, and should not be a TLB miss too. Move-only.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace portcullis::failover {

/// `count` zeroed elements of a trivial type; none when the kernel has no memory to give.
template <class T>
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t count) : count_(count) {
    // A huge page more than needed, so that the data can start at one.
    mapped_bytes_ = bytes() + (bytes() >= kHuge ? kHuge : 0);
    mapping_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) {
      mapping_ = nullptr;
      count_ = 0;
      return;
    }
    void* start = mapping_;
    std::size_t room = mapped_bytes_;
    if (bytes() >= kHuge) {
      std::align(kHuge, bytes(), start, room);
      ::madvise(start, bytes(), MADV_HUGEPAGE);
    }
    data_ = static_cast<T*>(start);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Pages() {
    if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
  }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return count_ * sizeof(T); }

 private:
  static constexpr std::size_t kHuge = std::size_t{1} << 21;

  void swap(Pages& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace portcullis::failover
