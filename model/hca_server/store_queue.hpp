// SPDX-License-Identifier: BSD-3-Clause
//
// Stores to the BAR that have been replied to and not yet acted upon, oldest first. The model looks
// at its doorbells once a step, so that one store must not follow another into the BAR before the
// next step; a read of the BAR must see them all the same, as a read on PCI pushes the posted
// writes before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace portcullis::model {

class StoreQueue {
 public:
  // No guest has that many under way while one DMA of its device takes place.
  static constexpr std::size_t kMostStores = 65536;
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;

  [[nodiscard]] bool empty() const noexcept { return stores_.empty(); }
  /// False: nothing more should be pushed. One store more does no harm, whatever its size.
  [[nodiscard]] bool has_room() const noexcept {
    return stores_.size() < kMostStores && bytes_ < kMostBytes;
  }
  /// A store inside the BAR.
  void push(std::uint64_t offset, std::span<const std::byte> from);
  /// Puts the oldest one, if any, into the BAR. A word of 4 or 8 bytes lands whole.
  void apply_oldest(std::span<std::byte> bar);
  /// Turns `to`, which is what the BAR has at `offset`, into what it will have after all of them.
  void overlay(std::uint64_t offset, std::span<std::byte> to) const;
  void clear() noexcept;

 private:
  struct Store {
    std::uint64_t offset;
    std::vector<std::byte> data;
  };
  std::deque<Store> stores_;
  std::size_t bytes_ = 0;
};

}  // namespace portcullis::model
