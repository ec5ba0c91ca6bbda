// SPDX-License-Identifier: BSD-3-Clause
#include "trace/dmesg_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "prm/enums.hpp"
#include "prm/view.hpp"

namespace portcullis::trace {
namespace {

using prm::cmd_if_box;
using prm::cmd_queue_entry;

constexpr std::size_t kInlineIn =
    prm::place<cmd_queue_entry, "command_input_inline_data">.offset / 8;
constexpr std::size_t kInlineOut =
    prm::place<cmd_queue_entry, "command_output_inline_data">.offset / 8;
static_assert(kInlineIn % HexRow::kBytes == 0 && kInlineOut % HexRow::kBytes == 0 &&
                  prm::kCmdInlineBytes == HexRow::kBytes &&
                  cmd_if_box::bytes % HexRow::kBytes == 0 &&
                  prm::kCmdDataBlockBytes % HexRow::kBytes == 0,
              "a row of a dump lies in one part of entry or mailbox");

/// Where in the message a row of the dump stands; nothing for the rest of entry and mailboxes.
std::optional<std::size_t> place_in_message(const Dump& dump, std::size_t offset) noexcept {
  if (dump.header.data_only) return offset;
  if (offset < cmd_queue_entry::bytes) {
    if (offset != (dump.header.is_input ? kInlineIn : kInlineOut)) return std::nullopt;
    return 0;
  }
  const std::size_t block = (offset - cmd_queue_entry::bytes) / cmd_if_box::bytes;
  const std::size_t inside = (offset - cmd_queue_entry::bytes) % cmd_if_box::bytes;
  if (inside >= prm::kCmdDataBlockBytes) return std::nullopt;
  return prm::kCmdInlineBytes + block * prm::kCmdDataBlockBytes + inside;
}

/// Behind the last byte that a row shows.
std::size_t shown_bytes(const Dump& dump) noexcept {
  std::size_t end = 0;
  for (const HexRow& row : dump.rows)
    if (const auto at = place_in_message(dump, row.offset))
      end = std::max(end, *at + HexRow::kBytes);
  return end;
}

/// What the entry announces. A data_only dump is printed in whole rows: where the command's layout
/// ends in the last of them, so does the message.
std::optional<std::size_t> announced_bytes(const Dump& dump) {
  if (dump.header.data_only) {
    const prm::Opcode opcode{dump.header.opcode};
    const std::size_t shown = shown_bytes(dump);
    const std::size_t layout =
        dump.header.is_input ? prm::input_layout_bytes(opcode) : prm::output_layout_bytes(opcode);
    return layout <= shown && shown < layout + HexRow::kBytes ? layout : shown;
  }
  const auto entry = entry_of(dump);
  if (!entry) return std::nullopt;
  const prm::ConstView<cmd_queue_entry> view{*entry};
  return dump.header.is_input ? view.get<"input_length">() : view.get<"output_length">();
}

}  // namespace

std::optional<std::uint64_t> elapsed_ns(const LogStamp& from, const LogStamp& to) noexcept {
  if (!from.ns || !to.ns || from.era != to.era || *to.ns < *from.ns) return std::nullopt;
  return *to.ns - *from.ns;
}

std::optional<QueueEntry> entry_of(const Dump& dump) {
  constexpr std::size_t kRows = cmd_queue_entry::bytes / HexRow::kBytes;
  if (dump.header.data_only || dump.rows.size() < kRows ||
      dump.rows[kRows - 1].offset != (kRows - 1) * HexRow::kBytes)
    return std::nullopt;
  QueueEntry entry{};
  auto* to = entry.begin();
  for (const HexRow& row : std::span(dump.rows).first(kRows))
    to = std::ranges::copy(row.bytes, to).out;
  return entry;
}

DumpedMessage message_of(const Dump& dump) {
  DumpedMessage result;
  TraceMessage& message = result.message;
  const auto announced = announced_bytes(dump);
  std::size_t length = announced.value_or(shown_bytes(dump));
  if (length > kTraceMaxMessageBytes) {
    result.problem =
        fmt::format("{} bytes announced, at most {} accepted", length, kTraceMaxMessageBytes);
    length = std::min(shown_bytes(dump), kTraceMaxMessageBytes);
  }
  message.bytes.assign(length, std::byte{0});
  std::size_t known = 0;  // all before is shown, or in a gap
  std::size_t missing = 0;
  const auto gap_to = [&](std::size_t end) {
    if (end <= known) return;
    message.gaps.push_back({known, end - known});
    missing += end - known;
  };
  for (const HexRow& row : dump.rows) {
    const auto at = place_in_message(dump, row.offset);
    if (!at || *at >= length) continue;
    const std::size_t count = std::min(HexRow::kBytes, length - *at);
    gap_to(*at);
    std::copy_n(row.bytes.begin(), count, message.bytes.begin() + static_cast<std::ptrdiff_t>(*at));
    known = *at + count;
  }
  gap_to(length);
  if (result.problem.empty() && !announced)
    result.problem = "rows of the queue entry are missing, so the length is a guess";
  else if (result.problem.empty() && missing != 0)
    result.problem = fmt::format("{} of {} bytes are not in the log", missing, length);
  return result;
}

}  // namespace portcullis::trace
