// SPDX-License-Identifier: BSD-3-Clause
//
// Indirect keys, mode KLM: a list of (key, address, bytes) that lie one behind the other from the
// key's own start on. Rules, and where they were read:
//
//   an entry      begins where the one before ends; bytes 0 is padding (mlx5_ib/odp.c,
//                 pagefault_single_data_segment; fill_indir of drivers/vdpa/mlx5/core/mr.c)
//   its key       is named with its variant and must be there when it is used: one that was
//                 destroyed, freed or renamed refuses, though the indirect key lives on
//   nesting       cmd_hca_cap.max_indirection is 2, a hypothesis: mlx5_ib's keys with signatures
//   lead
//                 to a list of its own where memory has gaps (mlx5_ib_map_klm_mr_sg_pi of mr.c).
//                 Deeper is refused when it is used, as odp.c does ("indirection level exceeded")
//   rights        the remote ones are the indirect key's. Of the direct key lr and lw are asked:
//                 mlx5_ib_sg_to_klms puts keys with local rights alone (local_dma_lkey) under keys
//                 that peers use
//   PD            both keys' must be the QP's; who checks it is a hypothesis, every driver puts
//                 both into one. behaviour=klm-domain-unchecked asks it of the indirect key alone
//   mkc.qpn       of both counts
//   a pattern     in place of a list: entries that are gone through again and again, each time a
//                 stride further (set_sig_data_segment of mlx5_ib/wr.c, umr_strided_seg_create of
//                 rdma-core's mlx5/qp.c)
//   a short entry is as good as a long one: mlx5dv_wr_mr_list of rdma-core takes any length
#include <algorithm>
#include <utility>

#include "model/mkey.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t { kBadLength = 0x20010, kFewEntries, kLongTable, kBadPattern };

/// What a direct key is asked for when an indirect one led to it.
std::uint8_t local_rights(std::uint8_t wanted) noexcept {
  constexpr std::uint8_t kReads = access::kLocalRead | access::kRemoteRead | access::kAtomic;
  constexpr std::uint8_t kWrites = access::kLocalWrite | access::kRemoteWrite | access::kAtomic;
  return static_cast<std::uint8_t>(((wanted & kReads) != 0 ? access::kLocalRead : 0) |
                                   ((wanted & kWrites) != 0 ? access::kLocalWrite : 0));
}

}  // namespace

/// Behind the entries that the key's length needs may stand anything: set_reg_wr of mlx5_ib/wr.c
/// leaves in a WQE that it fills up to its block what was there before.
bool MkeyTable::put_klms(std::vector<Klm>& klms, bool& strided, std::size_t first,
                         std::span<const std::byte> list) {
  if (list.empty()) return true;
  if (strided && first != 0) return false;
  if (std::exchange(strided, false)) klms.clear();
  if (first == 0 &&
      prm::ConstView<prm::mlx5_stride_block_ctrl_seg>::at(list).get<"op">() == prm::kStrideBlockOp)
    return strided = put_pattern(klms, list);
  const std::size_t count = list.size() / prm::mlx5_klm::bytes;
  klms.resize(std::max(klms.size(), first + count));
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = prm::ConstView<prm::mlx5_klm>::at(list, i * prm::mlx5_klm::bytes);
    klms[first + i] = {0, entry.get<"bcount">(), entry.get<"key">(), entry.get<"va">()};
  }
  std::uint64_t from = 0;
  for (Klm& klm : klms) {
    klm.from = from;
    from += klm.bytes;  // 2^16 entries of 2^32 bytes
  }
  return true;
}

bool MkeyTable::put_pattern(std::vector<Klm>& klms, std::span<const std::byte> list) {
  using Entry = prm::mlx5_stride_block_entry;
  const auto control = prm::ConstView<prm::mlx5_stride_block_ctrl_seg>::at(list);
  const std::uint64_t repeats = control.get<"repeat_count">();
  const std::size_t count = control.get<"num_entries">();
  list = list.subspan(prm::mlx5_stride_block_ctrl_seg::bytes);
  if (count == 0 || repeats == 0 || count * Entry::bytes > list.size() ||
      repeats * count > std::uint64_t{1} << kLogMaxKlms)
    return false;
  klms.clear();
  std::uint64_t from = 0;
  for (std::uint64_t cycle = 0; cycle < repeats; ++cycle) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto entry = prm::ConstView<Entry>::at(list, i * Entry::bytes);
      const std::uint64_t bytes = entry.get<"bcount">();
      klms.push_back(
          {from, bytes, entry.get<"key">(), entry.get<"va">() + cycle * entry.get<"stride">()});
      from += bytes;
    }
  }
  return from == repeats * control.get<"bcount_per_cycle">();
}

