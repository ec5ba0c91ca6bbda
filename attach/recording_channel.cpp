// SPDX-License-Identifier: BSD-3-Clause
#include "attach/recording_channel.hpp"

#include <utility>

namespace portcullis::attach {

Result<pmd::Ticket> RecordingChannel::submit(std::span<const std::byte> in, std::size_t out_bytes,
                                             pmd::SlotClass slot_class) {
  Sent sent{.at_ns = clock_.now_ns(), .in = {in.begin(), in.end()}};
  PORTCULLIS_TRY_ASSIGN(const pmd::Ticket ticket,
                        PassingChannel::submit(in, out_bytes, slot_class));
  sent.sequence = ++last_sequence_;
  sent_.insert_or_assign(ticket.slot, std::move(sent));
  return ticket;
}

Result<void> RecordingChannel::await(pmd::Ticket ticket, std::span<std::byte> out,
                                     std::uint64_t deadline_ns) {
  Result<void> answer = PassingChannel::await(ticket, out, deadline_ns);
  auto sent = sent_.extract(ticket.slot);
  if (sent.empty()) return answer;
  trace::TraceCommand command;
  command.sequence = sent.mapped().sequence;
  command.slot = ticket.slot;
  command.in.bytes = std::move(sent.mapped().in);
  // Who got a fault was answered; any other error is of a channel that got no answer.
  if (answer || answer.error().command) {
    command.answer = trace::TraceAnswer::Given;
    command.time_ns = clock_.now_ns() - sent.mapped().at_ns;
    if (!answer) command.delivery_status = answer.error().command->delivery_status;
    command.out.bytes.assign(out.begin(), out.end());
  } else {
    command.answer = trace::TraceAnswer::None;
  }
  on_command_(command);
  return answer;
}

}  // namespace portcullis::attach
