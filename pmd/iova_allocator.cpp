// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/iova_allocator.hpp"

#include <algorithm>
#include <iterator>

namespace portcullis::pmd {
namespace {

constexpr Iova down(Iova address) {
  return address / IovaAllocator::kAlignment * IovaAllocator::kAlignment;
}
constexpr Iova up(Iova address) { return down(address + (IovaAllocator::kAlignment - 1)); }

}  // namespace

void IovaAllocator::add(Iova first, Iova last) {
  // Window 0 is nobody's, since firmware takes no page at IOVA 0.
  if (first >= kEnd) return;
  const Iova begin = first == 0 ? kAlignment : up(first);
  const Iova end = down(last < kEnd ? last : kEnd);
  if (begin < end) insert(begin, end);
}

std::optional<Iova> IovaAllocator::allocate(std::uint64_t offset, std::uint64_t bytes) {
  offset %= kAlignment;
  if (bytes == 0 || bytes > kEnd) return std::nullopt;
  const std::uint64_t window = up(offset + bytes);
  const auto at = std::ranges::find_if(
      free_, [window](const auto& range) { return range.second - range.first >= window; });
  if (at == free_.end()) return std::nullopt;
  const auto [start, end] = *at;
  free_.erase(at);
  if (start + window < end) free_.emplace(start + window, end);
  return start + offset;
}

void IovaAllocator::release(Iova iova, std::uint64_t bytes) {
  insert(down(iova), up(iova + bytes));
}

void IovaAllocator::insert(Iova begin, Iova end) {
  auto after = free_.lower_bound(begin);
  if (after != free_.end() && after->first == end) {
    end = after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin() && std::prev(after)->second == begin) {
    std::prev(after)->second = end;
  } else {
    free_.emplace(begin, end);
  }
}

}  // namespace portcullis::pmd
