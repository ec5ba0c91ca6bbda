// SPDX-License-Identifier: BSD-3-Clause
//
// What a UMR WQE does to a key: every check first, then every change, so that one that fails leaves
// the key as it was. Masks and flags as mlx5_ib uses them (umr.c, wr.c):
//
//   the key          is live, was created with umr_en, and belongs to the QP's PD unless the QP is
//                    a REG_UMR one; its variant is the one named unless the mask changes it
//   CHECK_NOT_FREE   fails unless the key is free; CHECK_FREE fails if it is ("fail if free")
//   CHECK_QPN        fails if the key is bound to another QP; one that is bound to none passes, as
//                    the test_mkey_list of rdma-core does that invalidates by LOCAL_INV of libmlx5
//   translations     land at their offset, inside what CREATE_MKEY reserved for them. They come in
//                    units of 64 bytes (MLX5_UMR_FLEX_ALIGNMENT, mlx5r_umr_update_xlt), so padding
//                    may stand behind the last that has room: it is passed over
//   not free after   then all of [start_addr, start_addr + len) must have translations. With
//                    signatures in force len may be more than the data needs: mlx5_ib counts what
//                    lies between data and signatures (mlx5_ib_map_mtt_mr_sg_pi of mr.c)
//   a format         fits what CREATE_MKEY reserved (bsf_octword_size), and stays until the next
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/cells.hpp"
#include "model/mkey.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::MkeyMask;

// RELAXED_ORDERING_* change what the capabilities (relaxed_ordering_read_umr,
// relaxed_ordering_write_umr) do not offer.
constexpr std::uint64_t kChangeable = MkeyMask::LEN | MkeyMask::PAGE_SIZE | MkeyMask::START_ADDR |
                                      MkeyMask::PD | MkeyMask::EN_RINVAL | MkeyMask::EN_SIGERR |
                                      MkeyMask::BSF_EN | MkeyMask::KEY | MkeyMask::QPN |
                                      MkeyMask::LR | MkeyMask::LW | MkeyMask::RR | MkeyMask::RW |
                                      MkeyMask::A | MkeyMask::SMALL_FENCE | MkeyMask::FREE;
/// Of a key of device memory the command alone says where it is.
constexpr std::uint64_t kPlace = MkeyMask::LEN | MkeyMask::PAGE_SIZE | MkeyMask::START_ADDR;
constexpr std::uint8_t kKnownFlags = prm::kUmrInline | prm::kUmrFailIfNotFree |
                                     prm::kUmrFailIfFree | prm::kUmrTranslationOffsetEn |
                                     prm::kUmrCheckQpn;

constexpr std::uint32_t kEntriesPerOctword = 2;
constexpr std::uint64_t kUnitOctwords = 4;
constexpr std::uint32_t kLeastLogPageSize = 12;

bool has(std::uint64_t mask, MkeyMask bit) noexcept { return (mask & prm::number(bit)) != 0; }

/// Takes one field of the context over when the mask names it.
template <prm::Name Field>
void take(prm::Buffer<prm::mkc>& context, const UmrRequest& umr, MkeyMask bit) {
  if (has(umr.mask, bit)) context.put<Field>(umr.context.template get<Field>());
}

/// The context as it will be.
prm::Buffer<prm::mkc> changed(const prm::Buffer<prm::mkc>& now, const UmrRequest& umr) {
  prm::Buffer<prm::mkc> next = now;
  take<"free">(next, umr, MkeyMask::FREE);
  take<"len">(next, umr, MkeyMask::LEN);
  take<"start_addr">(next, umr, MkeyMask::START_ADDR);
  take<"log_page_size">(next, umr, MkeyMask::PAGE_SIZE);
  take<"pd">(next, umr, MkeyMask::PD);
  take<"qpn">(next, umr, MkeyMask::QPN);
  take<"mkey_7_0">(next, umr, MkeyMask::KEY);
  take<"en_rinval">(next, umr, MkeyMask::EN_RINVAL);
  take<"expected_sigerr_count">(next, umr, MkeyMask::EN_SIGERR);
  take<"bsf_en">(next, umr, MkeyMask::BSF_EN);
  take<"small_fence_on_rdma_read_response">(next, umr, MkeyMask::SMALL_FENCE);
  take<"lr">(next, umr, MkeyMask::LR);
  take<"lw">(next, umr, MkeyMask::LW);
  take<"rr">(next, umr, MkeyMask::RR);
  take<"rw">(next, umr, MkeyMask::RW);
  take<"a">(next, umr, MkeyMask::A);
  return next;
}

