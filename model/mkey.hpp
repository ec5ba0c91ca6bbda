// SPDX-License-Identifier: BSD-3-Clause
//
// The memory key table. Checking a key and touching memory are two steps on purpose: check() says
// whether an access is allowed now, translate() says where it goes, Dma moves the bytes, and
// whatever stands between them in a schedule is a window that an adversary may open. A key of mode
// KLM leads to other keys; model/mkey_indirect.cpp says by which rules. One of mode MEMIC or SW_ICM
// leads to memory of the card; whether its range is there is for who creates it to look
// (model/device_memory.hpp, model/steering/sw_icm.hpp). One with a byte stream format in force has
// the addresses of the wire: check() takes them, and translate() says nothing
// (model/signed_key.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/dma.hpp"
#include "model/id_table.hpp"
#include "model/signed_key.hpp"
#include "model/verdict.hpp"
#include "prm/enums.hpp"
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
  bool rlky = false;         // qpc.rlky: the reserved lkey may be used
  std::uint8_t depth = 0;    // indirect keys that led to this one
};

/// What a UMR WQE asks for.
struct UmrRequest {
  std::uint32_t key = 0;              // index << 8 | variant
  std::uint32_t qpn = 0;              // of the QP that asks
  std::optional<std::uint32_t> pd{};  // whose keys it may change; absent: any PD's
  std::uint8_t flags = 0;             // prm::kUmr*
  std::uint64_t mask = 0;             // prm::MkeyMask: fields of `context` that count
  std::uint32_t offset_octwords = 0;  // where the translations go
  std::uint32_t octwords = 0;         // two pages or one KLM each
  prm::ConstView<prm::mkc> context;
  std::span<const std::byte> translations{};  // of `octwords`
  std::span<const std::byte> format{};        // a byte stream format; empty: it stays
};

class MkeyTable {
 public:
  /// The largest range one translate() takes: a frame's payload.
  static constexpr std::uint32_t kMaxTranslation = 4096;
  /// cmd_hca_cap.max_indirection: indirect keys one behind the other.
  static constexpr std::uint32_t kMaxIndirection = 2;
  /// cmd_hca_cap.log_max_klm_list_size: entries that CREATE_MKEY may reserve, for UMRs too.
  static constexpr std::uint32_t kLogMaxKlms = 16;

  explicit MkeyTable(std::uint32_t log_max_mkey);

  /// Both parts of a context's access mode.
  [[nodiscard]] static std::uint32_t mode_of(prm::ConstView<prm::mkc> context) noexcept;

  [[nodiscard]] KeyCheck check(const KeyUse& use) const noexcept {
    const std::uint32_t index = use.key >> 8;
    if (index >= keys_.size()) return KeyCheck::BadKey;
    const Key& key = keys_[index];
    if (!key.usable || key.variant != (use.key & 0xff)) return KeyCheck::BadKey;
    if (key.any_pd ? !use.rlky : key.pd != use.pd) return KeyCheck::BadPd;
    if (key.qpn != prm::kMkcQpnAny && key.qpn != use.qpn && checks_qp_) return KeyCheck::BadQpn;
    if ((key.access & use.access) != use.access) return KeyCheck::BadAccess;
    if (use.length == 0) return KeyCheck::Ok;
    if (use.va < key.start || use.length > key.length ||
        use.va - key.start > key.length - use.length)
      return KeyCheck::BadRange;
    return key.is_checked_deeper ? check_deeper(key, use) : KeyCheck::Ok;
  }

  /// Where [va, va + bytes) of a key that check() accepted lies. `bytes` at most kMaxTranslation.
  /// Of an indirect key no more than its next two entries hold. No extents when the key is gone or
  /// does not cover the range any more.
  [[nodiscard]] Extents translate(std::uint32_t key, std::uint64_t va,
                                  std::uint32_t bytes) const noexcept {
    return translate_below(key, va, bytes, 0);
  }
  /// All of it, part by part. False: a part is not there, or `take` says so of one.
  template <class Take>
  bool translate_all(std::uint32_t key, std::uint64_t va, std::uint32_t bytes, Take take) const {
    for (std::uint32_t done = 0; done < bytes;) {
      const Extents where = translate(key, va + done, bytes - done);
      if (where.count == 0 || !take(where)) return false;
      done += where.bytes();
    }
    return true;
  }

  /// What the key has beside others, when signatures are in force and [va, va + bytes) is its; else
  /// null. A UMR may have moved the key since check().
  [[nodiscard]] SignedKey* signed_key(std::uint32_t key, std::uint64_t va,
                                      std::uint64_t bytes) noexcept;
  /// As translate, of memory `at` bytes from the key's start on, whatever the wire has; no more
  /// than kMaxTranslation of `most` bytes.
  [[nodiscard]] Extents translate_memory(std::uint32_t key, std::uint64_t at,
                                         std::uint32_t most) const noexcept;
  [[nodiscard]] std::uint64_t start_of(std::uint32_t key) const noexcept {
    return key >> 8 < keys_.size() ? keys_[key >> 8].start : 0;
  }
  /// Whether who holds the key is to hear of a fault now; then no more of another.
  [[nodiscard]] bool reports_fault(std::uint32_t key) noexcept;

