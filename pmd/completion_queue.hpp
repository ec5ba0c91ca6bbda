// SPDX-License-Identifier: BSD-3-Clause
//
// A completion queue of 64-byte entries: the object in the device, and poll() on its ring
// (pmd/completion_ring.hpp). Must outlive the QPs that complete here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "pmd/completion.hpp"
#include "pmd/completion_ring.hpp"
#include "pmd/context.hpp"
#include "pmd/object_handle.hpp"
#include "pmd/uar.hpp"

namespace portcullis::pmd {

class CompletionQueue {
 public:
  /// CREATE_CQ with 2^log_size entries, one for each basic block of every send queue that completes
  /// here. Events, if armed, go to event queue `eqn`. `context` and `uar` must outlive it.
  [[nodiscard]] static Result<CompletionQueue> create(const Context& context, const Uar& uar,
                                                      std::uint8_t eqn, std::uint32_t log_size);
  /// On the function's own UAR and event queue.
  [[nodiscard]] static Result<CompletionQueue> create(const Context& context,
                                                      std::uint32_t log_size) {
    return create(context, *context.uar, context.eqn, log_size);
  }
  CompletionQueue(CompletionQueue&& other) noexcept = default;
  CompletionQueue& operator=(CompletionQueue&& other) noexcept;
  ~CompletionQueue();

  [[nodiscard]] std::uint32_t number() const noexcept { return handle_.id(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return ring_->size(); }
  /// Device bytes did not decode: every poll from now on returns that error.
  [[nodiscard]] bool is_broken() const noexcept { return ring_->is_broken(); }

  /// The next completion, or none. An empty queue relaxes once, to `until_ns`, and looks no more.
  [[nodiscard]] Result<std::optional<Completion>> poll(std::uint64_t until_ns) {
    return ring_->poll(until_ns);
  }
  /// The same, relaxing to now: what is due happens, time does not pass.
  [[nodiscard]] Result<std::optional<Completion>> try_poll() { return ring_->try_poll(); }
  /// Polls until there is one; Timeout when `until_ns` passes.
  [[nodiscard]] Result<Completion> wait(std::uint64_t until_ns);
  /// Asks for an event with the next completion (or the next solicited or failed one).
  void arm(bool solicited_only = false) noexcept { ring_->arm(solicited_only); }
  /// That event has come; without this the next arm() is taken for the same one.
  void note_event() noexcept { ring_->note_event(); }

  /// DESTROY_CQ; done twice is done. The device refuses while QPs refer to it. When it fails on
  /// destruction too the ring's memory is kept for the life of the process.
  [[nodiscard]] Result<void> destroy() { return handle_.destroy(); }

  /// For queue pairs: who completes here.
  [[nodiscard]] CompletionRing& ring() noexcept { return *ring_; }

 private:
  CompletionQueue(const Context& context, std::unique_ptr<CompletionRing> ring) noexcept
      : context_(&context), ring_(std::move(ring)) {}
  void undo() noexcept;

  const Context* context_;
  ObjectHandle handle_;
  std::unique_ptr<CompletionRing> ring_;
};

}  // namespace portcullis::pmd