bool MkeyTable::is_covered_by(const std::vector<Klm>& klms, std::uint64_t length) noexcept {
  return !klms.empty() && klms.back().from + klms.back().bytes >= length;
}

Verdict MkeyTable::fill_klms(const Create& request, Key& key) {
  const std::uint32_t reserved = request.context.get<"translations_octword_size">();
  if (reserved > std::uint32_t{1} << kLogMaxKlms)
    return refuse(CommandStatus::BAD_PARAM_ERR, kLongTable);
  // One that UMR will fill, as mlx5_ib makes them (mlx5_set_umr_free_mkey, mlx5_ib_alloc_mw).
  if (!key.usable && request.actual_octwords == 0) return {};
  if (key.length == 0) return refuse(CommandStatus::BAD_PARAM_ERR, kBadLength);
  const std::size_t given = std::size_t{request.actual_octwords} * prm::mlx5_klm::bytes;
  if (given > request.translations.size())
    return refuse(CommandStatus::BAD_INP_LEN_ERR, kFewEntries);
  if (request.actual_octwords > reserved) return refuse(CommandStatus::BAD_PARAM_ERR, kFewEntries);
  if (!put_klms(key.klms, key.strided, 0, request.translations.first(given)))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadPattern);
  if (!is_covered_by(key.klms, key.length))
    return refuse(CommandStatus::BAD_PARAM_ERR, kFewEntries);
  return {};
}

/// The entry that byte `at` of the key lies in. Padding begins where its successor does.
std::vector<MkeyTable::Klm>::const_iterator MkeyTable::klm_at(const Key& key,
                                                              std::uint64_t at) noexcept {
  return std::ranges::upper_bound(key.klms, at, {}, &Klm::from) - 1;
}

/// Of an entry that so many indirect keys led to.
bool MkeyTable::may_lead_to(std::uint32_t key, std::uint32_t depth) const noexcept {
  return key >> 8 < keys_.size() && (!is_indirect(key >> 8) || depth < kMaxIndirection);
}

KeyCheck MkeyTable::check_klms(const Key& key, const KeyUse& use) const noexcept {
  std::uint64_t at = use.va - key.start;
  std::uint64_t left = use.length;
  for (auto klm = klm_at(key, at); left != 0; ++klm) {
    const std::uint64_t piece = std::min(left, klm->from + klm->bytes - at);
    if (piece == 0) continue;
    if (!may_lead_to(klm->key, use.depth + 1U)) return KeyCheck::BadKey;
    const KeyUse below{.key = klm->key,
                       .pd = checks_domain_below_ ? use.pd : keys_[klm->key >> 8].pd,
                       .qpn = use.qpn,
                       .va = klm->va + (at - klm->from),
                       .length = piece,
                       .access = local_rights(use.access),
                       .rlky = use.rlky,
                       .depth = static_cast<std::uint8_t>(use.depth + 1)};
    if (const KeyCheck checked = check(below); checked != KeyCheck::Ok) return checked;
    at += piece;
    left -= piece;
  }
  return KeyCheck::Ok;
}

/// Two entries, or one that leads to an indirect key and as far as that one goes.
Extents MkeyTable::translate_klms(const Key& key, std::uint64_t va, std::uint32_t bytes,
                                  std::uint32_t depth) const noexcept {
  Extents all;
  std::uint64_t at = va - key.start;
  std::uint32_t left = bytes;
  std::size_t entries = 0;
  for (auto klm = klm_at(key, at); left != 0 && entries != 2; ++klm) {
    const auto piece =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, klm->from + klm->bytes - at));
    if (piece == 0) continue;
    if (!may_lead_to(klm->key, depth + 1) || (klm->key & 0xff) != keys_[klm->key >> 8].variant)
      return {};
    const bool leads_on = keys_[klm->key >> 8].indirect;
    if (leads_on && entries != 0) break;
    const Extents part = translate_below(klm->key, klm->va + (at - klm->from), piece, depth + 1);
    if (part.count == 0) return {};
    for (std::uint32_t i = 0; i < part.count; ++i) all.extent[all.count++] = part.extent[i];
    all.through[entries++] = klm->key;
    if (leads_on) {
      all.through[1] = part.through[0];
      all.through[2] = part.through[1];
      break;
    }
    at += piece;
    left -= piece;
  }
  return all;
}

}  // namespace portcullis::model
