// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a lease's memory still changes, as the CPU sees it. The first word carries the client's
// numbers and is looked at all the time, for when it changed last; the whole region is compared
// with what it was when the outcome stood, for whether anything changed at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"

namespace portcullis::service {

class RegionWatch {
 public:
  struct Difference {
    std::size_t offset = 0;
    std::byte was{};
    std::byte is{};
  };

  RegionWatch(std::span<const std::byte> region, Clock clock);

  /// Looks at the first word; called from every wait.
  void look() noexcept;
  /// The outcome stands: from here on nothing may change.
  void freeze();
  /// The region as it was at freeze().
  [[nodiscard]] std::span<const std::byte> frozen() const noexcept { return frozen_; }
  /// The first byte that is not as it was at freeze().
  [[nodiscard]] std::optional<Difference> first_difference() const;

  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  [[nodiscard]] std::uint64_t last_change_ns() const noexcept { return last_change_ns_; }
  [[nodiscard]] std::uint64_t last_word() const noexcept { return word_; }

 private:
  std::span<const std::byte> region_;
  Clock clock_;
  std::uint64_t word_;
  std::uint64_t changes_ = 0;
  std::uint64_t last_change_ns_ = 0;
  std::vector<std::byte> frozen_;
};

}  // namespace portcullis::service
