// SPDX-License-Identifier: BSD-3-Clause
//
// The low bytes of leases' keys. The index of a destroyed key is given again by firmware; the byte
// is ours, and is what tells an old client's key from the new one. So it is none of the last
// kRested, whoever has the index; it is never the one that the index had before, however many keys
// were made meanwhile; and since each is one of 256 - kRested that are as likely, nobody can
// foretell it from those that he was given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/result.hpp"
#include "lease/random_source.hpp"
#include "prm/numbers.hpp"

namespace portcullis::lease {

class KeyBytes {
 public:
  static constexpr std::size_t kRested = 128;

  /// Of a run that is to be repeated; 0: from the system.
  explicit KeyBytes(std::uint64_t seed) : random_(seed) {
    std::iota(bytes_.begin(), bytes_.end(), std::uint8_t{0});
  }

  [[nodiscard]] Result<std::uint8_t> draw() {
    for (; mixed_ < bytes_.size(); ++mixed_) PORTCULLIS_TRY(take());
    return take();
  }
  /// False: the index of `key` had this byte before, and it is not to be given.
  [[nodiscard]] bool is_fresh(prm::Rkey key) const noexcept {
    const auto page = last_.find(page_of(key));
    return page == last_.end() || page->second[entry_of(key)] != byte_of(key);
  }
  /// It is given.
  void note(prm::Rkey key) { last_[page_of(key)][entry_of(key)] = byte_of(key); }

 private:
  /// What indices were given with; none: not yet. They mostly follow each other, and stay here for
  /// ever, so a page of them takes less than each by itself.
  using Page = std::array<std::optional<std::uint8_t>, 64>;

  static std::uint8_t byte_of(prm::Rkey key) noexcept {
    return static_cast<std::uint8_t>(prm::number(key));
  }
  static std::size_t entry_of(prm::Rkey key) noexcept {
    return prm::number(prm::index_of(key)) % std::tuple_size_v<Page>;
  }
  static std::uint32_t page_of(prm::Rkey key) noexcept {
    return static_cast<std::uint32_t>(prm::number(prm::index_of(key)) / std::tuple_size_v<Page>);
  }
  /// One of those behind the first kRested, in place of the one that has rested longest.
  [[nodiscard]] Result<std::uint8_t> take() {
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t drawn, random_.draw());
    std::uint8_t& chosen = bytes_[kRested + drawn % (bytes_.size() - kRested)];
    std::swap(chosen, bytes_[oldest_]);
    const std::uint8_t byte = bytes_[oldest_];
    oldest_ = (oldest_ + 1) % kRested;
    return byte;
  }

  RandomSource random_;
  std::array<std::uint8_t, 256> bytes_{};  // the first kRested were given last, in a ring
  std::size_t oldest_ = 0;
  std::size_t mixed_ = 0;
  std::unordered_map<std::uint32_t, Page> last_;
};

}  // namespace portcullis::lease