std::uint64_t entry_at(std::span<const std::byte> translations, std::size_t i) noexcept {
  std::uint64_t raw = 0;
  std::memcpy(&raw, translations.data() + i * sizeof raw, sizeof raw);
  return cells::be64(raw);
}

}  // namespace

bool MkeyTable::admits(const Key& key, const UmrRequest& umr) const noexcept {
  const auto& context = key.context;
  if (!key.live || key.dying || context.get<"umr_en">() == 0) return false;
  if (umr.pd && *umr.pd != key.pd) return false;
  if (!has(umr.mask, MkeyMask::KEY) && (umr.key & 0xff) != key.variant) return false;
  if ((umr.mask & ~kChangeable) != 0 || (umr.flags & ~kKnownFlags) != 0) return false;
  if (key.on_device && ((umr.mask & kPlace) != 0 || umr.octwords != 0)) return false;
  const bool is_free = context.get<"free">() != 0;
  if ((umr.flags & prm::kUmrFailIfNotFree) != 0 && !is_free) return false;
  if ((umr.flags & prm::kUmrFailIfFree) != 0 && is_free) return false;
  if ((umr.flags & prm::kUmrCheckQpn) != 0 && key.qpn != prm::kMkcQpnAny && key.qpn != umr.qpn)
    return false;
  if (umr.format.size() > context.get<"bsf_octword_size">() * prm::kWqeOctowordBytes) return false;
  const std::uint64_t reserved = reserved_octwords(key);
  const std::uint64_t units = (reserved + kUnitOctwords - 1) / kUnitOctwords;
  return umr.octwords == 0 ||
         (!key.physical && umr.offset_octwords + umr.octwords <= units * kUnitOctwords);
}

std::uint32_t MkeyTable::reserved_octwords(const Key& key) noexcept {
  return key.context.get<"translations_octword_size">();
}

/// How much memory the key will need translations for.
std::uint64_t MkeyTable::memory_bytes(const Key& key, prm::ConstView<prm::mkc> context,
                                      const std::optional<BlockFormat>& format) {
  const std::uint64_t length = context.get<"len">();
  const BlockFormat* const now = format                      ? &*format
                                 : key.signatures != nullptr ? &key.signatures->format
                                                             : nullptr;
  if (context.get<"bsf_en">() == 0 || now == nullptr) return length;
  return now->memory.place(now->data_bytes(length));
}

/// Whether `context`, in use, has a translation for all its `length`, of the key's and then of the
/// UMR's.
bool MkeyTable::is_covered(const Key& key, prm::ConstView<prm::mkc> context, std::uint64_t length,
                           const UmrRequest& umr) noexcept {
  const std::uint64_t log_page_size = context.get<"log_page_size">();
  const std::uint64_t start = context.get<"start_addr">();
  if (key.on_device || (key.physical && context.get<"length64">() != 0)) return true;
  if (length == 0 || length > std::numeric_limits<std::uint64_t>::max() - start) return false;
  if (key.physical) return true;
  if (key.indirect) {
    std::vector<Klm> klms = key.klms;
    bool strided = key.strided;
    return put_klms(klms, strided, umr.offset_octwords, umr.translations) &&
           is_covered_by(klms, length);
  }
  if (log_page_size < kLeastLogPageSize) return false;
  const std::uint64_t mask = (std::uint64_t{1} << log_page_size) - 1;
  if (length > std::numeric_limits<std::uint64_t>::max() - 2 * mask) return false;
  const std::uint64_t count = ((start & mask) + length + mask) >> log_page_size;
  const std::uint64_t first = std::uint64_t{umr.offset_octwords} * kEntriesPerOctword;
  const std::uint64_t end = first + std::uint64_t{umr.octwords} * kEntriesPerOctword;
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool is_new = i >= first && i < end;
    if (!is_new && i >= key.pages.size()) return false;
    const std::uint64_t entry = is_new ? entry_at(umr.translations, i - first) : key.pages[i];
    if ((entry & kMttAddress & mask) != 0) return false;
  }
  return true;
}

