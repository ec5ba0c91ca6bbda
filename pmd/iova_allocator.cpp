// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/iova_allocator.hpp"

#include <iterator>

namespace portcullis::pmd {
namespace {

constexpr Iova down(Iova address) {
  return address / IovaAllocator::kAlignment * IovaAllocator::kAlignment;
}
constexpr Iova up(Iova address) { return down(address + (IovaAllocator::kAlignment - 1)); }

}  // namespace

void IovaAllocator::add(Iova first, Iova last) {
  // Window 0 is nobody's, since firmware takes no page at IOVA 0; the topmost one has no end that
  // is a 64-bit number.
  const Iova begin = first == 0 ? kAlignment : up(first);
  const Iova end = down(last);
  if (begin >= first && begin < end) insert(begin, end);
}

std::optional<Iova> IovaAllocator::allocate(std::uint64_t offset, std::uint64_t bytes) {
  offset %= kAlignment;
  if (bytes == 0 || bytes > ~Iova{0} - 2 * kAlignment) return std::nullopt;
  const std::uint64_t window = up(offset + bytes);
  for (auto at = free_.rbegin(); at != free_.rend(); ++at) {
    if (at->second - at->first < window) continue;
    at->second -= window;
    const Iova start = at->second;
    if (at->first == at->second) free_.erase(at->first);
    return start + offset;
  }
  return std::nullopt;
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
