// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's own queue for changing memory keys by UMR: a REG_UMR QP with a protection domain and
// a completion queue of its own, as mlx5_ib keeps one for the whole function
// (mlx5r_umr_resource_init). A change is done when its completion says success, and by nothing
// else.
//
// Changes are carried out one after the other. When one fails, those behind it are flushed and the
// queue takes no more until recover().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "prm/numbers.hpp"

namespace portcullis::pmd {

class UmrQueue {
 public:
  /// A change in flight.
  struct Ticket {
    std::uint64_t number = 0;
  };

  /// Up to 2^log_changes changes at a time. `context` must outlive the queue.
  [[nodiscard]] static Result<UmrQueue> create(const Context& context,
                                               std::uint32_t log_changes = 7);

  /// Hands a change to the device. Busy when 2^log_changes are in flight, DeviceFailed after a
  /// change that failed. `key` is whole, with its low byte: the rkey.
  ///
  /// Frees a key: nobody may use it, and the queue's own protection domain takes it over, so that
  /// the lease's can go (mlx5r_umr_revoke_mr).
  [[nodiscard]] Result<Ticket> submit_free(prm::Rkey key);
  /// Verbs' LOCAL_INV: nobody may use the key, and nothing else of it changes.
  [[nodiscard]] Result<Ticket> submit_invalidate(prm::Rkey key);
  /// Other rights; `pdn` is the key's protection domain. A key that is free makes it fail.
  /// Unsupported when the function cannot change the right to atomics.
  [[nodiscard]] Result<Ticket> submit_access(prm::Rkey key, prm::PdNumber pdn, Access access);

  /// Looks, without waiting, whether await() would return at once.
  [[nodiscard]] bool is_done(Ticket ticket);
  /// Waits until the change is done or `until_ns` passes; once for each ticket, before
  /// 2^log_changes more are submitted. DeviceFailed with verbs' status when the device refused it.
  [[nodiscard]] Result<void> await(Ticket ticket, std::uint64_t until_ns);

  /// submit and await in one.
  [[nodiscard]] Result<void> free_key(prm::Rkey key, std::uint64_t until_ns);
  [[nodiscard]] Result<void> invalidate_key(prm::Rkey key, std::uint64_t until_ns);
  [[nodiscard]] Result<void> change_access(prm::Rkey key, prm::PdNumber pdn, Access access,
                                           std::uint64_t until_ns);

  /// A change failed: the QP is in error.
  [[nodiscard]] bool is_in_error() const noexcept { return in_error_; }
  /// Through RESET to RTS again (mlx5r_umr_recover). Tickets in flight end as failed.
  [[nodiscard]] Result<void> recover();

  [[nodiscard]] prm::QpNumber qpn() const noexcept { return qp_.number(); }
  /// Where freed keys go.
  [[nodiscard]] prm::PdNumber pdn() const noexcept { return pd_.number(); }

 private:
  UmrQueue(const Context& context, ProtectionDomain pd, CompletionQueue cq, QueuePair qp,
           std::uint32_t changes)
      : context_(&context),
        pd_(std::move(pd)),
        cq_(std::move(cq)),
        qp_(std::move(qp)),
        outcomes_(changes) {}

  [[nodiscard]] Result<Ticket> submit(KeyRequest request);
  [[nodiscard]] Result<void> look(std::uint64_t until_ns);
  [[nodiscard]] Result<void> outcome_of(Ticket ticket) const;

  const Context* context_;
  ProtectionDomain pd_;
  CompletionQueue cq_;
  QueuePair qp_;
  std::vector<Completion> outcomes_;  // by number of the change
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  bool in_error_ = false;
};

}  // namespace portcullis::pmd