bool MkeyTable::reconfigure(const UmrRequest& request) {
  const std::uint32_t index = request.key >> 8;
  if (index >= keys_.size() || !admits(keys_[index], request)) return false;
  Key& key = keys_[index];
  const std::uint32_t reserved = reserved_octwords(key);
  UmrRequest umr = request;
  umr.octwords =
      std::min(umr.octwords, reserved - std::min<std::uint32_t>(umr.offset_octwords, reserved));
  umr.translations = umr.translations.first(umr.octwords * prm::kWqeOctowordBytes);
  const prm::Buffer<prm::mkc> next = changed(key.context, umr);
  const prm::ConstView<prm::mkc> context(next.all());
  const bool is_free = context.get<"free">() != 0;
  const auto format =
      umr.format.empty() ? std::optional<BlockFormat>{} : BlockFormat::parse(umr.format);
  if (!umr.format.empty() && !format) return false;
  if (!is_free && !is_covered(key, context, memory_bytes(key, context, format), umr)) return false;

  key.context = next;
  key.pd = context.get<"pd">();
  key.qpn = context.get<"qpn">();
  key.variant = static_cast<std::uint8_t>(context.get<"mkey_7_0">());
  key.access = rights(context);
  // length64, of physical keys alone, keeps the range it stands for.
  const bool has_all = context.get<"length64">() != 0;
  if (!has_all && !key.on_device) key.start = context.get<"start_addr">();
  key.length = has_all ? std::numeric_limits<std::uint64_t>::max() : context.get<"len">();
  key.log_page_size = static_cast<std::uint8_t>(context.get<"log_page_size">());
  take_translations(key, umr);
  take_format(key, context, format);
  key.is_checked_deeper = key.indirect || key.page_rights || key.has_signatures;
  key.usable = !is_free;
  return true;
}

bool MkeyTable::can_be_invalidated(std::uint32_t key_value, std::uint32_t pd,
                                   std::uint32_t qpn) const noexcept {
  if (key_value >> 8 >= keys_.size()) return false;
  const Key& key = keys_[key_value >> 8];
  return key.usable && key.variant == (key_value & 0xff) && key.pd == pd &&
         (key.qpn == prm::kMkcQpnAny || key.qpn == qpn) && key.context.get<"en_rinval">() != 0;
}

void MkeyTable::invalidate(std::uint32_t key_value) {
  if (key_value >> 8 >= keys_.size()) return;
  Key& key = keys_[key_value >> 8];
  if (!key.usable || key.variant != (key_value & 0xff)) return;
  key.context.set<"free", 1>();
  key.usable = false;
}

/// The low bits of an entry are rights, whatever CREATE_MKEY said of pg_access: mlx5_ib sets both
/// in every entry it hands to a UMR (MLX5_IB_MTT_PRESENT).
void MkeyTable::take_translations(Key& key, const UmrRequest& umr) {
  if (umr.octwords == 0) return;
  if (key.indirect) {
    put_klms(key.klms, key.strided, umr.offset_octwords, umr.translations);
    return;
  }
  const std::size_t first = std::size_t{umr.offset_octwords} * kEntriesPerOctword;
  const std::size_t count = std::size_t{umr.octwords} * kEntriesPerOctword;
  if (key.pages.size() < first + count) key.pages.resize(first + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t entry = entry_at(umr.translations, i);
    key.pages[first + i] = entry;
    key.page_rights |= (entry & kMttRights) != kMttRights;
  }
}

}  // namespace portcullis::model
