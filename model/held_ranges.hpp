// SPDX-License-Identifier: BSD-3-Clause
//
// Ranges of the card's own memory that were given out, by where they begin, and the memory keys
// that lie in each: a range with keys stays. What else is known of a range is its kind's.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>

namespace portcullis::model {

template <class More>
class HeldRanges {
 public:
  struct Range {
    std::uint64_t bytes = 0;
    std::uint32_t keys = 0;
    More more = {};
  };
  using Ranges = std::map<std::uint64_t, Range>;

  [[nodiscard]] Ranges& all() noexcept { return ranges_; }
  [[nodiscard]] const Ranges& all() const noexcept { return ranges_; }
  /// The range that has all of [at, at + bytes), of 0 bytes too: test_create_dm_mr of rdma-core
  /// registers such a key. all().end(): none.
  [[nodiscard]] typename Ranges::const_iterator holder_of(std::uint64_t at,
                                                          std::uint64_t bytes) const {
    const auto after = ranges_.upper_bound(at);
    if (after == ranges_.begin()) return ranges_.end();
    const auto found = std::prev(after);
    const std::uint64_t into = at - found->first;
    const bool has_it = into <= found->second.bytes && bytes <= found->second.bytes - into;
    return has_it ? found : ranges_.end();
  }
  /// A key in a range that is there.
  void hold(std::uint32_t mkey_index, std::uint64_t at, std::uint64_t bytes) {
    const std::uint64_t begin = holder_of(at, bytes)->first;
    ++ranges_.at(begin).keys;
    held_[mkey_index] = begin;
  }
  /// Nothing for a key that holds none.
  void let_go(std::uint32_t mkey_index) {
    if (const auto held = held_.extract(mkey_index)) --ranges_.at(held.mapped()).keys;
  }
  void clear() noexcept {
    ranges_.clear();
    held_.clear();
  }

 private:
  Ranges ranges_;
  std::unordered_map<std::uint32_t, std::uint64_t> held_;  // by key: which range
};

}  // namespace portcullis::model
