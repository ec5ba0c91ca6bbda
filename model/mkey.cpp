// SPDX-License-Identifier: BSD-3-Clause
#include "model/mkey.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/cells.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/steering_commands.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

constexpr std::uint32_t kLeastLogPageSize = 12;  // cmd_hca_cap.log_pg_sz

enum Refusal : std::uint32_t {
  kBadMode = 0x20001,
  kNotOffered,
  kBadRange,
  kBadPageSize,
  kFewTranslations,
  kBadTranslation,
  kNoNumber,
  kNoSuchKey,
};  // 0x20010 on: model/mkey_indirect.cpp

constexpr std::uint8_t kReads = access::kLocalRead | access::kRemoteRead | access::kAtomic;
constexpr std::uint8_t kWrites = access::kLocalWrite | access::kRemoteWrite | access::kAtomic;

/// MTT bits that `wanted` needs on every page it touches.
std::uint64_t mtt_bits(std::uint8_t wanted) noexcept {
  return ((wanted & kReads) != 0 ? prm::number(prm::MttAccess::EN_RD) : 0u) |
         ((wanted & kWrites) != 0 ? prm::number(prm::MttAccess::EN_WR) : 0u);
}

}  // namespace

std::uint32_t MkeyTable::mode_of(prm::ConstView<prm::mkc> c) noexcept {
  return static_cast<std::uint32_t>(c.get<"access_mode_4_2">() << 2 | c.get<"access_mode_1_0">());
}

std::uint8_t MkeyTable::rights(prm::ConstView<prm::mkc> c) noexcept {
  return static_cast<std::uint8_t>((c.get<"lr">() != 0 ? access::kLocalRead : 0) |
                                   (c.get<"lw">() != 0 ? access::kLocalWrite : 0) |
                                   (c.get<"rr">() != 0 ? access::kRemoteRead : 0) |
                                   (c.get<"rw">() != 0 ? access::kRemoteWrite : 0) |
                                   (c.get<"a">() != 0 ? access::kAtomic : 0));
}

MkeyTable::MkeyTable(std::uint32_t log_max_mkey) : ids_(kFirstIndex, 1u << log_max_mkey) {
  clear();
}

void MkeyTable::clear() {
  keys_.clear();
  keys_.resize(kFirstIndex);
  Key& reserved = keys_[kReservedIndex];
  reserved.length = std::numeric_limits<std::uint64_t>::max();
  reserved.access = access::kLocalRead | access::kLocalWrite;
  reserved.usable = reserved.any_pd = reserved.physical = true;
  ids_.clear();
  live_ = 0;
}

KeyCheck MkeyTable::check_deeper(const Key& key, const KeyUse& use) const noexcept {
  if (key.has_signatures) return check_signed(key, use);
  return key.indirect ? check_klms(key, use) : check_pages(key, use);
}

KeyCheck MkeyTable::check_pages(const Key& key, const KeyUse& use) noexcept {
  const std::uint64_t needed = mtt_bits(use.access);
  const std::uint64_t skew = key.start & ((std::uint64_t{1} << key.log_page_size) - 1);
  const std::uint64_t first = (skew + use.va - key.start) >> key.log_page_size;
  const std::uint64_t last = (skew + use.va - key.start + use.length - 1) >> key.log_page_size;
  for (std::uint64_t page = first; page <= last; ++page)
    if ((key.pages[page] & needed) != needed) return KeyCheck::BadAccess;
  return KeyCheck::Ok;
}

Extents MkeyTable::translate_below(std::uint32_t key_value, std::uint64_t va, std::uint32_t bytes,
                                   std::uint32_t depth) const noexcept {
  const std::uint32_t index = key_value >> 8;
  if (index >= keys_.size() || !keys_[index].usable) return {};
  const Key& key = keys_[index];
  if (va < key.start || bytes == 0 || bytes > kMaxTranslation || bytes > key.length ||
      va - key.start > key.length - bytes)
    return {};
  if (key.has_signatures) return {};
  if (key.physical) return {{Extent{va, bytes}}, 1};
  if (key.on_device) return {{Extent{key.begin + va, bytes, true}}, 1};
  return key.indirect ? translate_klms(key, va, bytes, depth) : translate_pages(key, va, bytes);
}

Extents MkeyTable::translate_pages(const Key& key, std::uint64_t va, std::uint32_t bytes) noexcept {
  const std::uint64_t page_bytes = std::uint64_t{1} << key.log_page_size;
  const std::uint64_t position = (key.start & (page_bytes - 1)) + (va - key.start);
  const std::uint64_t in_page = position & (page_bytes - 1);
  const std::uint64_t page = position >> key.log_page_size;
  const auto first =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, page_bytes - in_page));
  Extents extents{{Extent{(key.pages[page] & kMttAddress) + in_page, first}}, 1};
  if (first == bytes) return extents;
  extents.extent[1] = Extent{key.pages[page + 1] & kMttAddress, bytes - first};
  extents.count = 2;
  return extents;
}

