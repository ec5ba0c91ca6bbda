// SPDX-License-Identifier: BSD-3-Clause
//
// One line of a kernel log, as far as dump_command and its neighbours of mlx5_core print it
// (mlx5/core/cmd.c: dump_command, dump_buf, cmd_work_handler, mlx5_cmd_comp_handler). Whatever a
// logger put before the message is skipped: <level>, [time], [Tthread], "date host kernel:", and
// the module, function and line that dynamic debug adds when asked to. Older kernels print no
// "cmd[SLOT]:".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace portcullis::trace {

/// What the first bracket says: seconds since boot, seconds since the line before (dmesg -H), or a
/// date, after which the next difference says nothing.
struct LogTime {
  enum class Kind : std::uint8_t { None, SinceBoot, SinceLine, Date };
  Kind kind = Kind::None;
  std::uint64_t ns = 0;
};

/// "dump command QUERY_PAGES(0x107) INPUT".
struct DumpHeader {
  std::uint16_t opcode = 0;
  bool is_input = false;
  bool data_only = false;  // mlx5_core's debug_mask=1: only the messages, not entry and mailboxes
};
/// "010: 01040000 00000000 00000000 00000000".
struct HexRow {
  static constexpr std::size_t kBytes = 16;
  std::size_t offset = 0;
  std::array<std::byte, kBytes> bytes{};
};
/// What begins like a row, or like a header, and is none: a cut line, or damaged.
struct DamagedRow {
  std::size_t offset = 0;
};
struct DamagedHeader {};
struct DumpEnd {};
/// "writing 0x1 to command doorbell".
struct Doorbell {
  std::uint32_t slots = 0;
};
/// "command completed. ret 0x0, delivery status no errors(0x0)".
struct Completed {
  std::uint8_t delivery_status = 0;
};

struct LogLine {
  using What = std::variant<std::monostate, DumpHeader, HexRow, DamagedRow, DamagedHeader, DumpEnd,
                            Doorbell, Completed>;
  LogTime time;
  std::string_view device;            // "0000:02:00.0"; empty where the line names none
  std::optional<std::uint32_t> slot;  // of "cmd[3]:"
  What what;                          // monostate: nothing of interest
};

[[nodiscard]] LogLine read_log_line(std::string_view line) noexcept;

}  // namespace portcullis::trace