  // Commands. `translations` is the list behind the context in CREATE_MKEY, of which
  // `actual_octwords` octwords count; `page_access` is create_mkey_in.pg_access.
  struct Create {
    prm::ConstView<prm::mkc> context;
    bool page_access = false;
    std::uint32_t actual_octwords = 0;
    std::span<const std::byte> translations;
  };
  Verdict create(const Create& request, std::uint32_t& index);
  Verdict destroy(std::uint32_t index);
  /// `translations` takes the first of the key's list, when the query asks for them.
  Verdict query(std::uint32_t index, prm::View<prm::mkc> context,
                std::span<std::byte> translations) const;
  // DMA that a check has allowed and that is still to come, counted for the key and for those that
  // it led to. `life` tells a key from a later one with its index.
  using Life = std::uint32_t;
  struct Hold {
    std::uint32_t key = 0;
    Life life = 0;  // 0: nobody is held
    bool operator==(const Hold&) const = default;
  };
  using Holds = std::array<Hold, 4>;
  /// `where` is what translate() said.
  [[nodiscard]] Holds begin_dma(std::uint32_t key, const Extents& where) noexcept {
    return {hold(key), hold(where.through[0]), hold(where.through[1]), hold(where.through[2])};
  }
  void end_dma(const Holds& holds);
  [[nodiscard]] bool has_pending_dma(std::uint32_t index) const noexcept {
    return index < keys_.size() && keys_[index].pending != 0;
  }
  [[nodiscard]] bool is_indirect(std::uint32_t index) const noexcept {
    return index < keys_.size() && keys_[index].indirect;
  }
  /// Whom to tell when the last DMA under a key is done.
  struct IdleHook {
    void (*fn)(void* context, std::uint32_t index) = nullptr;
    void* context = nullptr;
  };
  void set_idle_hook(IdleHook hook) noexcept { idle_ = hook; }
  /// SEND with invalidate. The key must be in use, admit it (mkc.en_rinval), belong to the PD and,
  /// if it is bound to one, to the QP: a memory window of type 2 (invalidate_rkey of rxe_resp.c and
  /// rxe_mw.c). `key` names its variant.
  [[nodiscard]] bool can_be_invalidated(std::uint32_t key, std::uint32_t pd,
                                        std::uint32_t qpn) const noexcept;
  /// It is free from now on, as after LOCAL_INV. DMA that was allowed before may still come.
  void invalidate(std::uint32_t key);
  /// UMR. False: the key does not admit it, and stays as it was.
  bool reconfigure(const UmrRequest& request);
  /// The PD that a key is in now; 0 when there is no such key.
  [[nodiscard]] std::uint32_t current_pd(std::uint32_t key) const noexcept {
    return key >> 8 < keys_.size() ? keys_[key >> 8].pd : 0;
  }
  /// No check accepts the key from now on, nor does a UMR change it; it stays until destroy().
  /// False: there is no such key.
  bool disable(std::uint32_t index) noexcept;
  /// The PD that a live key was created in.
  [[nodiscard]] std::optional<std::uint32_t> pd_of(std::uint32_t index) const noexcept;
  /// The key of QUERY_SPECIAL_CONTEXTS.resd_lkey: all memory, local access, any PD.
  [[nodiscard]] std::uint32_t reserved_lkey() const noexcept { return kReservedIndex << 8; }
  /// An index that was given back is the next one given.
  void reuse_indices(bool on) noexcept { ids_.reuse_first(on); }
  /// Of the key that an indirect one leads to; off, any that is alive will do.
  void check_domain_below(bool on) noexcept { checks_domain_below_ = on; }
  /// False: which QP a key names (mkc.qpn) is not looked at.
  void check_qp(bool on) noexcept { checks_qp_ = on; }
  [[nodiscard]] std::size_t size() const noexcept { return live_; }
  void clear();

 private:
  static constexpr std::uint32_t kReservedIndex = 2;
  static_assert(kReservedIndex << 8 != prm::kInvalidLkey);
  static constexpr std::uint32_t kFirstIndex = 8;  // kStrideBlockOp would be a key of index 4
  static constexpr std::uint64_t kMttRights = 3;   // EN_RD | EN_WR
  static constexpr std::uint64_t kMttAddress = ~std::uint64_t{0xfff};

  /// What an entry of an indirect key leads to, and how far into the key it begins.
  struct Klm {
    std::uint64_t from = 0;
    std::uint64_t bytes = 0;
    std::uint32_t key = 0;
    std::uint64_t va = 0;
  };

