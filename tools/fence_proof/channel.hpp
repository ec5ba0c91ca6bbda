// SPDX-License-Identifier: BSD-3-Clause
//
// The command channel as the lease code sees it in a run: tells when the key is about to be taken
// away, and lies where a mutant asks for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>

#include "pmd/command_channel.hpp"
#include "tools/fence_proof/mutant.hpp"

namespace portcullis::fence_proof {

class ProofChannel final : public pmd::CommandChannel {
 public:
  ProofChannel(pmd::CommandChannel& channel, Mutant mutant) : channel_(&channel), mutant_(mutant) {}

  /// Called before a DESTROY_MKEY of a fence reaches the device.
  void on_key_step(std::function<void()> hook) { key_step_ = std::move(hook); }
  /// Called when it has succeeded, as far as the lease code is told.
  void on_key_gone(std::function<void()> hook) { key_gone_ = std::move(hook); }
  /// Lies, if there is a mutant; honest before and after.
  void set_lying(bool on) noexcept { lying_ = on; }

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override;
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;
  [[nodiscard]] bool is_done(pmd::Ticket ticket) const noexcept override;
  [[nodiscard]] std::uint64_t default_deadline_ns() const override {
    return channel_->default_deadline_ns();
  }

 private:
  static constexpr std::uint32_t kNotSent = 0xffff'0000;

  [[nodiscard]] bool lies(Mutant about) const noexcept { return lying_ && mutant_ == about; }

  pmd::CommandChannel* channel_;
  Mutant mutant_;
  bool lying_ = false;
  [[nodiscard]] Result<void> answer(pmd::Ticket ticket, std::span<std::byte> out,
                                    std::uint64_t deadline_ns);

  std::function<void()> key_step_;
  std::function<void()> key_gone_;
  std::unordered_set<std::uint32_t> key_slots_;  // whose answer is awaited
  std::unordered_set<std::uint32_t> unawaited_;  // slots of keys whose answer nobody waits for
};

}  // namespace portcullis::fence_proof