Verdict MkeyTable::fill(const Create& request, Key& key) const {
  const auto& c = request.context;
  const std::uint32_t mode = mode_of(c);
  key.physical = mode == prm::number(prm::MkcAccessMode::PA);
  key.indirect = mode == prm::number(prm::MkcAccessMode::KLMS);
  key.on_device = mode == prm::kMkcModeMemic || mode == prm::kMkcModeSwIcm;
  if (!key.physical && !key.indirect && !key.on_device &&
      mode != prm::number(prm::MkcAccessMode::MTT))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadMode);
  if (c.get<"sync_umr">() != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  key.pd = key.home_pd = c.get<"pd">();
  key.qpn = c.get<"qpn">();
  key.variant = static_cast<std::uint8_t>(c.get<"mkey_7_0">());
  key.access = rights(c);
  key.start = c.get<"start_addr">();
  key.length = c.get<"len">();
  if (c.get<"length64">() != 0) {
    if (!key.physical) return refuse(CommandStatus::BAD_PARAM_ERR, kBadRange);
    key.start = 0;
    key.length = std::numeric_limits<std::uint64_t>::max();
  }
  if (key.length > std::numeric_limits<std::uint64_t>::max() - key.start)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadRange);
  key.live = true;
  key.usable = c.get<"free">() == 0;
  std::ranges::copy(c.all(), key.context.all().begin());
  key.is_checked_deeper = key.indirect;
  // Its addresses begin at 0, and start_addr says where that is: in BAR 0, or by an address of the
  // card's (mlx5_ib_reg_dm_mr of mlx5_ib/mr.c; ibv_alloc_dm(3): "this type of MR is defined as zero
  // based").
  if (key.on_device) key.begin = std::exchange(key.start, 0);
  if (key.physical || key.on_device) return {};
  return key.indirect ? fill_klms(request, key) : fill_pages(request, key);
}

Verdict MkeyTable::fill_pages(const Create& request, Key& key) {
  const std::uint32_t log_page_size = request.context.get<"log_page_size">();
  if (log_page_size < kLeastLogPageSize) return refuse(CommandStatus::BAD_PARAM_ERR, kBadPageSize);
  key.log_page_size = static_cast<std::uint8_t>(log_page_size);
  // A key that UMR will fill comes free and may come without a list (reg_create of mlx5_ib/mr.c).
  if (!key.usable && request.actual_octwords == 0) return {};
  const std::uint64_t mask = (std::uint64_t{1} << log_page_size) - 1;
  const std::uint64_t skew = key.start & mask;
  if (key.length == 0 || key.length > std::numeric_limits<std::uint64_t>::max() - skew - mask)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadRange);
  const std::uint64_t count = (skew + key.length + mask) >> log_page_size;
  const std::uint64_t given = std::uint64_t{request.actual_octwords} * 2;  // two MTT an octword
  if (given > request.translations.size() / 8)
    return refuse(CommandStatus::BAD_INP_LEN_ERR, kFewTranslations);
  if (count > given || request.actual_octwords > request.context.get<"translations_octword_size">())
    return refuse(CommandStatus::BAD_PARAM_ERR, kFewTranslations);
  key.pages.resize(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t raw;
    std::memcpy(&raw, request.translations.data() + i * 8, sizeof raw);
    const std::uint64_t entry = cells::be64(raw);
    if ((entry & kMttAddress & mask) != 0)
      return refuse(CommandStatus::BAD_PARAM_ERR, kBadTranslation);
    key.pages[i] = entry;
    // Without pg_access the low bits say nothing (mlx5_ib/mr.c, reg_create).
    key.page_rights |= request.page_access && (entry & kMttRights) != kMttRights;
  }
  key.is_checked_deeper = key.page_rights;
  return {};
}

Verdict MkeyTable::create(const Create& request, std::uint32_t& index) {
  Key key;
  if (const Verdict verdict = fill(request, key); !verdict.ok()) return verdict;
  const auto id = ids_.allocate();
  if (!id) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  index = *id;
  if (index >= keys_.size()) keys_.resize(index + 1);
  key.life = ++lives_;
  keys_[index] = std::move(key);
  ++live_;
  return {};
}

void MkeyTable::end_dma(const Holds& holds) {
  for (const Hold& held : holds) let_go(held);
}

void MkeyTable::let_go(const Hold& held) {
  const std::uint32_t index = held.key >> 8;
  if (held.life == 0 || index >= keys_.size() || keys_[index].life != held.life ||
      keys_[index].pending == 0)
    return;
  if (--keys_[index].pending == 0 && idle_.fn != nullptr) idle_.fn(idle_.context, index);
}

bool MkeyTable::disable(std::uint32_t index) noexcept {
  if (!pd_of(index)) return false;
  keys_[index].usable = false;
  keys_[index].dying = true;
  return true;
}

Verdict MkeyTable::destroy(std::uint32_t index) {
  // BAD_PARAM for a key that does not exist is what firmware 16.35.4506 was seen to answer for
  // index 0xffffff.
  if (!pd_of(index)) return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchKey);
  keys_[index] = Key{};
  ids_.give_back(index);
  --live_;
  return {};
}

Verdict MkeyTable::query(std::uint32_t index, prm::View<prm::mkc> context,
                         std::span<std::byte> translations) const {
  if (!pd_of(index)) return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchKey);
  const Key& key = keys_[index];
  std::ranges::copy(key.context.all(), context.all().begin());
  const std::size_t klms = std::min(translations.size() / prm::mlx5_klm::bytes, key.klms.size());
  for (std::size_t i = 0; i < klms; ++i) {
    prm::Buffer<prm::mlx5_klm> entry;
    entry.put<"bcount">(key.klms[i].bytes).put<"key">(key.klms[i].key).put<"va">(key.klms[i].va);
    std::ranges::copy(entry.all(), translations.subspan(i * prm::mlx5_klm::bytes).begin());
  }
  const std::size_t count = std::min(translations.size() / 8, key.pages.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t raw = cells::be64(key.pages[i]);
    std::memcpy(translations.data() + i * 8, &raw, sizeof raw);
  }
  return {};
}

std::optional<std::uint32_t> MkeyTable::pd_of(std::uint32_t index) const noexcept {
  if (index >= keys_.size() || !keys_[index].live) return std::nullopt;
  return keys_[index].home_pd;
}

}  // namespace portcullis::model