  struct Key {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    std::uint32_t pd = 0;
    std::uint32_t home_pd = 0;  // which CREATE_MKEY named; a UMR may move the key to another
    std::uint32_t qpn = prm::kMkcQpnAny;
    std::uint8_t variant = 0;
    std::uint8_t access = 0;
    std::uint8_t log_page_size = 0;
    bool usable = false;  // live and not mkc.free
    bool any_pd = false;
    bool page_rights = false;        // some page allows less than the key does
    bool indirect = false;           // KLM mode
    bool strided = false;            // its entries come from a pattern
    bool has_signatures = false;     // in force
    bool is_checked_deeper = false;  // any of the four
    bool live = false;
    bool dying = false;         // DESTROY_MKEY waits for its last DMA
    bool physical = false;      // PA mode: the virtual address is the IOVA
    bool on_device = false;     // MEMIC or SW_ICM mode
    std::uint64_t begin = 0;    // of either mode: where address 0 is, as Extent has it
    std::uint32_t pending = 0;  // DMA allowed and not done
    Life life = 0;
    std::vector<std::uint64_t> pages;       // MTT entries, host order, low bits are rights
    std::vector<Klm> klms;                  // of an indirect key
    std::unique_ptr<SignedKey> signatures;  // null: no format was ever given
    prm::Buffer<prm::mkc> context;          // as given, for QUERY_MKEY
  };

  [[nodiscard]] KeyCheck check_deeper(const Key& key, const KeyUse& use) const noexcept;
  [[nodiscard]] KeyCheck check_signed(const Key& key, const KeyUse& use) const noexcept;
  [[nodiscard]] static KeyCheck check_pages(const Key& key, const KeyUse& use) noexcept;
  [[nodiscard]] KeyCheck check_klms(const Key& key, const KeyUse& use) const noexcept;
  /// `depth` indirect keys led to this one.
  [[nodiscard]] Extents translate_below(std::uint32_t key, std::uint64_t va, std::uint32_t bytes,
                                        std::uint32_t depth) const noexcept;
  [[nodiscard]] static Extents translate_pages(const Key& key, std::uint64_t va,
                                               std::uint32_t bytes) noexcept;
  [[nodiscard]] Extents translate_klms(const Key& key, std::uint64_t va, std::uint32_t bytes,
                                       std::uint32_t depth) const noexcept;
  [[nodiscard]] static std::vector<Klm>::const_iterator klm_at(const Key& key,
                                                               std::uint64_t at) noexcept;
  [[nodiscard]] bool may_lead_to(std::uint32_t key, std::uint32_t depth) const noexcept;
  [[nodiscard]] Hold hold(std::uint32_t key) noexcept {
    if (key >> 8 >= keys_.size() || !keys_[key >> 8].live) return {};
    Key& entry = keys_[key >> 8];
    ++entry.pending;
    return {key, entry.life};
  }
  void let_go(const Hold& hold);
  Verdict fill(const Create& request, Key& key) const;
  static Verdict fill_pages(const Create& request, Key& key);
  static Verdict fill_klms(const Create& request, Key& key);
  /// Enters `list` from entry `first` on and says where each entry begins. False: a pattern that
  /// does not make sense, or a part of a list that is to go into one.
  static bool put_klms(std::vector<Klm>& klms, bool& strided, std::size_t first,
                       std::span<const std::byte> list);
  static bool put_pattern(std::vector<Klm>& klms, std::span<const std::byte> list);
  [[nodiscard]] static bool is_covered_by(const std::vector<Klm>& klms,
                                          std::uint64_t length) noexcept;
  [[nodiscard]] static std::uint8_t rights(prm::ConstView<prm::mkc> context) noexcept;
  [[nodiscard]] bool admits(const Key& key, const UmrRequest& umr) const noexcept;
  [[nodiscard]] static std::uint64_t memory_bytes(const Key& key, prm::ConstView<prm::mkc> context,
                                                  const std::optional<BlockFormat>& format);
  [[nodiscard]] static bool is_covered(const Key& key, prm::ConstView<prm::mkc> context,
                                       std::uint64_t length, const UmrRequest& umr) noexcept;
  [[nodiscard]] static std::uint32_t reserved_octwords(const Key& key) noexcept;
  static void take_format(Key& key, prm::ConstView<prm::mkc> context,
                          const std::optional<BlockFormat>& format);
  static void take_translations(Key& key, const UmrRequest& umr);

  std::vector<Key> keys_;  // grows with the highest index in use
  IdAllocator ids_;
  std::size_t live_ = 0;
  bool checks_domain_below_ = true;
  bool checks_qp_ = true;
  Life lives_ = 0;
  IdleHook idle_;
};

}  // namespace portcullis::model
