// SPDX-License-Identifier: BSD-3-Clause
//
// One side of a connection on a function that Hca brought up: everything a lease would own, and a
// region to read from or write to. Peers on the same function meet at the port's own address.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "base/dma_memory.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/queue_pair.hpp"

namespace portcullis::testing {

inline constexpr pmd::Gid kGid = pmd::Gid::from_ipv4(192, 0, 2, 1);
inline constexpr pmd::Mac kMac{{0x02, 0, 0, 0, 0, 1}};
inline constexpr std::size_t kRegionBytes = std::size_t{1} << 20;
inline constexpr std::uint32_t kLogEntries = 6;
inline constexpr std::uint32_t kClientPsn = 0xfffffe;  // wraps in the first messages
inline constexpr std::uint32_t kServerPsn = 0x123;

/// A key of the same index that nobody was given.
[[nodiscard]] constexpr prm::Rkey with_another_byte(prm::Rkey key) noexcept {
  return prm::Rkey{prm::number(key) ^ 1};
}

struct Side {
  /// Everything a peer may be allowed.
  static constexpr pmd::Access kEverything{true, true, true, true};

  static Side make(const pmd::Context& context,
                   pmd::Access access = {.local_write = true, .remote_write = true},
                   const pmd::QueuePairOptions& options = {kLogEntries}) {
    auto pd = pmd::ProtectionDomain::create(context).value();
    auto cq = pmd::CompletionQueue::create(context, kLogEntries + 1).value();
    auto qp = pmd::QueuePair::create(context, pd, cq, options).value();
    auto memory = DmaMemory::create(*context.device.dma, kRegionBytes).value();
    auto key = pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(memory), access)
                   .value();
    return Side{std::move(pd),     std::move(cq),  std::move(qp),
                std::move(memory), std::move(key), access};
  }

  void connect(prm::QpNumber remote_qpn, std::uint32_t own_psn, std::uint32_t remote_psn,
               const pmd::RtsAttributes& how = {.timeout = 10, .retry_count = 6}) {
    pmd::RtrAttributes rtr;
    rtr.path.remote_gid = kGid;
    rtr.path.remote_mac = kMac;
    rtr.remote_qpn = remote_qpn;
    rtr.rq_psn = remote_psn;
    pmd::RtsAttributes rts = how;
    rts.sq_psn = own_psn;
    ASSERT_TRUE(qp.to_init(access));
    ASSERT_TRUE(qp.to_rtr(rtr));
    ASSERT_TRUE(qp.to_rts(rts));
  }

  pmd::ProtectionDomain pd;
  pmd::CompletionQueue cq;
  pmd::QueuePair qp;
  DmaMemory memory;
  pmd::MemoryKey key;
  pmd::Access access;
};

}  // namespace portcullis::testing
