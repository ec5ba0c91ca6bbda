// SPDX-License-Identifier: BSD-3-Clause
//
// The memory key table. Checking a key and touching memory are two steps on purpose: check() says
// whether an access is allowed now, translate() says where it goes, Dma moves the bytes, and
// whatever stands between them in a schedule is a window that an adversary may open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/dma.hpp"
#include "model/id_table.hpp"
#include "model/verdict.hpp"
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

enum class KeyCheck : std::uint8_t { Ok, BadKey, BadPd, BadQpn, BadRange, BadAccess };

/// Rights of a key, as mkc has them; KeyUse.access asks for one or more.
namespace access {
inline constexpr std::uint8_t kLocalRead = 1;
inline constexpr std::uint8_t kLocalWrite = 2;
inline constexpr std::uint8_t kRemoteRead = 4;
inline constexpr std::uint8_t kRemoteWrite = 8;
inline constexpr std::uint8_t kAtomic = 16;
}  // namespace access

/// One intended access.
struct KeyUse {
  std::uint32_t key = 0;  // index << 8 | variant, host order
  std::uint32_t pd = 0;
  std::uint32_t qpn = 0;
  std::uint64_t va = 0;
  std::uint64_t length = 0;  // 0 checks key, PD, QPN and rights only
  std::uint8_t access = 0;   // access::k* or-ed
};

class MkeyTable {
 public:
  static constexpr std::uint32_t kAnyQpn = 0xff'ffff;
  /// The largest range one translate() takes: a frame's payload.
  static constexpr std::uint32_t kMaxTranslation = 4096;

  explicit MkeyTable(std::uint32_t log_max_mkey);

  [[nodiscard]] KeyCheck check(const KeyUse& use) const noexcept {
    const std::uint32_t index = use.key >> 8;
    if (index >= keys_.size()) return KeyCheck::BadKey;
    const Key& key = keys_[index];
    if (!key.live || key.variant != (use.key & 0xff)) return KeyCheck::BadKey;
    if (key.pd != use.pd) return KeyCheck::BadPd;
    if (key.qpn != kAnyQpn && key.qpn != use.qpn) return KeyCheck::BadQpn;
    if ((key.access & use.access) != use.access) return KeyCheck::BadAccess;
    if (use.length == 0) return KeyCheck::Ok;
    const std::uint64_t offset = use.va - key.start;
    if (use.va < key.start || use.length > key.length || offset > key.length - use.length)
      return KeyCheck::BadRange;
    return KeyCheck::Ok;
  }

  /// Where [va, va + bytes) of a key that check() accepted lies. `bytes` at most kMaxTranslation.
  /// No extents when the key does not exist or a page of it gives no translation.
  [[nodiscard]] Extents translate(std::uint32_t key, std::uint64_t va,
                                  std::uint32_t bytes) const noexcept;

  // Commands. `translations` is the list behind the context in CREATE_MKEY, raw.
  Verdict create(prm::ConstView<prm::mkc> context, std::uint32_t actual_octwords,
                 std::span<const std::byte> translations, std::uint32_t& index);
  Verdict destroy(std::uint32_t index);
  Verdict query(std::uint32_t index, prm::View<prm::mkc> context) const;
  /// The PD of a live key.
  [[nodiscard]] std::optional<std::uint32_t> pd_of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return live_; }
  void clear() noexcept;

 private:
  struct Key {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    std::uint32_t pd = 0;
    std::uint32_t qpn = kAnyQpn;
    std::uint8_t variant = 0;
    std::uint8_t access = 0;
    std::uint8_t log_page_size = 0;
    bool live = false;
    bool physical = false;  // PA mode: va is the IOVA
    std::uint32_t pages = 0;
    std::unique_ptr<std::uint64_t[]> entries;  // MTT, host order, low bits are rights
  };

  std::vector<Key> keys_;
  IdAllocator ids_;
  std::size_t live_ = 0;
};

}  // namespace portcullis::model
