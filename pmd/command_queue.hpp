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

#include <algorithm>
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
#include "pmd/undo_patience.hpp"
#include "prm/cmd_interface.hpp"

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
  /// Memory of commands that never came back is not returned to the arena.
  ~CommandQueue() override;

  [[nodiscard]] Result<Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                      SlotClass slot_class) override;
  [[nodiscard]] Result<void> await(Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;
  [[nodiscard]] std::uint64_t default_deadline_ns() const override;
  void begin_undoing() noexcept override {
    undo_.begin();
    set_wait();
  }
  void end_undoing() noexcept override {
    undo_.end();
    set_wait();
  }

  /// Looks, without waiting, whether the device gave the entry back.
  [[nodiscard]] bool is_done(Ticket ticket) const noexcept override;
  /// From now on what the device answers must be signed (SET_HCA_CAP with cmdif_checksum 3 was
  /// answered). What the driver sends always is.
  void verify_answers() noexcept { verify_answers_ = true; }
  void set_timeout_ns(std::uint64_t timeout_ns) noexcept {
    timeout_ns_ = timeout_ns;
    set_wait();
  }
  /// `idle` is called between two looks of a wait: page requests are served there, since the
  /// firmware may hold a command back until it has its pages; in the wait for a fence's command
  /// only once that is late. It must not wait itself.
  void on_idle(std::function<void()> idle) { idle_ = std::move(idle); }

  /// What was sent or to be sent in an UndoScope and is not known to have been done.
  [[nodiscard]] const UndoPatience& undone() const noexcept { return undo_; }

  /// Fence entries not lost; below kFenceSlots no new lease should be granted.
  [[nodiscard]] std::uint32_t fence_slots_available() const noexcept {
    return usable_[static_cast<std::size_t>(SlotClass::Fence)];
  }
  /// Entries kept from use because their command timed out.
  [[nodiscard]] std::uint32_t slots_in_quarantine() const noexcept;
  [[nodiscard]] std::uint32_t slots() const noexcept {
    return static_cast<std::uint32_t>(slots_.size());
  }

 private:
  static constexpr std::size_t kClasses = 3;
  /// The fatal sensors are read once for every command that has to be waited for, while the device
  /// works on it, and this often from then on.
  static constexpr std::uint64_t kSensorIntervalNs = 10 * kNsPerMs;
  /// The floor document, section 1.1, saw 1.5 ms for 2ERR_QP and DESTROY_MKEY together; that one
  /// alone takes less than this is a hypothesis, and costs nothing but a late answer to firmware
  /// where it is wrong.
  static constexpr std::uint64_t kFenceAloneNs = kNsPerMs;

  /// In place of the serial number of a command in flight; no command has one of these.
  static constexpr std::uint32_t kFree = 0x100;
  static constexpr std::uint32_t kQuarantined = 0x200;
  struct Slot {
    std::byte* entry;
    SlotClass slot_class;
    MailboxChain in;
    MailboxChain out;
    std::uint32_t serial = kFree;
    bool has_mailboxes = false;
    std::uint32_t out_bytes = 0;
    std::array<std::byte, prm::cmd_in::bytes> header{};  // of the input, for the error line
  };
  CommandQueue(const Device& device, Health& health, DmaBuffer page) noexcept;

  [[nodiscard]] Result<void> add_slots(DmaArena& arena, std::uint32_t count,
                                       std::size_t stride_bytes);
  /// To a slot that is free; submit() has looked.
  [[nodiscard]] Result<Ticket> send(std::span<const std::byte> in, std::size_t out_bytes,
                                    SlotClass slot_class);
  // What an inline command that succeeds never needs stands apart, out of its way.
  [[nodiscard]] Result<Ticket> refuse(std::size_t in_bytes, std::size_t out_bytes,
                                      SlotClass slot_class) const;
  [[nodiscard]] bool is_in_vain(SlotClass slot_class) noexcept;
  [[nodiscard]] Result<Ticket> send_or_refuse(std::span<const std::byte> in, std::size_t out_bytes,
                                              SlotClass slot_class);
  [[nodiscard]] Result<void> refuse(Ticket ticket, std::size_t out_bytes) const;
  [[nodiscard]] Result<void> fill_mailboxes(Slot& slot, std::span<const std::byte> in);
  [[nodiscard]] bool wait_for(const Slot& slot, std::uint64_t deadline_ns);
  [[nodiscard]] bool wait_longer(const Slot& slot, std::uint64_t deadline_ns);
  [[nodiscard]] bool wait_on(const Slot& slot, std::uint64_t deadline_ns);
  [[nodiscard]] std::uint64_t next_check_ns(std::uint64_t deadline_ns) const;
  [[nodiscard]] Result<void> give_up_on(std::uint32_t slot);
  [[nodiscard]] Result<void> note_lost(const Slot& slot, Error error);
  void replace_lost_slots() noexcept;
  /// Whatever undo_ or timeout_ns_ say now; here, so that no command asks.
  void set_wait() noexcept {
    wait_ns_ = undo_.is_on() ? std::min(timeout_ns_, undo_.next_ns()) : timeout_ns_;
  }

  [[nodiscard]] std::uint32_t& free_slots(SlotClass slot_class) noexcept {
    return free_[static_cast<std::size_t>(slot_class)];
  }

  const Device* device_;
  Health* health_;
  DmaBuffer page_;
  std::vector<Slot> slots_;
  std::array<std::uint32_t, kClasses> free_{};    // bit n: slot n, by class
  std::array<std::uint32_t, kClasses> usable_{};  // slots not in quarantine, by class
  std::function<void()> idle_;
  UndoPatience undo_;
  std::uint32_t last_lost_ = 0;  // the slot, where one was lost
  std::uint64_t timeout_ns_ = kDefaultTimeoutNs;
  std::uint64_t wait_ns_ = kDefaultTimeoutNs;  // of a command that is given no deadline
  std::uint32_t serial_ = 0;  // of the last command; its low byte is the token, and never 0
  bool verify_answers_ = false;
  bool has_lost_slots_ = false;
};

}  // namespace portcullis::pmd
