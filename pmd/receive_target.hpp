// SPDX-License-Identifier: BSD-3-Clause
//
// Where flow steering can forward a packet to: a receive queue (RQ) of its own with the TIR in
// front of it, both in a transport domain. Field by field as create_raw_packet_qp_rq and
// create_raw_packet_qp_tir of mlx5_ib/qp.c fill them. Nothing is ever posted to the queue, so what
// is forwarded there is lost; that is what an underlay is for (steering/underlay_drop.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/object_handle.hpp"
#include "pmd/protection_domain.hpp"

namespace portcullis::pmd {

class TransportDomain {
 public:
  /// ALLOC_TRANSPORT_DOMAIN. Undone (DEALLOC_TRANSPORT_DOMAIN) on destruction.
  [[nodiscard]] static Result<TransportDomain> create(const Context& context);

  [[nodiscard]] std::uint32_t number() const noexcept { return handle_.id(); }
  /// DEALLOC_TRANSPORT_DOMAIN; done twice is done. The device refuses while a TIR refers to it.
  [[nodiscard]] Result<void> destroy() { return handle_.destroy(); }

 private:
  explicit TransportDomain(ObjectHandle handle) noexcept : handle_(std::move(handle)) {}
  ObjectHandle handle_;
};

class ReceiveTarget {
 public:
  /// CREATE_RQ, MODIFY_RQ to ready, CREATE_TIR, all by `deadline_ns` (device clock). What was made
  /// is gone again after a refusal; where the deadline passed it stays, and so does its memory. All
  /// arguments must outlive it.
  [[nodiscard]] static Result<ReceiveTarget> create(const Context& context,
                                                    const TransportDomain& domain,
                                                    const ProtectionDomain& pd,
                                                    const CompletionQueue& cq,
                                                    std::uint64_t deadline_ns);
  ReceiveTarget(ReceiveTarget&&) noexcept = default;
  ReceiveTarget& operator=(ReceiveTarget&&) = delete;
  ~ReceiveTarget();

  [[nodiscard]] std::uint32_t rqn() const noexcept { return rq_.id(); }
  [[nodiscard]] std::uint32_t tirn() const noexcept { return tir_.id(); }
  /// DESTROY_TIR, DESTROY_RQ by `deadline_ns` (device clock; none: each has the function's own);
  /// done twice is done. The device refuses while an entry forwards here.
  [[nodiscard]] Result<void> destroy(std::optional<std::uint64_t> deadline_ns);

 private:
  ReceiveTarget(CommandChannel& commands, DmaBuffer queue, DmaBuffer record) noexcept
      : commands_(&commands), queue_(std::move(queue)), record_(std::move(record)) {}
  [[nodiscard]] Result<void> make(const TransportDomain& domain, const ProtectionDomain& pd,
                                  const CompletionQueue& cq, std::uint64_t deadline_ns);
  [[nodiscard]] Result<std::uint32_t> create_rq(const ProtectionDomain& pd,
                                                const CompletionQueue& cq,
                                                std::uint64_t deadline_ns) const;
  [[nodiscard]] Result<void> make_ready(std::uint64_t deadline_ns) const;
  [[nodiscard]] Result<void> create_tir(const TransportDomain& domain, std::uint64_t deadline_ns);
  void quarantine() noexcept;

  CommandChannel* commands_;
  DmaBuffer queue_;
  DmaBuffer record_;
  ObjectHandle rq_;
  ObjectHandle tir_;
};

}  // namespace portcullis::pmd
