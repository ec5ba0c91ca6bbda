// SPDX-License-Identifier: BSD-3-Clause
#include "model/tag_matching/tag_list.hpp"

#include <algorithm>

namespace portcullis::model {

bool TagList::append(const Buffer& buffer, std::uint16_t next) {
  if (next >= entries_.size() || entries_[next_].is_listed) return false;
  entries_[next_] = {buffer, true, sw_phase_ == hw_phase_};
  order_.push_back(next_);
  next_ = next;
  return true;
}

bool TagList::remove(std::uint16_t index) {
  if (index >= entries_.size() || !entries_[index].is_listed) return false;
  entries_[index].is_listed = false;
  std::erase(order_, index);
  return true;
}

void TagList::synchronize(std::uint16_t handled) {
  sw_phase_ = handled;
  if (sw_phase_ != hw_phase_) return;
  for (const std::uint16_t index : order_) entries_[index].takes_part = true;
}

std::optional<TagList::Match> TagList::take(std::uint64_t tag) {
  const auto found = std::ranges::find_if(order_, [&](std::uint16_t index) {
    const Entry& entry = entries_[index];
    return entry.takes_part && (tag & entry.buffer.mask) == entry.buffer.tag;
  });
  if (found == order_.end()) return std::nullopt;
  const std::uint16_t index = *found;
  entries_[index].is_listed = false;
  order_.erase(found);
  return Match{index, entries_[index].buffer.piece};
}

}  // namespace portcullis::model
