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

#include "pmd/command_channel.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::service::daemon {

/// "journal.write.before", "command.DESTROY_MKEY.sent", "frame.LEASE_REVOKE.after"; may be empty.
using AtPoint = std::function<void(std::string_view point)>;

/// The first two bytes of every command's input (mlx5_ifc.h, mlx5_ifc_*_in_bits: opcode).
[[nodiscard]] inline prm::Opcode opcode_of(std::span<const std::byte> in) noexcept {
  if (in.size() < 2) return {};
  return static_cast<prm::Opcode>(std::to_integer<unsigned>(in[0]) << 8U |
                                  std::to_integer<unsigned>(in[1]));
}

/// A command channel that tells before it hands a command over, when the device has it, and when
/// its answer was seen.
class PointChannel final : public pmd::CommandChannel {
 public:
  /// Refers to the channel.
  PointChannel(pmd::CommandChannel& channel, AtPoint at) : channel_(channel), at_(std::move(at)) {}

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override {
    const std::string command = "command." + std::string(prm::name(opcode_of(in)));
    at_(command + ".before");
    auto ticket = channel_.submit(in, out_bytes, slot_class);
    if (!ticket) return ticket;
    at_(command + ".sent");
    sent_[ticket->slot] = command;
    return ticket;
  }
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override {
    auto done = channel_.await(ticket, out, deadline_ns);
    at_(sent_[ticket.slot] + ".after");
    return done;
  }
  [[nodiscard]] bool is_done(pmd::Ticket ticket) const noexcept override {
    return channel_.is_done(ticket);
  }
  [[nodiscard]] std::uint64_t default_deadline_ns() const override {
    return channel_.default_deadline_ns();
  }

 private:
  pmd::CommandChannel& channel_;
  AtPoint at_;
  std::map<std::uint32_t, std::string> sent_;  // by slot
};

}  // namespace portcullis::service::daemon
