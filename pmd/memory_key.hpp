// SPDX-License-Identifier: BSD-3-Clause
//
// A memory key: what gives the device, or a peer that knows the rkey, access to a range of memory.
// DESTROY_MKEY on it is the memory fence of a lease.
//
// The low byte of a key is ours to choose and comes from a counter that turns with every key of the
// function, so that a peer's old rkey does not open the next region that gets the same index
// (mlx5_ib, assign_mkey_variant). An rkey is a secret: nothing here prints one.
#pragma once

#include <cstdint>
#include <span>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/access.hpp"
#include "pmd/context.hpp"
#include "pmd/object_handle.hpp"
#include "pmd/protection_domain.hpp"
#include "prm/enums.hpp"
#include "prm/numbers.hpp"

namespace portcullis::pmd {

/// What a key covers: `bytes` from `iova` on, which a WQE or a peer addresses from `start_address`
/// on. Both must lie equally deep in their page.
struct MemoryRange {
  Iova iova = 0;
  std::uint64_t bytes = 0;
  std::uint64_t start_address = 0;

  /// All of `memory`, addressed as the CPU addresses it.
  [[nodiscard]] static MemoryRange of(const DmaMemory& memory) noexcept;
  /// All of `memory`, addressed from 0 on: the peer learns no address of ours.
  [[nodiscard]] static MemoryRange zero_based(const DmaMemory& memory) noexcept;
};

/// An entry of an indirect key: `bytes` of another key, from `address` on as that key counts.
struct KeyRange {
  prm::Rkey key{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// From QUERY_MKEY.
struct MemoryKeyState {
  bool is_free = false;  // nobody may use it (a UMR freed it)
  Access access;
  prm::PdNumber pdn{};
  prm::QpNumber qpn{};
  std::uint64_t start_address = 0;
  std::uint64_t bytes = 0;
};

/// QUERY_MKEY of any key of the function, by its index.
[[nodiscard]] Result<MemoryKeyState> query_memory_key(const Context& context, prm::MkeyIndex index);

class MemoryKey {
 public:
  /// Any QP of the protection domain may use the key.
  static constexpr prm::QpNumber kAnyQp{prm::kMkcQpnAny};

  /// CREATE_MKEY with a page list. With a `qpn` only that QP may use the key, where the firmware
  /// takes it. InvalidArgument for an empty or misaligned range and for remote write or atomics
  /// without local write.
  [[nodiscard]] static Result<MemoryKey> create_mtt(const Context& context,
                                                    const ProtectionDomain& pd,
                                                    const MemoryRange& range, Access access,
                                                    prm::QpNumber qpn = kAnyQp);
  /// The same for all of `memory`, addressed as the CPU addresses it.
  [[nodiscard]] static Result<MemoryKey> create_mtt(const Context& context,
                                                    const ProtectionDomain& pd,
                                                    const DmaMemory& memory, Access access,
                                                    prm::QpNumber qpn = kAnyQp) {
    return create_mtt(context, pd, MemoryRange::of(memory), access, qpn);
  }
  /// CREATE_MKEY over everything the IOMMU lets the device reach, addressed by IOVA. For the
  /// driver's own requests; a peer should never hold one.
  [[nodiscard]] static Result<MemoryKey> create_pa(const Context& context,
                                                   const ProtectionDomain& pd, Access access,
                                                   prm::QpNumber qpn = kAnyQp);

  /// CREATE_MKEY of an indirect key, mode KLM: `ranges` one behind the other, addressed from 0 on.
  /// A peer needs the rights here; of the keys below local ones are enough, and when one of those
  /// is destroyed its range is refused. All in one protection domain. Unsupported where the
  /// function has no such keys, InvalidArgument for a list that it cannot hold.
  [[nodiscard]] static Result<MemoryKey> create_klm(const Context& context,
                                                    const ProtectionDomain& pd,
                                                    std::span<const KeyRange> ranges, Access access,
                                                    prm::QpNumber qpn = kAnyQp);

  [[nodiscard]] std::uint32_t lkey() const noexcept { return prm::number(key_); }
  [[nodiscard]] prm::Rkey rkey() const noexcept { return key_; }
  /// The key without its low byte, as DESTROY_MKEY takes it.
  [[nodiscard]] prm::MkeyIndex index() const noexcept { return prm::MkeyIndex{handle_.id()}; }
  /// QUERY_MKEY.
  [[nodiscard]] Result<MemoryKeyState> query(const Context& context) const {
    return query_memory_key(context, index());
  }
  /// DESTROY_MKEY; done twice is done. Until it succeeded the memory must stay mapped.
  [[nodiscard]] Result<void> destroy() { return handle_.destroy(); }
  /// The index; the caller destroys the key from here on (destroy_mkey_command).
  prm::MkeyIndex release() noexcept { return prm::MkeyIndex{handle_.release()}; }

 private:
  MemoryKey(const Context& context, std::uint32_t variant, prm::MkeyIndex index) noexcept;

  ObjectHandle handle_;
  prm::Rkey key_;
};

}  // namespace portcullis::pmd
