// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/transport/rc_reference.hpp"

#include <algorithm>
#include <cstring>

namespace portcullis::model::testing {
namespace {

std::uint64_t word_at(std::span<const std::byte> memory, std::size_t at) {
  std::uint64_t value;
  std::memcpy(&value, memory.data() + at, sizeof value);
  return value;
}

}  // namespace

void RcReference::post(const RcOperation& operation) {
  std::vector<std::byte> next = states_.back();
  if (operation.writes()) std::ranges::copy(operation.data, next.begin() + operation.at);
  if (operation.is_atomic()) {
    const std::uint64_t found = word_at(next, operation.at);
    std::uint64_t stored = found + operation.swap_add;
    if (operation.kind == RcKind::Swap)
      stored = found == operation.compare ? operation.swap_add : found;
    std::memcpy(next.data() + operation.at, &stored, sizeof stored);
  }
  operations_.push_back(operation);
  states_.push_back(std::move(next));
}

std::uint64_t RcReference::word(std::uint32_t at) const { return word_at(states_.back(), at); }

std::uint64_t RcReference::original(std::size_t number) const {
  return word_at(states_[number], operations_[number].at);
}

bool RcReference::may_read(std::size_t number, std::span<const std::byte> data) const {
  for (std::size_t byte = 0; byte < data.size(); ++byte) {
    const std::size_t at = operations_[number].at + byte;
    const auto later = std::span(states_).subspan(number);
    if (std::ranges::none_of(later, [&](const auto& state) { return state[at] == data[byte]; }))
      return false;
  }
  return true;
}

/// Whether memory is as before operation `number`, but for some of its first packets.
bool RcReference::is_begun(std::span<const std::byte> memory, std::size_t number) const {
  std::vector<std::byte> state = states_[number];
  if (std::ranges::equal(state, memory)) return true;
  if (number == operations_.size() || !operations_[number].writes()) return false;
  const RcOperation& operation = operations_[number];
  for (std::size_t done = mtu_; done < operation.length; done += mtu_) {
    std::ranges::copy(std::span(operation.data).first(done), state.begin() + operation.at);
    if (std::ranges::equal(state, memory)) return true;
  }
  return false;
}

bool RcReference::may_be(std::span<const std::byte> memory, std::size_t completed) const {
  for (std::size_t number = completed; number <= operations_.size(); ++number) {
    if (is_begun(memory, number)) return true;
  }
  return false;
}

}  // namespace portcullis::model::testing
