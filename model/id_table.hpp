// SPDX-License-Identifier: BSD-3-Clause
//
// Object numbers. A number given back is the last to be given again, so that a stale number meets
// nothing for as long as possible, as firmware does.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace portcullis::model {

class IdAllocator {
 public:
  /// Gives `first` .. `end` - 1.
  IdAllocator(std::uint32_t first, std::uint32_t end) noexcept
      : first_(first), end_(end), fresh_(first) {}

  [[nodiscard]] std::optional<std::uint32_t> allocate() {
    const bool comes_back = reuses_ && !returned_.empty();
    if (fresh_ < end_ && !comes_back) return fresh_++;
    if (returned_.empty()) return std::nullopt;
    const std::uint32_t id = returned_.front();
    returned_.pop_front();
    return id;
  }
  /// What was given back is given again before anything fresh.
  void reuse_first(bool on) noexcept { reuses_ = on; }
  void give_back(std::uint32_t id) { returned_.push_back(id); }
  void clear() noexcept {
    fresh_ = first_;
    returned_.clear();
  }

 private:
  std::uint32_t first_;
  std::uint32_t end_;
  std::uint32_t fresh_;
  bool reuses_ = false;
  std::deque<std::uint32_t> returned_;
};

}  // namespace portcullis::model
