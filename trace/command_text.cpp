// SPDX-License-Identifier: BSD-3-Clause
#include "trace/command_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/status.hpp"
#include "prm/view.hpp"

namespace portcullis::trace {
namespace {

using prm::CommandStatus;
using prm::DeliveryStatus;
using prm::Detail;
using prm::FieldValue;
using prm::Opcode;
using prm::Place;

constexpr std::size_t kDwordBytes = 4;

auto into(std::string& text) { return std::back_inserter(text); }

/// One line: a note or a source never starts another.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

void append_row(std::string& text, std::string_view side, std::size_t offset,
                std::span<const std::byte> row) {
  fmt::format_to(into(text), "{}_hex {:#05x}:", side, offset);
  for (std::size_t i = 0; i < row.size(); ++i)
    fmt::format_to(into(text), "{}{:02x}", i % kDwordBytes == 0 ? " " : "",
                   std::to_integer<unsigned>(row[i]));
  text += '\n';
}

void append_message(std::string& text, std::string_view side, const TraceMessage& message,
                    const std::vector<FieldValue>& fields) {
  fmt::format_to(into(text), "{}_length {}\n", side, message.bytes.size());
  for (const TraceGap& gap : message.gaps)
    fmt::format_to(into(text), "{}_unknown {:#x} {}\n", side, gap.offset, gap.length);
  for (const FieldValue& field : fields)
    if (!message.is_unknown(field.offset, field.bytes))
      fmt::format_to(into(text), "{}.{} {}\n", side, field.name, field.value);
  const std::span<const std::byte> bytes(message.bytes);
  for (std::size_t offset = 0; offset < bytes.size(); offset += kTraceRowBytes) {
    const auto row = bytes.subspan(offset, std::min(kTraceRowBytes, bytes.size() - offset));
    if (std::ranges::any_of(row, [](std::byte b) { return b != std::byte{0}; }))
      append_row(text, side, offset, row);
  }
}

/// The output says whether the command succeeded, and the device has written it.
bool has_verdict(const TraceCommand& command, const Place& where) {
  const bool delivered = command.answer == TraceAnswer::Unknown ||
                         (command.answer == TraceAnswer::Given &&
                          command.delivery_status == number(DeliveryStatus::OK));
  const std::size_t end = (where.offset + where.width) / 8;
  return delivered && command.out.bytes.size() >= end &&
         !command.out.is_unknown(where.offset / 8, where.width / 8);
}

}  // namespace

bool TraceMessage::is_unknown(std::size_t offset, std::size_t length) const noexcept {
  const auto gap = std::ranges::upper_bound(gaps, offset, {},
                                            [](const TraceGap& g) { return g.offset + g.length; });
  return length != 0 && gap != gaps.end() && gap->offset < offset + length;
}

std::optional<std::uint8_t> TraceCommand::status() const {
  constexpr Place p = prm::place<prm::cmd_out, "status">;
  if (!has_verdict(*this, p)) return std::nullopt;
  return std::to_integer<std::uint8_t>(out.bytes[p.offset / 8]);
}

std::optional<std::uint32_t> TraceCommand::syndrome() const {
  constexpr Place p = prm::place<prm::cmd_out, "syndrome">;
  if (!has_verdict(*this, p)) return std::nullopt;
  return prm::detail::get<p>(out.bytes.data());
}

std::string trace_title(const TraceCommand& command) {
  const Opcode opcode = command.opcode();
  return fmt::format("{} {:#05x} op_mod {:#x}", name(opcode), number(opcode), command.op_mod());
}

std::string trace_delivery(const TraceCommand& command) {
  if (command.answer == TraceAnswer::None) return "none";
  if (command.answer == TraceAnswer::Unknown) return "unknown";
  return fmt::format("{} {:#x}", name(DeliveryStatus{command.delivery_status}),
                     command.delivery_status);
}

std::string trace_header(std::string_view source) {
  return fmt::format("{}\nsource {}\n", kTraceMagic, one_line(source));
}

std::string trace_text(const TraceCommand& command) {
  std::string text = fmt::format("\ncommand {} {}\n", command.sequence, trace_title(command));
  if (command.slot) fmt::format_to(into(text), "slot {}\n", *command.slot);
  if (command.time_ns) fmt::format_to(into(text), "time_ns {}\n", *command.time_ns);
  fmt::format_to(into(text), "delivery {}\n", trace_delivery(command));
  if (const auto status = command.status())
    fmt::format_to(into(text), "status {} {:#x}\n", name(CommandStatus{*status}), *status);
  if (const auto syndrome = command.syndrome())
    fmt::format_to(into(text), "syndrome {:#x}\n", *syndrome);
  for (const std::string& note : command.notes)
    fmt::format_to(into(text), "note {}\n", one_line(note));
  append_message(text, "in", command.in, input_fields(command.in.bytes, Detail::Summary));
  append_message(text, "out", command.out,
                 output_fields(command.in.bytes, command.out.bytes, Detail::Summary));
  text += "end\n";
  return text;
}

}  // namespace portcullis::trace
