// SPDX-License-Identifier: BSD-3-Clause
//
// Both ends on one function: the port's own address, and a path from the port to itself. What
// --peer=loopback stands for, on a card as on the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "bench/common/client.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "pmd/roce_address.hpp"

namespace portcullis::bench {

/// The function's RoCE address, index 0, and the way to it.
class Port {
 public:
  /// Sets an address of 192.0.2.0/24 (documentation, RFC 5737) with the port's permanent MAC, or a
  /// locally administered one where it has none. `context` must outlive it.
  [[nodiscard]] static Result<Port> create(const pmd::Context& context);
  /// From the port to itself.
  [[nodiscard]] const pmd::RocePath& path() const noexcept { return path_; }

 private:
  Port(pmd::RoceAddressTable addresses, pmd::RocePath path)
      : addresses_(std::move(addresses)), path_(path) {}
  pmd::RoceAddressTable addresses_;
  pmd::RocePath path_;
};

/// A QP with a region that its peer may write, without a lease: for what measures the data path
/// alone. Two of them make a connection.
class Endpoint {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Endpoint>> create(const pmd::Context& context,
                                                                std::size_t region_bytes);
  /// To RTS, with `remote_qpn` as peer; both sides start from PSN 0.
  [[nodiscard]] Result<void> connect(const pmd::RocePath& path, std::uint32_t remote_qpn);
  [[nodiscard]] std::uint32_t qpn() const noexcept { return qp_.number(); }
  [[nodiscard]] Target target() const noexcept {
    return {.address = 0, .rkey = key_.rkey(), .bytes = region_.bytes()};
  }
  [[nodiscard]] pmd::QueuePair& qp() noexcept { return qp_; }
  [[nodiscard]] pmd::CompletionQueue& cq() noexcept { return cq_; }

 private:
  Endpoint(DmaMemory region, pmd::ProtectionDomain pd, pmd::MemoryKey key, pmd::CompletionQueue cq,
           pmd::QueuePair qp)
      : region_(std::move(region)),
        pd_(std::move(pd)),
        key_(std::move(key)),
        cq_(std::move(cq)),
        qp_(std::move(qp)) {}

  DmaMemory region_;
  pmd::ProtectionDomain pd_;
  pmd::MemoryKey key_;
  pmd::CompletionQueue cq_;
  pmd::QueuePair qp_;
};

}  // namespace portcullis::bench
