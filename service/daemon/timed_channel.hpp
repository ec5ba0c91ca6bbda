// SPDX-License-Identifier: BSD-3-Clause
//
// A command channel that tells how long each command took: from when it was handed to the device
// until the driver saw that it was answered. Whoever looks seldom sees it late.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "pmd/passing_channel.hpp"
#include "prm/command_fields.hpp"
#include "prm/opcodes.hpp"
#include "service/daemon/points.hpp"

namespace portcullis::service::daemon {

struct CommandTime {
  prm::Opcode opcode = {};
  std::uint64_t ns = 0;
  /// Ok, CommandFailed and so on, as await() answered.
  const Error* error = nullptr;  // null: it was done
};
using TellCommand = std::function<void(const CommandTime&)>;

class TimedChannel final : public pmd::PassingChannel {
 public:
  /// `inner` must outlive it.
  TimedChannel(pmd::CommandChannel& inner, Clock clock, TellCommand tell)
      : PassingChannel(inner), clock_(clock), tell_(std::move(tell)) {}

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override {
    const std::uint64_t now_ns = clock_.now_ns();
    auto ticket = PassingChannel::submit(in, out_bytes, slot_class);
    if (ticket) sent_[ticket->slot] = {.opcode = prm::opcode_of(in), .sent_ns = now_ns};
    return ticket;
  }
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override {
    auto done = PassingChannel::await(ticket, out, deadline_ns);
    see(ticket);
    const Sent sent = sent_[ticket.slot];
    sent_.erase(ticket.slot);
    tell_({.opcode = sent.opcode,
           .ns = sent.seen_ns - sent.sent_ns,
           .error = done ? nullptr : &done.error()});
    return done;
  }
  [[nodiscard]] bool is_done(pmd::Ticket ticket) const noexcept override {
    const bool is_it = PassingChannel::is_done(ticket);
    if (is_it) see(ticket);
    return is_it;
  }

 private:
  struct Sent {
    prm::Opcode opcode = {};
    std::uint64_t sent_ns = 0;
    std::uint64_t seen_ns = 0;  // answered; 0: not yet
  };

  void see(pmd::Ticket ticket) const noexcept {
    const auto at = sent_.find(ticket.slot);
    if (at != sent_.end() && at->second.seen_ns == 0) at->second.seen_ns = clock_.now_ns();
  }

  Clock clock_;
  TellCommand tell_;
  mutable std::map<std::uint32_t, Sent> sent_;  // by slot; looking notes when
};

}  // namespace portcullis::service::daemon
