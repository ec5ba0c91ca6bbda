// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for ngtcp2's connections, of which the system gives what is written and no more. ngtcp2
// 0.12 takes room for 8 to 64 objects of each kind at once (ngtcp2_objalloc of ngtcp2_conn.c and
// ngtcp2_ksl.c), some 80 KB for a connection, and an idle one writes to the first of them alone.
// From malloc() such room is what a handshake has written before.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

struct ngtcp2_mem;

namespace portcullis::quic {

/// Any thread may use it; what one takes another may give back.
class LazyPages {
 public:
  LazyPages() = default;
  LazyPages(const LazyPages&) = delete;
  LazyPages& operator=(const LazyPages&) = delete;
  ~LazyPages();

  /// Aligned as malloc() does it. Null when the system has no more.
  [[nodiscard]] void* take(std::size_t bytes) noexcept;
  /// The same, of zeros.
  [[nodiscard]] void* take_zeros(std::size_t count, std::size_t bytes) noexcept;
  /// As realloc() does it.
  [[nodiscard]] void* take_other(void* taken, std::size_t bytes) noexcept;
  /// Null is allowed. Its pages are the system's again, their addresses wait for the next one.
  void give_back(void* taken) noexcept;

 private:
  static constexpr std::size_t kMostPages = 16;

  [[nodiscard]] void* take_pages(std::size_t pages) noexcept;
  [[nodiscard]] bool map_more() noexcept;

  std::mutex mutex_;
  std::vector<void*> mappings_;
  std::byte* next_ = nullptr;  // of the newest mapping: nobody has had it yet
  std::size_t left_pages_ = 0;
  std::array<std::vector<void*>, kMostPages + 1> free_;  // by how many pages
  std::array<std::size_t, kMostPages + 1> made_{};       // so many there are at most to be free
};

/// One for the process, as ngtcp2 asks for it.
[[nodiscard]] const ngtcp2_mem* connection_memory() noexcept;

}  // namespace portcullis::quic
