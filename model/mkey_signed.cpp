// SPDX-License-Identifier: BSD-3-Clause
//
// Keys with signatures as the table has them: which range of the wire leads to which memory.
#include <algorithm>

#include "model/mkey.hpp"

namespace portcullis::model {
namespace {

/// The range of data that the bytes of the wire touch, in whole blocks of both domains: those are
/// read to compute a signature.
struct Blocks {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  void widen(const SignatureDomain& domain) noexcept {
    if (!domain.has_signatures()) return;
    first -= first % domain.block;
    end += (domain.block - end % domain.block) % domain.block;
  }
};

Blocks blocks_of(const SignedKey& key, std::uint64_t at, std::uint64_t bytes) noexcept {
  const BlockFormat& format = key.format;
  Blocks blocks{format.wire.data_in(at), format.wire.data_in(at + bytes)};
  // Of a signature alone there is no data in between.
  if (format.wire.has_signatures() && blocks.first != 0 && blocks.first == blocks.end)
    --blocks.first;
  blocks.widen(format.wire);
  blocks.widen(format.memory);
  blocks.end = std::min(blocks.end, key.data_bytes);
  return blocks;
}

}  // namespace

SignedKey* MkeyTable::signed_key(std::uint32_t key_value, std::uint64_t va,
                                 std::uint64_t bytes) noexcept {
  const std::uint32_t index = key_value >> 8;
  if (index >= keys_.size()) return nullptr;
  Key& key = keys_[index];
  const bool is_there = key.usable && key.variant == (key_value & 0xff) && key.has_signatures;
  const bool has_range =
      va >= key.start && bytes <= key.length && va - key.start <= key.length - bytes;
  return is_there && has_range ? key.signatures.get() : nullptr;
}

KeyCheck MkeyTable::check_signed(const Key& key, const KeyUse& use) const noexcept {
  const SignatureDomain& memory = key.signatures->format.memory;
  const Blocks blocks = blocks_of(*key.signatures, use.va - key.start, use.length);
  KeyUse below = use;
  below.va = key.start + memory.place(blocks.first);
  below.length = memory.place(blocks.end) - memory.place(blocks.first);
  if (below.length == 0) return KeyCheck::Ok;
  if (key.indirect) return check_klms(key, below);
  return key.page_rights ? check_pages(key, below) : KeyCheck::Ok;
}

Extents MkeyTable::translate_memory(std::uint32_t key_value, std::uint64_t at,
                                    std::uint32_t most) const noexcept {
  const Key& key = keys_[key_value >> 8];
  const SignedKey& signatures = *key.signatures;
  const std::uint64_t all = signatures.format.memory.place(signatures.data_bytes);
  if (at > all || most > all - at) return {};
  // Signatures make more of a packet than translate() ever has to find.
  const std::uint32_t bytes = std::min(most, kMaxTranslation);
  if (key.physical) return {{Extent{key.start + at, bytes}}, 1};
  if (key.on_device) return {{Extent{key.begin + at, bytes, true}}, 1};
  return key.indirect ? translate_klms(key, key.start + at, bytes, 0)
                      : translate_pages(key, key.start + at, bytes);
}

bool MkeyTable::reports_fault(std::uint32_t key_value) noexcept {
  Key& key = keys_[key_value >> 8];
  if (key.context.get<"expected_sigerr_count">() != key.signatures->next_error) return false;
  key.signatures->next_error ^= 1;
  return true;
}

/// `context` is the key's now, and so is its length. A format stays when a UMR brings none.
void MkeyTable::take_format(Key& key, prm::ConstView<prm::mkc> context,
                            const std::optional<BlockFormat>& format) {
  if (format && key.signatures == nullptr) key.signatures = std::make_unique<SignedKey>();
  if (key.signatures == nullptr) return;
  SignedKey& signatures = *key.signatures;
  if (format) signatures.format = *format;
  signatures.next = SignedKey::kNowhere;
  key.has_signatures = context.get<"bsf_en">() != 0;
  if (!key.has_signatures) return;
  signatures.data_bytes = signatures.format.data_bytes(key.length);
  key.length = signatures.wire_bytes();
}

}  // namespace portcullis::model
