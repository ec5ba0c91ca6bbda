// SPDX-License-Identifier: BSD-3-Clause
//
// A command channel before another one, which passes everything on. Whoever counts, times, records
// or delays commands derives from it and overrides what it looks at.
#pragma once

#include "pmd/command_channel.hpp"

namespace portcullis::pmd {

class PassingChannel : public CommandChannel {
 public:
  /// `inner` must outlive it.
  explicit PassingChannel(CommandChannel& inner) noexcept : inner_(&inner) {}

  [[nodiscard]] Result<Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                      SlotClass slot_class) override {
    return inner_->submit(in, out_bytes, slot_class);
  }
  [[nodiscard]] Result<void> await(Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override {
    return inner_->await(ticket, out, deadline_ns);
  }
  [[nodiscard]] bool is_done(Ticket ticket) const noexcept override {
    return inner_->is_done(ticket);
  }
  [[nodiscard]] std::uint64_t default_deadline_ns() const override {
    return inner_->default_deadline_ns();
  }
  void begin_undoing() noexcept override { inner_->begin_undoing(); }
  void end_undoing() noexcept override { inner_->end_undoing(); }

 private:
  CommandChannel* inner_;
};

}  // namespace portcullis::pmd
