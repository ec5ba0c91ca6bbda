// SPDX-License-Identifier: BSD-3-Clause
//
// Commands whose whole input is one id: 16 bytes in, 16 bytes out, no mailbox, the cheapest form
// there is. Every fence command is one, so they are prepared values here: a lease submits them in
// the slot class and with the deadline of its plan, one after the other or several at once, and may
// aim one at an id of its choice. pmd/fence_commands.hpp lists them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "pmd/command_channel.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::pmd {

class InlineCommand {
 public:
  static constexpr std::size_t kBytes = 16;

  /// `in` as filled; a value too wide for its field is kept and refused by submit().
  template <class In>
  explicit InlineCommand(const prm::Buffer<In>& in) noexcept
      : layout_(In::name.view()), overflow_(in.overflow()) {
    static_assert(In::bytes == kBytes, "an inline command is 16 bytes long");
    std::copy_n(in.all().data(), kBytes, in_.data());
  }

  /// The input as the device sees it.
  [[nodiscard]] std::span<const std::byte, kBytes> bytes() const noexcept { return in_; }

  /// Hands the command to the device. InvalidArgument for an id of more than 24 bits, and whatever
  /// CommandChannel::submit answers.
  [[nodiscard]] Result<Ticket> submit(CommandChannel& channel,
                                      SlotClass slot_class = SlotClass::Fence) const;
  /// Success only when the device answered with delivery status 0 and status 0.
  [[nodiscard]] static Result<void> await(CommandChannel& channel, Ticket ticket,
                                          std::uint64_t deadline_ns);
  /// submit and await in one.
  [[nodiscard]] Result<void> run(CommandChannel& channel, std::uint64_t deadline_ns,
                                 SlotClass slot_class = SlotClass::Fence) const;
  /// As cleaning up does it: a common slot and the function's own command deadline.
  [[nodiscard]] Result<void> run(CommandChannel& channel) const {
    return run(channel, channel.default_deadline_ns(), SlotClass::Common);
  }

 private:
  [[nodiscard]] Result<Ticket> refuse() const;

  alignas(8) std::array<std::byte, kBytes> in_;
  std::string_view layout_;
  const char* overflow_;
};

}  // namespace portcullis::pmd
