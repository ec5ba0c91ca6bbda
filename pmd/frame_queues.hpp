// SPDX-License-Identifier: BSD-3-Clause
//
// Plain Ethernet frames in and out: a receive queue with its TIR, a send queue with its TIS, one
// completion queue for both, and memory of their own. Which frames come in is up to whoever
// forwards to the TIR (NIC_RX). For the few frames of the control path: every frame is copied, and
// nothing here is on the path of a queue pair. Field by field as mlx5e_create_tis, mlx5e_create_sq
// and mlx5e_create_rq of mlx5/core/en_main.c fill them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/object_handle.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/receive_target.hpp"
#include "pmd/uar.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {

class FrameQueues {
 public:
  static constexpr std::uint32_t kLogFrames = 4;  // of either queue

  /// Everything, ready to use. `frame_bytes`: the longest frame that comes in; the port's own limit
  /// belongs there, since a frame that is longer would be the queue's error. What was made is gone
  /// again after a failure. `context` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<FrameQueues>> create(const Context& context,
                                                                   std::uint32_t frame_bytes);
  FrameQueues(const FrameQueues&) = delete;
  FrameQueues& operator=(const FrameQueues&) = delete;
  ~FrameQueues();

  /// Where a flow entry forwards to.
  [[nodiscard]] std::uint32_t tirn() const noexcept { return tir_.id(); }
  [[nodiscard]] std::size_t frame_bytes() const noexcept { return slot_bytes_; }

  /// Copies the oldest frame into `to`, which holds frame_bytes(); its length, none when there is
  /// no more. Looks at memory alone: time does not pass and nothing is waited for. An error once a
  /// completion makes no sense or says that a queue failed, and ever after.
  [[nodiscard]] Result<std::optional<std::size_t>> receive(std::span<std::byte> to);
  /// Busy when every place is under way, InvalidArgument for a frame that is no frame or too long.
  [[nodiscard]] Result<void> send(std::span<const std::byte> frame);

 private:
  FrameQueues(const Context& context, ProtectionDomain pd, TransportDomain domain, Uar uar) noexcept
      : context_(&context), pd_(std::move(pd)), domain_(std::move(domain)), uar_(std::move(uar)) {}
  [[nodiscard]] Result<void> make_memory(std::uint32_t frame_bytes);
  [[nodiscard]] Result<void> make_completions();
  [[nodiscard]] Result<void> make_sender();
  [[nodiscard]] Result<void> make_receiver();
  [[nodiscard]] Result<std::uint32_t> create_sq() const;
  [[nodiscard]] Result<std::uint32_t> create_rq() const;
  void post_receive() noexcept;
  [[nodiscard]] tl::unexpected<Error> break_with(const std::string& what);
  [[nodiscard]] std::byte* slot(std::uint32_t index) const noexcept {
    return frames_.data() + index * slot_bytes_;
  }

  const Context* context_;
  ProtectionDomain pd_;
  TransportDomain domain_;
  Uar uar_;
  DmaBuffer frames_;   // of the receive queue, then of the send queue
  DmaBuffer rings_;    // entries of the completion queue, then send WQEs, then receive WQEs
  DmaBuffer records_;  // doorbell records, in the same order
  std::optional<MemoryKey> key_;
  // Destroyed from the last to the first.
  ObjectHandle cq_;
  ObjectHandle tis_;
  ObjectHandle sq_;
  ObjectHandle rq_;
  ObjectHandle tir_;
  std::size_t slot_bytes_ = 0;
  std::uint32_t seen_ = 0;    // completions
  std::uint32_t posted_ = 0;  // receives
  std::uint32_t received_ = 0;
  std::uint32_t sent_ = 0;
  std::uint32_t gone_ = 0;    // of those sent
  std::size_t doorbell_ = 0;  // which half of the BlueFlame register
  std::optional<Error> broken_;
};

}  // namespace portcullis::pmd
