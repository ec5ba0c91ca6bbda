// SPDX-License-Identifier: BSD-3-Clause
//
// A client of a lease, at the other end of its connection: posts what it is told to post and goes
// on, whatever the outcome of a revoke. It knows its messages' PSNs, so that the adversary does.
#pragma once

#include <cstdint>
#include <memory>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "lease/grant.hpp"
#include "model/random.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "pmd/roce_address.hpp"
#include "pmd/roce_path.hpp"
#include "pmd/work_request.hpp"
#include "proof/adversary/adversary.hpp"
#include "proof/adversary/operation.hpp"
#include "proof/adversary/witness.hpp"

namespace portcullis::proof::adversary {

inline constexpr pmd::RoceAddress kPort{.gid = pmd::Gid::from_ipv4(192, 0, 2, 1),
                                        .mac = {{2, 0, 0, 0, 0, 1}}};
inline constexpr prm::QpcMtu kMtu = prm::QpcMtu::MTU_256;
inline constexpr std::uint32_t kMtuBytes = 256;
inline constexpr std::uint32_t kRegionBytes = 2 * kPageBytes;
/// No client reads or changes the last bytes of its own region, so whoever else does is seen.
inline constexpr std::uint32_t kVaultBytes = kMtuBytes;
inline constexpr std::uint32_t kVault = kRegionBytes - kVaultBytes;
/// T is 4.2 ms: long for packets that are not held, short for a run.
inline constexpr std::uint8_t kAckTimeout = 10;
inline constexpr std::uint8_t kRetryCount = 7;
/// Of one message.
inline constexpr std::uint32_t kMostPackets = 4;
/// What a lease takes before its receives are posted again: more than a client has outstanding, so
/// that it is never told to wait.
inline constexpr std::uint32_t kLogReceives = 5;

class Client {
 public:
  /// `own_port` leads back to the port it is on, where its lease is too. It tells `witness` what it
  /// asks for and where that comes to hand.
  [[nodiscard]] static Result<std::unique_ptr<Client>> create(const pmd::Context& context,
                                                              const pmd::RocePath& own_port,
                                                              Witness& witness);

  [[nodiscard]] lease::Peer peer(std::uint32_t psn) const {
    return {.qpn = qp_.number(),
            .psn = psn,
            .gid = own_port_.remote_gid,
            .mac = own_port_.remote_mac,
            .lid = own_port_.remote_lid};
  }
  /// Its words carry `serial` from now on; the connection is the adversary's to follow. A lease
  /// without receives gets no SEND and nothing with immediate data.
  [[nodiscard]] Result<void> connect(const lease::Grant& grant, std::uint32_t serial,
                                     std::uint32_t psn, bool has_receives);
  /// After reset(): to another QP with the key of before, as a client that never heard of the
  /// outcome.
  [[nodiscard]] Result<void> connect_to(prm::QpNumber qpn, std::uint32_t psn);
  [[nodiscard]] Result<void> reset();

  /// One message of a random kind, length and place; false when there is no room.
  [[nodiscard]] Result<bool> post(model::Random& random);
  /// One of so many packets' bytes, at that place of the region; false when there is no room. A
  /// SEND goes where the lease has a receive, an atomic has its own size.
  [[nodiscard]] Result<bool> post(Operation operation, std::uint32_t packets, std::uint64_t at);
  /// One packet with its own key at an address that is not its lease's. `operation` names a key.
  [[nodiscard]] Result<bool> reach(Operation operation, std::uint64_t address);
  /// Takes completions.
  [[nodiscard]] Result<void> poll();

  [[nodiscard]] const lease::Grant& grant() const noexcept { return grant_; }
  [[nodiscard]] Connection& connection() noexcept { return *connection_; }
  [[nodiscard]] const Connection& connection() const noexcept { return *connection_; }
  [[nodiscard]] bool has_receives() const noexcept { return has_receives_; }
  [[nodiscard]] const OperationCounts& posted() const noexcept { return posted_; }
  /// Its QP is in error: it sends nothing until it is connected anew.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  [[nodiscard]] const OperationCounts& succeeded() const noexcept { return succeeded_; }

 private:
  Client(const pmd::RocePath& own_port, Witness& witness, pmd::ProtectionDomain pd,
         pmd::CompletionQueue cq, pmd::QueuePair qp, DmaMemory source, pmd::MemoryKey key)
      : own_port_(own_port),
        witness_(&witness),
        pd_(std::move(pd)),
        cq_(std::move(cq)),
        qp_(std::move(qp)),
        source_(std::move(source)),
        key_(std::move(key)) {}
  [[nodiscard]] bool has_room() const noexcept;
  /// Of a message of so many packets.
  [[nodiscard]] static std::uint32_t bytes_of(Operation operation, std::uint32_t packets) noexcept;
  [[nodiscard]] Result<bool> send(Operation operation, std::uint32_t bytes, std::uint64_t address);
  [[nodiscard]] Result<void> to_rts(prm::QpNumber remote_qpn, std::uint32_t remote_psn,
                                    std::uint32_t psn);

  pmd::RocePath own_port_;
  Witness* witness_;
  pmd::ProtectionDomain pd_;
  pmd::CompletionQueue cq_;
  pmd::QueuePair qp_;
  DmaMemory source_;
  pmd::MemoryKey key_;
  lease::Grant grant_;
  std::unique_ptr<Connection> connection_ = std::make_unique<Connection>();
  OperationCounts posted_{};
  OperationCounts succeeded_{};
  bool has_receives_ = false;
  bool has_failed_ = false;
};

}  // namespace portcullis::proof::adversary
