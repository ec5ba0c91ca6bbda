// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/sw_icm.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>

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
  auto& taken = ranges_.all();
  const auto next = taken.lower_bound(at);
  const bool reaches_next = next != taken.end() && next->first < at + bytes;
  const bool is_in_previous =
      next != taken.begin() && std::prev(next)->first + std::prev(next)->second.bytes > at;
  if (reaches_next || is_in_previous) return refuse(CommandStatus::BAD_PARAM_ERR, kTaken);
  const auto fresh = ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoIds);
  id = *fresh;
  auto& made = taken[at];
  made.bytes = bytes;
  made.more.uid = uid;
  made.more.pages.resize(bytes / kPage);
  begins_[id] = at;
  return {};
}

Verdict SwIcm::query(std::uint32_t id, prm::View<prm::sw_icm> context) const {
  const auto named = begins_.find(id);
  if (named == begins_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchMemory);
  const std::uint64_t bytes = ranges_.all().at(named->second).bytes;
  static_cast<void>(
      context.try_set<"log_sw_icm_size">(static_cast<unsigned>(std::countr_zero(bytes))));
  context.put<"sw_icm_start_addr">(named->second);
  return {};
}

Verdict SwIcm::destroy(std::uint32_t id) {
  const auto named = begins_.find(id);
  if (named == begins_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchMemory);
  auto& taken = ranges_.all();
  const auto found = taken.find(named->second);
  if (found->second.keys != 0) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  taken.erase(found);
  begins_.erase(named);
  ids_.give_back(id);
  return {};
}

std::optional<std::uint32_t> SwIcm::owner_of(std::uint64_t at, std::uint64_t bytes) const {
  const auto found = ranges_.holder_of(at, bytes);
  return found == ranges_.all().end() ? std::nullopt : std::optional(found->second.more.uid);
}

bool SwIcm::read(std::uint64_t at, std::span<std::byte> to) const noexcept {
  const auto found = ranges_.holder_of(at, to.size());
  if (found == ranges_.all().end()) return false;
  for (std::uint64_t into = at - found->first; !to.empty();) {
    const std::size_t in_page = into % kPage;
    const std::size_t piece = std::min(to.size(), kPage - in_page);
    const std::unique_ptr<Page>& page = found->second.more.pages[into / kPage];
    if (page == nullptr)
      std::ranges::fill(to.first(piece), std::byte{0});
    else
      std::copy_n(page->begin() + static_cast<std::ptrdiff_t>(in_page), piece, to.begin());
    to = to.subspan(piece);
    into += piece;
  }
  return true;
}

bool SwIcm::write(std::uint64_t at, std::span<const std::byte> from) noexcept {
  const auto found = ranges_.holder_of(at, from.size());
  if (found == ranges_.all().end()) return false;
  auto& pages = ranges_.all().at(found->first).more.pages;
  for (std::uint64_t into = at - found->first; !from.empty();) {
    const std::size_t in_page = into % kPage;
    const std::size_t piece = std::min(from.size(), kPage - in_page);
    std::unique_ptr<Page>& page = pages[into / kPage];
    if (page == nullptr) page.reset(new (std::nothrow) Page());
    if (page == nullptr) return false;
    std::ranges::copy(from.first(piece), page->begin() + static_cast<std::ptrdiff_t>(in_page));
    from = from.subspan(piece);
    into += piece;
  }
  return true;
}

bool SwIcm::has_range_of(prm::ConstView<prm::mkc> key, std::uint32_t uid) const {
  if (MkeyTable::mode_of(key) != prm::kMkcModeSwIcm) return true;
  const auto owner = owner_of(key.get<"start_addr">(), key.get<"len">());
  return owner && (uid == 0 || *owner == uid);
}

void SwIcm::hold(std::uint32_t mkey_index, prm::ConstView<prm::mkc> key) {
  if (MkeyTable::mode_of(key) != prm::kMkcModeSwIcm) return;
  ranges_.hold(mkey_index, key.get<"start_addr">(), key.get<"len">());
}

void SwIcm::let_go(std::uint32_t mkey_index) { ranges_.let_go(mkey_index); }

void SwIcm::clear() noexcept {
  ranges_.clear();
  begins_.clear();
  ids_.clear();
}

}  // namespace portcullis::model
