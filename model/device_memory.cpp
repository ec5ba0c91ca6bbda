// SPDX-License-Identifier: BSD-3-Clause
#include "model/device_memory.hpp"

#include "base/dma_bytes.hpp"
#include "model/mkey.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kBadSize = 0xd10001,
  kBadAlignment,
  kBadRange,
  kNoRoom,
  kNoSuchMemory,
  kOtherSize,
  kInUse,
};

std::uint64_t aligned_up(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

bool DeviceMemory::is_in_window(const Wish& wish) const noexcept {
  const std::uint64_t first = limits_->get<"memic_bar_start_addr">();
  const std::uint64_t bytes = limits_->get<"memic_bar_size">();
  return wish.range_at >= first && wish.range_bytes <= bytes &&
         wish.range_at - first <= bytes - wish.range_bytes;
}

std::optional<std::uint64_t> DeviceMemory::find_room(const Wish& wish) const {
  const std::uint64_t alignment = std::uint64_t{1}
                                  << (prm::kLogMemicAlignmentUnit + wish.log_alignment);
  const std::uint64_t end = wish.range_at + wish.range_bytes;
  std::uint64_t at = aligned_up(wish.range_at, alignment);
  const auto& taken = ranges_.all();
  auto next = taken.upper_bound(at);
  if (next != taken.begin()) --next;
  for (; next != taken.end() && next->first < at + wish.bytes; ++next)
    if (const std::uint64_t taken_to = next->first + next->second.bytes; taken_to > at)
      at = aligned_up(taken_to, alignment);
  if (wish.bytes > wish.range_bytes || at > end - wish.bytes) return std::nullopt;
  return at;
}

/// Linux looks at the status: after NO_RES_ERR it goes on with the next pages of the window
/// (cmd_status_to_err of mlx5/core/cmd.c makes EAGAIN of it), after any other it gives up.
Verdict DeviceMemory::allocate(const Wish& wish, std::uint64_t& at) {
  const std::uint64_t unit = std::uint64_t{1} << limits_->get<"log_min_memic_alloc_size">();
  if (wish.bytes == 0 || wish.bytes % unit != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadSize);
  if (wish.log_alignment > limits_->get<"log_max_memic_addr_alignment">())
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadAlignment);
  if (!is_in_window(wish)) return refuse(CommandStatus::BAD_PARAM_ERR, kBadRange);
  if (wish.bytes > limits_->get<"max_memic_size">() - used_)
    return refuse(CommandStatus::NO_RES_ERR, kNoRoom);
  const std::optional<std::uint64_t> room = find_room(wish);
  if (!room) return refuse(CommandStatus::NO_RES_ERR, kNoRoom);
  at = *room;
  dma_fill(bar_.subspan(at, wish.bytes), std::byte{0});
  ranges_.all()[at] = {wish.bytes};
  used_ += wish.bytes;
  return {};
}

Verdict DeviceMemory::free(std::uint64_t at, std::uint64_t bytes) {
  auto& taken = ranges_.all();
  const auto found = taken.find(at);
  if (found == taken.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchMemory);
  if (found->second.bytes != bytes) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherSize);
  if (found->second.keys != 0) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  taken.erase(found);
  used_ -= bytes;
  return {};
}

bool DeviceMemory::has_range_of(prm::ConstView<prm::mkc> key) const {
  return MkeyTable::mode_of(key) != prm::kMkcModeMemic ||
         ranges_.holder_of(key.get<"start_addr">(), key.get<"len">()) != ranges_.all().end();
}

void DeviceMemory::hold(std::uint32_t mkey_index, prm::ConstView<prm::mkc> key) {
  if (MkeyTable::mode_of(key) != prm::kMkcModeMemic) return;
  ranges_.hold(mkey_index, key.get<"start_addr">(), key.get<"len">());
}

void DeviceMemory::let_go(std::uint32_t mkey_index) { ranges_.let_go(mkey_index); }

void DeviceMemory::clear() noexcept {
  ranges_.clear();
  used_ = 0;
}

}  // namespace portcullis::model
