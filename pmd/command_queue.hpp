// SPDX-License-Identifier: BSD-3-Clause
//
// The command queue of an mlx5 function: all 2^log_cmdq_size entries at once, polled. The last
// entry is kept for firmware pages and the three before it for fences, so neither waits behind
// anything. A command that timed out keeps its entry and its memory until the function is reset,
// because the device may still write there; a kept entry lost that way is replaced from the common
// ones.
//
// Everything a command needs up to kReadyBytes each way is allocated in advance, so a fence cannot
// fail for want of memory. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/device.hpp"
#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/health.hpp"
#include "pmd/mailbox.hpp"

namespace portcullis::pmd {

class CommandQueue final : public CommandChannel {
 public:
  static constexpr std::uint32_t kFenceSlots = 3;
  static constexpr std::uint32_t kPageSlots = 1;
  /// Longest input or output that needs no allocation: QUERY_HCA_CAP's output.
  static constexpr std::size_t kReadyBytes = MailboxChain::kReadyBytes;
  /// Linux: MLX5_TO_CMD_MS.
  static constexpr std::uint64_t kDefaultTimeoutNs = 60 * kNsPerSecond;

  /// Checks the interface revision and the queue's shape, and gives the device the queue's address.
  /// Unsupported names the value that does not fit. All three must outlive the queue.
  [[nodiscard]] static Result<std::unique_ptr<CommandQueue>> create(const Device& device,
                                                                    DmaArena& arena,
                                                                    Health& health);
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;
  ~CommandQueue() override = default;

  [[nodiscard]] Result<Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                      SlotClass slot_class) override;
  [[nodiscard]] Result<void> await(Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;
  [[nodiscard]] std::uint64_t default_deadline_ns() const override;

  /// Looks, without waiting, whether the device gave the entry back.
  [[nodiscard]] bool is_done(Ticket ticket) const noexcept;
  /// From now on mailboxes are signed and what the device answers must be signed too
  /// (cmdif_checksum 3).
  void sign_mailboxes() noexcept { signed_mailboxes_ = true; }
  void set_timeout_ns(std::uint64_t timeout_ns) noexcept { timeout_ns_ = timeout_ns; }
  /// `idle` is called between two looks of a wait: page requests are served there, since the
  /// firmware may hold a command back until it has its pages. It must not wait itself.
  void on_idle(std::function<void()> idle) { idle_ = std::move(idle); }

  /// Fence entries not lost; below kFenceSlots no new lease should be granted.
  [[nodiscard]] std::uint32_t fence_slots_available() const noexcept;
  /// Entries kept from use because their command timed out.
  [[nodiscard]] std::uint32_t slots_in_quarantine() const noexcept;
  [[nodiscard]] std::uint32_t slots() const noexcept {
    return static_cast<std::uint32_t>(slots_.size());
  }

 private:
  enum class SlotState : std::uint8_t { Free, InFlight, Quarantined };
  struct Slot {
    Slot(std::byte* at, SlotClass kind, MailboxChain input, MailboxChain output)
        : entry(at), slot_class(kind), in(std::move(input)), out(std::move(output)) {}
    std::byte* entry;
    SlotClass slot_class;
    SlotState state = SlotState::Free;
    std::uint32_t out_bytes = 0;
    std::uint16_t opcode = 0;
    std::uint16_t op_mod = 0;
    MailboxChain in;
    MailboxChain out;
  };

  CommandQueue(const Device& device, Health& health, DmaBuffer page) noexcept;

  [[nodiscard]] Result<void> add_slots(DmaArena& arena, std::uint32_t count, std::uint32_t stride);
  [[nodiscard]] Slot* take_slot(SlotClass slot_class) noexcept;
  void fill_entry(Slot& slot, std::span<const std::byte> in) noexcept;
  [[nodiscard]] bool is_returned(const Slot& slot) const noexcept;
  [[nodiscard]] bool wait_for(const Slot& slot, std::uint64_t deadline_ns);
  [[nodiscard]] Result<void> collect(Slot& slot, std::span<std::byte> out);
  [[nodiscard]] Error give_up_on(Slot& slot);
  [[nodiscard]] bool is_signature_good(const Slot& slot) const noexcept;
  void replace_lost_slots() noexcept;
  [[nodiscard]] std::uint32_t usable_slots(SlotClass slot_class) const noexcept;

  const Device* device_;
  Health* health_;
  DmaBuffer page_;
  std::vector<Slot> slots_;
  std::function<void()> idle_;
  std::uint64_t timeout_ns_ = kDefaultTimeoutNs;
  std::uint8_t token_ = 0;
  bool signed_mailboxes_ = false;
};

}  // namespace portcullis::pmd
