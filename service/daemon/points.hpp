// SPDX-License-Identifier: BSD-3-Clause
//
// Where the server may be ended by force without having promised what is not so: before and after
// each write of the journal, each command to the device, each event and each frame to a client. A
// test that kills it there hears of each by name, in the thread that got there; the program has
// nobody who hears.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "pmd/passing_channel.hpp"
#include "prm/command_fields.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::service::daemon {

/// "journal.write.before", "command.DESTROY_MKEY.sent", "frame.LEASE_REVOKE.after"; may be empty.
using AtPoint = std::function<void(std::string_view point)>;

/// A command channel that tells before it hands a command over, when the device has it, and when
/// its answer was seen.
class PointChannel final : public pmd::PassingChannel {
 public:
  /// `inner` must outlive it.
  PointChannel(pmd::CommandChannel& inner, AtPoint at)
      : PassingChannel(inner), at_(std::move(at)) {}

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override {
    const std::string command = "command." + std::string(prm::name(prm::opcode_of(in)));
    at_(command + ".before");
    auto ticket = PassingChannel::submit(in, out_bytes, slot_class);
    if (!ticket) return ticket;
    at_(command + ".sent");
    sent_[ticket->slot] = command;
    return ticket;
  }
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override {
    auto done = PassingChannel::await(ticket, out, deadline_ns);
    at_(sent_[ticket.slot] + ".after");
    return done;
  }

 private:
  AtPoint at_;
  std::map<std::uint32_t, std::string> sent_;  // by slot
};

}  // namespace portcullis::service::daemon
