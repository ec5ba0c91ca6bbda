// SPDX-License-Identifier: BSD-3-Clause
//
// One dump_command of a kernel log: rows of hex, and the message that they make up. A whole dump is
// the queue entry, then each mailbox block; a data_only dump is the message itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prm/cmd_interface.hpp"
#include "trace/command_text.hpp"
#include "trace/dmesg_line.hpp"

namespace portcullis::trace {

/// The log's clock at a line. Stamps of one era can be subtracted.
struct LogStamp {
  std::optional<std::uint64_t> ns;
  std::uint64_t era = 0;
};
[[nodiscard]] std::optional<std::uint64_t> elapsed_ns(const LogStamp& from,
                                                      const LogStamp& to) noexcept;

struct Dump {
  std::size_t line = 0;  // of the header
  std::string device;
  std::optional<std::uint32_t> slot;
  DumpHeader header;
  LogStamp begin;
  std::vector<HexRow> rows;  // ascending

  /// Where the next row belongs if none is missing.
  [[nodiscard]] std::size_t next_offset() const noexcept {
    return rows.empty() ? 0 : rows.back().offset + HexRow::kBytes;
  }
};

using QueueEntry = std::array<std::byte, prm::cmd_queue_entry::bytes>;

/// The queue entry of a whole dump; nothing when one of its rows is missing.
[[nodiscard]] std::optional<QueueEntry> entry_of(const Dump& dump);

/// The message, with a gap wherever the log has no row. `problem` says why it is shorter or longer
/// than it should be; empty when it is complete.
struct DumpedMessage {
  TraceMessage message;
  std::string problem;
};
[[nodiscard]] DumpedMessage message_of(const Dump& dump);

}  // namespace portcullis::trace
