// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/sw_icm.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "model/mkey.hpp"
#include "prm/steering_commands.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kBadSize = 0x630001,
  kBadRange,
  kTaken,
  kNoIds,
  kNoSuchMemory,
  kInUse,
};

bool is_within(std::uint64_t at, std::uint64_t bytes, std::uint64_t area,
               std::uint32_t log_bytes) noexcept {
  const std::uint64_t size = std::uint64_t{1} << log_bytes;
  return at >= area && bytes <= size && at - area <= size - bytes;
}

}  // namespace

bool SwIcm::is_in_an_area(std::uint64_t at, std::uint64_t bytes) noexcept {
  return is_within(at, bytes, kEntriesAt, kLogEntriesBytes) ||
         is_within(at, bytes, kActionsAt, kLogActionsBytes);
}

Verdict SwIcm::create(std::uint64_t at, std::uint32_t log_bytes, std::uint32_t uid,
                      std::uint32_t& id) {
  if (log_bytes < kLogUnit || log_bytes > kLogEntriesBytes)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadSize);
  const std::uint64_t bytes = std::uint64_t{1} << log_bytes;
  if (at % (std::uint64_t{1} << kLogUnit) != 0 || !is_in_an_area(at, bytes))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadRange);
  const auto next = allocations_.lower_bound(at);
  const bool reaches_next = next != allocations_.end() && next->first < at + bytes;
  const bool is_in_previous =
      next != allocations_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > at;
  if (reaches_next || is_in_previous) return refuse(CommandStatus::BAD_PARAM_ERR, kTaken);
  const auto fresh = ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoIds);
  id = *fresh;
  Allocation& made = allocations_[at];
  made.bytes = bytes;
  made.uid = uid;
  begins_[id] = at;
  return {};
}

Verdict SwIcm::query(std::uint32_t id, prm::View<prm::sw_icm> context) const {
  const auto named = begins_.find(id);
  if (named == begins_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchMemory);
  const std::uint64_t bytes = allocations_.at(named->second).bytes;
  static_cast<void>(
      context.try_set<"log_sw_icm_size">(static_cast<unsigned>(std::countr_zero(bytes))));
  context.put<"sw_icm_start_addr">(named->second);
  return {};
}

Verdict SwIcm::destroy(std::uint32_t id) {
  const auto named = begins_.find(id);
  if (named == begins_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchMemory);
  const auto found = allocations_.find(named->second);
  if (found->second.keys != 0) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  allocations_.erase(found);
  begins_.erase(named);
  ids_.give_back(id);
  return {};
}

SwIcm::Allocations::const_iterator SwIcm::find(std::uint64_t at, std::uint64_t bytes) const {
  const auto after = allocations_.upper_bound(at);
  if (after == allocations_.begin()) return allocations_.end();
  const auto found = std::prev(after);
  const std::uint64_t into = at - found->first;
  const bool has_it = into <= found->second.bytes && bytes <= found->second.bytes - into;
  return has_it ? found : allocations_.end();
}

std::optional<std::uint32_t> SwIcm::owner_of(std::uint64_t at, std::uint64_t bytes) const {
  const auto found = find(at, bytes);
  return found == allocations_.end() ? std::nullopt : std::optional(found->second.uid);
}

bool SwIcm::read(std::uint64_t at, std::span<std::byte> to) const noexcept {
  const auto found = find(at, to.size());
  if (found == allocations_.end()) return false;
  for (std::uint64_t into = at - found->first; !to.empty();) {
    const std::size_t in_page = into % kPage;
    const std::size_t piece = std::min(to.size(), kPage - in_page);
    const auto page = found->second.pages.find(into / kPage);
    if (page == found->second.pages.end())
      std::ranges::fill(to.first(piece), std::byte{0});
    else
      std::copy_n(page->second->begin() + static_cast<std::ptrdiff_t>(in_page), piece, to.begin());
    to = to.subspan(piece);
    into += piece;
  }
  return true;
}

bool SwIcm::write(std::uint64_t at, std::span<const std::byte> from) {
  const auto found = find(at, from.size());
  if (found == allocations_.end()) return false;
  auto& pages = allocations_.at(found->first).pages;
  for (std::uint64_t into = at - found->first; !from.empty();) {
    const std::size_t in_page = into % kPage;
    const std::size_t piece = std::min(from.size(), kPage - in_page);
    std::unique_ptr<Page>& page = pages[into / kPage];
    if (page == nullptr) page = std::make_unique<Page>();
    std::ranges::copy(from.first(piece), page->begin() + static_cast<std::ptrdiff_t>(in_page));
    from = from.subspan(piece);
    into += piece;
  }
  return true;
}

bool SwIcm::has_range_of(prm::ConstView<prm::mkc> key, std::uint32_t uid) const {
  if (MkeyTable::mode_of(key) != prm::kMkcModeSwIcm) return true;
  const auto found = find(key.get<"start_addr">(), key.get<"len">());
  return found != allocations_.end() && (uid == 0 || found->second.uid == uid);
}

void SwIcm::hold(std::uint32_t mkey_index, prm::ConstView<prm::mkc> key) {
  if (MkeyTable::mode_of(key) != prm::kMkcModeSwIcm) return;
  const std::uint64_t at = find(key.get<"start_addr">(), key.get<"len">())->first;
  ++allocations_.at(at).keys;
  held_[mkey_index] = at;
}

void SwIcm::let_go(std::uint32_t mkey_index) {
  if (const auto held = held_.extract(mkey_index)) --allocations_.at(held.mapped()).keys;
}

void SwIcm::clear() noexcept {
  allocations_.clear();
  begins_.clear();
  held_.clear();
  ids_.clear();
}

}  // namespace portcullis::model
