// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/inline_command.hpp"

namespace portcullis::pmd {

Result<Ticket> InlineCommand::refuse() const { return too_wide(layout_, overflow_); }

Result<Ticket> InlineCommand::submit(CommandChannel& channel, SlotClass slot_class) const {
  if (overflow_ != nullptr) [[unlikely]]
    return refuse();
  return channel.submit(in_, kBytes, slot_class);
}

Result<void> InlineCommand::await(CommandChannel& channel, Ticket ticket,
                                  std::uint64_t deadline_ns) {
  std::array<std::byte, kBytes> out;
  return channel.await(ticket, out, deadline_ns);
}

Result<void> InlineCommand::run(CommandChannel& channel, std::uint64_t deadline_ns,
                                SlotClass slot_class) const {
  // submit() and await() once more, so that a success passes through no Result but the channel's.
  const Result<Ticket> ticket =
      overflow_ == nullptr ? channel.submit(in_, kBytes, slot_class) : refuse();
  if (!ticket) [[unlikely]]
    return tl::unexpected<Error>(ticket.error());
  return await(channel, *ticket, deadline_ns);
}

}  // namespace portcullis::pmd
