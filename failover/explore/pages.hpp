// SPDX-License-Identifier: BSD-3-Clause
//
// Zeroed memory straight from the kernel, in huge pages where it grants them: a state set is one
// cache miss per lookup, and should not be a TLB miss too. Move-only.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace portcullis::failover {

/// `count` zeroed elements of a trivial type; none when the kernel has no memory to give.
template <class T>
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t count) : count_(count) {
    void* memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      count_ = 0;
      return;
    }
    data_ = static_cast<T*>(memory);
    if (bytes() >= kHuge) ::madvise(memory, bytes(), MADV_HUGEPAGE);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Pages() {
    if (data_ != nullptr) ::munmap(data_, bytes());
  }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return count_ * sizeof(T); }

 private:
  static constexpr std::size_t kHuge = std::size_t{1} << 21;

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace portcullis::failover
