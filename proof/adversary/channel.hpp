// SPDX-License-Identifier: BSD-3-Clause
//
// The command channel as the lease code sees it in a run: tells when the key is about to be taken
// away, and lies where a mutant asks for it.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "pmd/command_channel.hpp"
#include "proof/adversary/deceit.hpp"

namespace portcullis::proof::adversary {

class ProofChannel final : public pmd::CommandChannel {
 public:
  /// Both must outlive it.
  ProofChannel(pmd::CommandChannel& channel, Deceit& deceit) noexcept
      : channel_(&channel), deceit_(&deceit) {}

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

  [[nodiscard]] Result<void> answer(pmd::Ticket ticket, std::span<std::byte> out,
                                    std::uint64_t deadline_ns);

  pmd::CommandChannel* channel_;
  Deceit* deceit_;
  std::unordered_set<std::uint32_t> key_slots_;  // whose answer is awaited
  std::unordered_set<std::uint32_t> unawaited_;  // slots of keys whose answer nobody waits for
};

}  // namespace portcullis::proof::adversary
