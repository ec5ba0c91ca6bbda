// SPDX-License-Identifier: BSD-3-Clause
//
// The way of a command where the NIC stays with its kernel driver: from one command on the kernel
// takes the device for broken, answers for it what a fence sends, and aborts all else, while the
// device goes on. What such an answer is worth is decided as devx::Channel decides it: one that the
// kernel may have given by itself counts once the device has answered a query behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>

#include "pmd/command_channel.hpp"

namespace portcullis::proof::adversary {

class KeptChannel final : public pmd::CommandChannel {
 public:
  /// `channel` must outlive it. One that believes asks nothing behind an answer.
  KeptChannel(pmd::CommandChannel& channel, bool believes) noexcept
      : channel_(&channel), believes_(believes) {}

  /// The kernel takes the device for broken once it has passed on so many more commands.
  void break_behind(std::uint32_t commands) noexcept { left_ = commands; }
  /// It takes it for whole.
  void mend() noexcept { left_.reset(); }
  /// Commands that the kernel has answered by itself.
  [[nodiscard]] std::uint32_t faked() const noexcept { return faked_; }

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override;
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;
  [[nodiscard]] bool is_done(pmd::Ticket ticket) const noexcept override {
    return fakes_.contains(ticket.slot) || channel_->is_done(ticket);
  }
  [[nodiscard]] std::uint64_t default_deadline_ns() const override {
    return channel_->default_deadline_ns();
  }
  void begin_undoing() noexcept override { channel_->begin_undoing(); }
  void end_undoing() noexcept override { channel_->end_undoing(); }

 private:
  static constexpr std::uint32_t kFirstFake = 0xfffe'0000;  // no slot of a device

  [[nodiscard]] bool is_broken() const noexcept { return left_ == 0U; }
  [[nodiscard]] Result<pmd::Ticket> pass_on(std::span<const std::byte> in, std::size_t out_bytes,
                                            pmd::SlotClass slot_class);
  [[nodiscard]] Result<void> confirm(std::uint64_t deadline_ns);

  pmd::CommandChannel* channel_;
  bool believes_;
  std::optional<std::uint32_t> left_;  // commands until it is taken for broken; none: never
  std::uint32_t faked_ = 0;
  std::unordered_set<std::uint32_t> fakes_;     // slots of answers that the kernel has given
  std::unordered_set<std::uint32_t> doubtful_;  // and of all that it may have given
};

}  // namespace portcullis::proof::adversary
