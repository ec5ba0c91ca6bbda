// SPDX-License-Identifier: BSD-3-Clause
//
// The ring of completion queue entries and who they belong to: the data path of a CompletionQueue.
// An entry is ours when its owner bit equals the pass over the ring. Its bytes come from a device
// and are not trusted: an entry that does not decode, or names a QP or a WQE that cannot have
// completed, breaks the queue, and a broken queue tells nothing but its error from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cells.hpp"
#include "base/device.hpp"
#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/completion.hpp"
#include "pmd/work_queues.hpp"
#include "prm/cqe.hpp"
#include "prm/doorbell.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {

class CompletionRing {
 public:
  /// `ring` holds 2^log_size entries; `record` a doorbell record; `uar_page` the cells.
  CompletionRing(const Device& device, DmaBuffer ring, DmaBuffer record,
                 std::span<std::byte> uar_page, std::uint32_t log_size);
  CompletionRing(const CompletionRing&) = delete;
  CompletionRing& operator=(const CompletionRing&) = delete;

  /// The next completion. An empty ring relaxes once, to `until_ns`, and looks no more.
  [[nodiscard]] Result<std::optional<Completion>> poll(std::uint64_t until_ns) {
    Completion completion;
    if (take_success(completion)) [[likely]]
      return completion;
    return poll_slow(until_ns);
  }
  /// As poll() with a deadline that has come: an empty ring relaxes once, to now.
  [[nodiscard]] Result<std::optional<Completion>> try_poll() {
    Completion completion;
    if (take_success(completion)) [[likely]]
      return completion;
    return poll_slow(std::nullopt);
  }
  /// Asks for an event with the next completion, or the next solicited or failed one.
  void arm(bool solicited_only) noexcept;
  /// The event of the last arm() has come: the next one is another (mlx5_cq_tasklet_cb, arm_sn).
  void note_event() noexcept { ++arm_sn_; }

  /// OutOfResources when the entries could not hold a completion for each WQE of `queues` beside
  /// those of the queues already here: in error every WQE has one.
  [[nodiscard]] Result<void> check_room(const WorkQueues& queues) const;
  /// The queues of a QP, whose number the send queue knows, complete here.
  [[nodiscard]] Result<void> attach(WorkQueues& queues);
  /// The QP is reset or destroyed: forgets its entries (__mlx5_ib_cq_clean).
  void clean(prm::QpNumber qpn) noexcept;
  /// After DESTROY_QP.
  void detach(const WorkQueues& queues) noexcept;
  /// The QP may live on in the device without an owner here: what still comes for it is dropped.
  void disown(const WorkQueues& queues) noexcept;

  [[nodiscard]] bool is_broken() const noexcept { return broken_.has_value(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return mask_ + 1; }
  [[nodiscard]] std::uint32_t log_size() const noexcept { return log_size_; }
  [[nodiscard]] Iova ring_iova() const noexcept { return ring_memory_.iova(); }
  [[nodiscard]] Iova record_iova() const noexcept { return record_memory_.iova(); }
  void set_cqn(std::uint32_t cqn) noexcept { cqn_ = cqn; }
  /// The device may use the memory for ever: it is never given back.
  void quarantine() noexcept;

 private:
  using Cqe = prm::ConstView<prm::mlx5_cqe64>;
  struct Owner {
    prm::QpNumber qpn;
    WorkQueues* queues;  // null: disowned
    std::uint32_t completions;
  };

  static constexpr std::size_t kOpOwnByte = prm::place<prm::mlx5_cqe64, "op_own">.offset / 8;
  static constexpr std::uint32_t kNever = 0x100;  // no device's byte is this, nor this ^ 1

  [[nodiscard]] std::byte* entry(std::uint32_t index) const noexcept {
    return ring_ + (index & mask_) * prm::kCqeBytes;
  }
  [[nodiscard]] static Cqe view(const std::byte* entry) noexcept {
    return Cqe(std::span<const std::byte, prm::kCqeBytes>(entry, prm::kCqeBytes));
  }
  [[nodiscard]] bool is_ready(std::uint32_t index) const noexcept {
    return prm::cqe_is_ready(cells::load_acquire<std::uint8_t>(entry(index) + kOpOwnByte), index,
                             log_size_);
  }
  void advance(std::byte* from) noexcept;
  void forget_last() noexcept;
  [[nodiscard]] bool take_success(Completion& completion) noexcept;
  [[nodiscard]] Result<std::optional<Completion>> poll_slow(std::optional<std::uint64_t> until_ns);
  [[nodiscard]] Result<std::optional<Completion>> decode();
  [[nodiscard]] Result<Completion> decode_request(Cqe cqe, SendQueue& queue);
  [[nodiscard]] Result<Completion> decode_receive(Cqe cqe, prm::QpNumber qpn, ReceiveQueue* queue);
  [[nodiscard]] Result<void> decode_error(Cqe cqe, Completion& completion);
  [[nodiscard]] tl::unexpected<Error> break_with(std::string what);
  [[nodiscard]] const Owner* find(prm::QpNumber qpn) const noexcept;

  // What a poll touches, together.
  std::byte* next_;  // the entry at the consumer index
  std::byte* end_;
  std::byte* record_;
  SendQueue* last_queue_ = nullptr;  // most completions are for the QP of the one before
  std::uint32_t last_write_ = 0;     // sop_drop_qpn of a WRITE by that QP
  std::uint32_t consumer_index_ = 0;
  // op_own of a plain success in this pass; kNever without a last queue, and when broken.
  std::uint32_t success_ = kNever;

  std::uint8_t log_size_;
  std::uint32_t mask_;
  std::byte* ring_;
  std::uint32_t cqn_ = 0;
  std::uint32_t arm_sn_ = 0;
  std::uint32_t attached_completions_ = 0;
  std::byte* doorbell_;
  const Device* device_;
  std::vector<Owner> owners_;  // by qpn
  std::optional<Error> broken_;
  DmaBuffer ring_memory_;
  DmaBuffer record_memory_;
};

/// Past the entry `from`, the one at the consumer index.
inline void CompletionRing::advance(std::byte* from) noexcept {
  ++consumer_index_;
  next_ = from + prm::kCqeBytes;
  if (next_ == end_) [[unlikely]] {
    next_ = ring_;
    success_ ^= 1;
  }
  cells::store_release<std::uint32_t>(record_,
                                      cells::be32(prm::cq_consumer_index(consumer_index_)));
}

/// The common case whole: a WRITE done by the QP that completed last. Everything else, an empty
/// ring included, is left as it is for poll_slow().
inline bool CompletionRing::take_success(Completion& completion) noexcept {
  std::byte* at = next_;
  if (cells::load_acquire<std::uint8_t>(at + kOpOwnByte) != success_) return false;
  const Cqe cqe = view(at);
  if (cqe.get<"sop_drop_qpn">() != last_write_) [[unlikely]]
    return false;
  const auto wqe_counter = static_cast<std::uint16_t>(cqe.get<"wqe_counter">());
  const std::uint64_t* wr_id = last_queue_->complete(wqe_counter);
  if (wr_id == nullptr) [[unlikely]]
    return false;
  advance(at);
  completion.wr_id = *wr_id;
  completion.qpn = prm::QpNumber{prm::cqe_qpn(last_write_)};
  completion.wqe_counter = wqe_counter;
  return true;
}

}  // namespace portcullis::pmd
