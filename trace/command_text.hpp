// SPDX-License-Identifier: BSD-3-Clause
//
// Commands as text: what a recording (docs/trace-format.md) says of one command. The bytes are
// complete, the named fields beside them are for people and for diff.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prm/command_fields.hpp"

namespace portcullis::trace {

/// The first line of every recording.
inline constexpr std::string_view kTraceMagic = "portcullis-trace 1";
/// Bytes that one line of hex holds.
inline constexpr std::size_t kTraceRowBytes = 32;
/// The longest message that a recording may hold; a device asks for 50,000 pages at most, and they
/// are 400 KB (MAX_RECLAIM_NPAGES of mlx5/core/pagealloc.c).
inline constexpr std::size_t kTraceMaxMessageBytes = std::size_t{2} << 20;

/// Bytes [offset, offset + length) of a message that the source of the recording did not show.
struct TraceGap {
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// `bytes` is as long as the message; gaps are zero in it, and stand in order without overlap.
struct TraceMessage {
  std::vector<std::byte> bytes;
  std::vector<TraceGap> gaps;

  /// True when [offset, offset + length) touches a gap.
  [[nodiscard]] bool is_unknown(std::size_t offset, std::size_t length) const noexcept;
};

/// What became of a command: given back with a delivery status, never given back, or the source
/// does not say.
enum class TraceAnswer : std::uint8_t { Given, None, Unknown };

struct TraceCommand {
  std::uint64_t sequence = 0;  // of its issue, from 1
  std::optional<std::uint32_t> slot;
  std::optional<std::uint64_t> time_ns;  // from doorbell to ownership
  TraceAnswer answer = TraceAnswer::Unknown;
  std::uint8_t delivery_status = 0;  // where the answer was given
  TraceMessage in;
  TraceMessage out;
  std::vector<std::string> notes;  // what a reader should know, a line each

  [[nodiscard]] prm::Opcode opcode() const { return prm::opcode_of(in.bytes); }
  [[nodiscard]] std::uint16_t op_mod() const { return prm::op_mod_of(in.bytes); }
  /// Of the output; nothing where it was not delivered, or not shown.
  [[nodiscard]] std::optional<std::uint8_t> status() const;
  [[nodiscard]] std::optional<std::uint32_t> syndrome() const;
};

/// "QUERY_PAGES 0x107 op_mod 0x1".
[[nodiscard]] std::string trace_title(const TraceCommand& command);
/// "OK 0x0", "none" or "unknown".
[[nodiscard]] std::string trace_delivery(const TraceCommand& command);
/// The lines that a recording begins with; `source` is where it comes from, one line.
[[nodiscard]] std::string trace_header(std::string_view source);
/// The command's lines, an empty one first.
[[nodiscard]] std::string trace_text(const TraceCommand& command);

}  // namespace portcullis::trace
