// SPDX-License-Identifier: BSD-3-Clause
//
// A command channel that tells of every command that went through it: what was sent, what came
// back, and how long that took. So a recording (docs/trace-format.md) can be had of a card, and of
// a NIC that its kernel driver keeps, as well as of the model, which records by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/clock.hpp"
#include "pmd/passing_channel.hpp"
#include "trace/command_text.hpp"

namespace portcullis::attach {

/// Hears of a command once it is answered, or once nobody waits for its answer any more. The slot
/// is the ticket's, which on hardware is the command queue's entry.
using OnCommand = std::function<void(const trace::TraceCommand&)>;

class RecordingChannel final : public pmd::PassingChannel {
 public:
  /// `inner` must outlive it.
  RecordingChannel(pmd::CommandChannel& inner, Clock clock, OnCommand on_command)
      : PassingChannel(inner), clock_(clock), on_command_(std::move(on_command)) {}

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override;
  /// A wait may serve others in between, who send commands of their own.
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;

 private:
  struct Sent {
    std::uint64_t sequence = 0;
    std::uint64_t at_ns = 0;
    std::vector<std::byte> in;
  };

  Clock clock_;
  OnCommand on_command_;
  std::uint64_t last_sequence_ = 0;
  std::map<std::uint32_t, Sent> sent_;  // by slot
};

}  // namespace portcullis::attach
