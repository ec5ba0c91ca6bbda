// SPDX-License-Identifier: BSD-3-Clause
//
// The client of a lease on another server: WRITEs one packet when it is told to, each word stamped
// as the witness of proof/adversary reads it, and says what became of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.hpp"
#include "late/server.hpp"
#include "lease/grant.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"

namespace portcullis::late {

class Writer {
 public:
  static constexpr std::size_t kWriteBytes = 64;

  /// On `home`, which must outlive it. `owner` is in the stamps.
  [[nodiscard]] static Result<Writer> create(const Server& home, std::uint32_t owner);

  /// As the grant is to know it; `psn` is the first that it will send.
  [[nodiscard]] lease::Peer peer(std::uint32_t psn) const;
  [[nodiscard]] Result<void> connect(const lease::Grant& grant, const Server& of,
                                     std::uint32_t psn);
  /// One WRITE of kWriteBytes to `offset` of the lease.
  [[nodiscard]] Result<void> post(std::uint64_t offset);
  /// What became of the oldest WRITE that nobody has asked for.
  [[nodiscard]] Result<std::optional<pmd::Completion>> poll() { return cq_.try_poll(); }
  [[nodiscard]] Result<pmd::Completion> wait(std::uint64_t ns);

  [[nodiscard]] const lease::Grant& grant() const noexcept { return grant_; }
  [[nodiscard]] std::uint32_t owner() const noexcept { return owner_; }
  /// Of the next WRITE.
  [[nodiscard]] std::uint32_t next_psn() const noexcept { return next_psn_; }
  [[nodiscard]] std::uint32_t qpn() const noexcept { return prm::number(qp_.number()); }

 private:
  Writer(const Server& home, std::uint32_t owner, pmd::ProtectionDomain pd, pmd::CompletionQueue cq,
         pmd::QueuePair qp)
      : home_(&home), owner_(owner), pd_(std::move(pd)), cq_(std::move(cq)), qp_(std::move(qp)) {}

  const Server* home_;
  std::uint32_t owner_;
  pmd::ProtectionDomain pd_;
  pmd::CompletionQueue cq_;
  pmd::QueuePair qp_;
  lease::Grant grant_;
  std::uint32_t next_psn_ = 0;
  std::uint32_t words_ = 0;  // stamped so far
};

}  // namespace portcullis::late
