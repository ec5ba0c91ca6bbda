// SPDX-License-Identifier: BSD-3-Clause
#include "trace/dmesg_import.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "prm/enums.hpp"
#include "prm/view.hpp"
#include "trace/dmesg_dump.hpp"
#include "trace/dmesg_line.hpp"
#include "trace/text.hpp"

namespace portcullis::trace {
namespace {

using prm::cmd_queue_entry;

/// Dumps that may be open at once: 32 slots of a handful of functions, and a log that never says
/// "end dump" must not make the rest slow.
constexpr std::size_t kMostOpenDumps = 256;
/// Commands that may wait for their output, for the same reason.
constexpr std::size_t kMostPending = 256;

struct Imported {
  std::string device;
  TraceCommand command;
};

/// A command whose output has not been seen.
struct Pending {
  std::size_t index = 0;  // into the commands
  std::string device;
  std::optional<std::uint32_t> slot;
  prm::Opcode opcode{};
  std::optional<QueueEntry> entry;
  LogStamp started;
  std::size_t line = 0;
};

/// True when the output half of an entry belongs to the input half that was dumped before: the
/// token changes with every command.
bool is_answer_to(const QueueEntry& input, const QueueEntry& output) {
  const prm::ConstView<cmd_queue_entry> in{input};
  const prm::ConstView<cmd_queue_entry> out{output};
  return in.get<"token">() == out.get<"token">() &&
         in.get<"input_length">() == out.get<"input_length">() &&
         in.get<"output_length">() == out.get<"output_length">() &&
         std::ranges::equal(in.bytes<"command_input_inline_data">(),
                            out.bytes<"command_input_inline_data">());
}

class Importer {
 public:
  Importer(std::string_view text, std::string_view file) : lines_(text), file_(file) {}

  Result<ImportedLog> run(std::string_view device) {
    while (const auto line = lines_.next()) {
      const LogLine read = read_log_line(*line);
      advance(read.time);
      std::visit([&](const auto& what) { take(read, what); }, read.what);
      if (total_bytes_ > kMaxRecordingBytes)
        return fail(Errc::Malformed,
                    fmt::format("{}:{}: the commands so far announce more than {} bytes", file_,
                                lines_.number(), kMaxRecordingBytes));
    }
    while (!open_.empty()) close(0);
    for (const Pending& pending : pending_) unanswered(pending);
    if (stray_rows_ != 0)
      warn(stray_line_, fmt::format("{} rows of hex from here on belong to no dump", stray_rows_));
    return select(device);
  }

 private:
  // ---- time ----

  void advance(const LogTime& time) {
    switch (time.kind) {
      case LogTime::Kind::None:
        return;
      case LogTime::Kind::SinceBoot:
        now_.ns = time.ns;
        return;
      case LogTime::Kind::SinceLine:
        now_.ns = now_.ns.value_or(0) + time.ns;
        return;
      case LogTime::Kind::Date:
        ++now_.era;
        return;
    }
  }

  // ---- lines ----

  void take(const LogLine& /*line*/, std::monostate /*nothing*/) {}

  void take(const LogLine& line, const DumpHeader& header) {
    close_dumps(line.device, line.slot);
    if (open_.size() >= kMostOpenDumps) close(0);
    open_.push_back({lines_.number(), std::string(line.device), line.slot, header, now_, {}});
  }

  void take(const LogLine& line, const HexRow& row) {
    Dump* dump = open_dump(line.slot, row.offset);
    if (dump == nullptr) {
      if (stray_rows_++ == 0) stray_line_ = lines_.number();
    } else if (row.offset < dump->next_offset()) {
      warn(lines_.number(), fmt::format("row {:#05x} again; the first is kept", row.offset));
    } else {
      dump->rows.push_back(row);
      if (dump->header.is_input) dump->begin = now_;
    }
  }

  void take(const LogLine& line, const DamagedRow& row) {
    // Without an open dump it is somebody else's line that looks like a row.
    if (open_dump(line.slot, row.offset) == nullptr) return;
    warn(lines_.number(),
         fmt::format("row {:#05x} is damaged; \"OFFSET: XXXXXXXX XXXXXXXX XXXXXXXX "
                     "XXXXXXXX\" expected",
                     row.offset));
  }

  void take(const LogLine& /*line*/, DamagedHeader /*header*/) {
    warn(lines_.number(),
         "\"dump command ..\" without \"(0xOPCODE) INPUT\" or \"OUTPUT\" behind it");
  }

  void take(const LogLine& line, DumpEnd /*end*/) { close_dumps(line.device, line.slot); }

  /// The device begins to work: the moment from which a command's time is counted.
  void take(const LogLine& line, const Doorbell& doorbell) {
    if (!std::has_single_bit(doorbell.slots)) return;
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(doorbell.slots));
    close_dumps(line.device, std::nullopt);
    const auto pending = std::find_if(pending_.rbegin(), pending_.rend(), [&](const Pending& p) {
      return p.device == line.device && p.slot.value_or(slot) == slot;
    });
    if (pending == pending_.rend()) return;
    pending->slot = slot;
    pending->started = now_;
    commands_[pending->index].command.slot = slot;
  }

  /// Follows the output's dump at once, in the same function, and names no slot.
  void take(const LogLine& line, const Completed& completed) {
    close_dumps(line.device, std::nullopt);
    if (!last_output_ || commands_[*last_output_].device != line.device) return;
    TraceCommand& command = commands_[*std::exchange(last_output_, std::nullopt)].command;
    if (command.answer != TraceAnswer::Unknown) return;
    command.answer = TraceAnswer::Given;
    command.delivery_status = completed.delivery_status;
  }

  // ---- dumps ----

  /// The dump that a row at `offset` continues; the youngest one where it fits none exactly.
  Dump* open_dump(std::optional<std::uint32_t> slot, std::size_t offset) {
    Dump* youngest = nullptr;
    for (Dump& dump : open_) {
      if (dump.slot != slot) continue;
      const bool fits = dump.next_offset() == offset;
      if (youngest == nullptr || fits || youngest->next_offset() != offset) youngest = &dump;
    }
    return youngest;
  }

  void close_dumps(std::string_view device, std::optional<std::uint32_t> slot) {
    for (std::size_t i = open_.size(); i-- != 0;)
      if (open_[i].slot == slot && open_[i].device == device) close(i);
  }

  void close(std::size_t index) {
    const Dump dump = std::move(open_[index]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
    if (dump.header.is_input)
      begin_command(dump);
    else
      finish_command(dump);
  }

  TraceMessage assemble(const Dump& dump, TraceCommand& command) {
    DumpedMessage dumped = message_of(dump);
    total_bytes_ += dumped.message.bytes.size();
    if (!dumped.problem.empty()) {
      const std::string_view side = dump.header.is_input ? "INPUT" : "OUTPUT";
      command.notes.push_back(fmt::format("{}: {}", side, dumped.problem));
      warn(dump.line, fmt::format("{} {}: {}", title(dump.header.opcode), side, dumped.problem));
    }
    return std::move(dumped.message);
  }

  // ---- commands ----

  void begin_command(const Dump& dump) {
    const auto same_slot = [&](const Pending& p) {
      return dump.slot && p.slot == dump.slot && p.device == dump.device;
    };
    for (const Pending& pending : pending_)
      if (same_slot(pending)) unanswered(pending);
    std::erase_if(pending_, same_slot);
    if (pending_.size() >= kMostPending) {
      unanswered(pending_.front());
      pending_.erase(pending_.begin());
    }

    TraceCommand& command = add(dump);
    command.in = assemble(dump, command);
    title_input(dump, command);
    pending_.push_back({commands_.size() - 1, dump.device, dump.slot, command.opcode(),
                        entry_of(dump), dump.begin, dump.line});
  }

  void finish_command(const Dump& dump) {
    const auto entry = entry_of(dump);
    std::size_t index = 0;
    std::optional<std::uint64_t> time_ns;
    if (const auto pending = pending_of(dump, entry)) {
      index = pending->index;
      time_ns = elapsed_ns(pending->started, dump.begin);
    } else {
      index = commands_.size();
      add_from_output(dump, entry);
    }
    TraceCommand& command = commands_[index].command;
    command.out = assemble(dump, command);
    command.time_ns = time_ns;
    last_output_ = index;
    if (entry) answer(command, prm::ConstView<cmd_queue_entry>{*entry});
  }

  /// Takes the command that the output belongs to off the pending ones.
  std::optional<Pending> pending_of(const Dump& dump, const std::optional<QueueEntry>& entry) {
    const auto found = std::ranges::find_if(pending_, [&](const Pending& p) {
      if (p.device != dump.device || prm::number(p.opcode) != dump.header.opcode) return false;
      if (dump.slot) return p.slot == dump.slot;
      return !entry || !p.entry || is_answer_to(*p.entry, *entry);
    });
    if (found == pending_.end()) return std::nullopt;
    Pending pending = std::move(*found);
    pending_.erase(found);
    return pending;
  }

  TraceCommand& add(const Dump& dump) {
    TraceCommand& command = commands_.emplace_back(Imported{dump.device, {}}).command;
    command.slot = dump.slot;
    if (dump.header.data_only)
      command.notes.emplace_back("a data-only dump; lengths may be rounded up to 16 bytes");
    return command;
  }

  /// A log that begins too late: the entry holds the first bytes of the input too.
  void add_from_output(const Dump& dump, const std::optional<QueueEntry>& entry) {
    TraceCommand& command = add(dump);
    if (entry) {
      Dump input = dump;
      input.header.is_input = true;
      std::erase_if(input.rows,
                    [](const HexRow& row) { return row.offset >= cmd_queue_entry::bytes; });
      command.in = message_of(input).message;
      total_bytes_ += command.in.bytes.size();
    }
    title_input(dump, command);
    command.notes.emplace_back("INPUT: not in the log");
    warn(dump.line, title(dump.header.opcode) + ": OUTPUT without INPUT");
  }

  /// Where the input's first bytes are not known, the header still says which command it is.
  void title_input(const Dump& dump, TraceCommand& command) {
    constexpr std::size_t kOpcodeBytes = prm::place<prm::cmd_in, "opcode">.width / 8;
    TraceMessage& in = command.in;
    if (in.bytes.size() >= prm::cmd_in::bytes && !in.is_unknown(0, kOpcodeBytes)) {
      if (prm::number(command.opcode()) != dump.header.opcode)
        warn(dump.line, fmt::format("dumped as {}, but its bytes say {}", title(dump.header.opcode),
                                    title(prm::number(command.opcode()))));
      return;
    }
    if (in.bytes.size() < prm::cmd_in::bytes) {
      in.bytes.assign(prm::cmd_in::bytes, std::byte{0});
      in.gaps.assign(1, {0, in.bytes.size()});
    }
    prm::View<prm::cmd_in>::at(in.bytes).put<"opcode">(dump.header.opcode);
    TraceGap& first = in.gaps.front();
    first = {first.offset + kOpcodeBytes, first.length - kOpcodeBytes};
  }

  static void answer(TraceCommand& command, const prm::ConstView<cmd_queue_entry>& entry) {
    command.answer = entry.get<"ownership">() == 0 ? TraceAnswer::Given : TraceAnswer::None;
    if (command.answer == TraceAnswer::Given) {
      command.delivery_status = static_cast<std::uint8_t>(entry.get<"status">());
      return;
    }
    command.time_ns.reset();
    command.notes.emplace_back("the driver gave it up: its entry still belonged to the device");
  }

  void unanswered(const Pending& pending) {
    commands_[pending.index].command.notes.emplace_back("OUTPUT: not in the log");
    warn(pending.line, title(prm::number(pending.opcode)) + ": INPUT without OUTPUT");
  }

  static std::string title(std::uint16_t opcode) {
    return fmt::format("{} ({:#x})", prm::name(prm::Opcode{opcode}), opcode);
  }

  // ---- result ----

  void warn(std::size_t line, const std::string& what) {
    if (++warned_ <= kMostWarnings)
      warnings_.push_back(fmt::format("{}:{}: warning: {}", file_, line, what));
  }

  Result<ImportedLog> select(std::string_view asked) {
    std::vector<std::string> devices;
    for (const Imported& imported : commands_)
      if (std::ranges::find(devices, imported.device) == devices.end())
        devices.push_back(imported.device);
    if (devices.empty())
      return fail(
          Errc::Malformed,
          fmt::format("{}: no dump of a command in {} lines; lines like \"mlx5_core "
                      "0000:03:00.0: dump_command:..: dump command ENABLE_HCA(0x104) INPUT\" "
                      "expected (trace-import --help says how to get them)",
                      file_, lines_.number()));
    const std::string device = asked.empty() ? devices.front() : std::string(asked);
    if (asked.empty() && devices.size() > 1)
      return fail(Errc::InvalidArgument,
                  fmt::format("{}: commands of {} devices; --device one of {} expected", file_,
                              devices.size(), fmt::join(devices, ", ")));
    if (std::ranges::find(devices, device) == devices.end())
      return fail(Errc::NotFound, fmt::format("{}: no command of device {}; it has those of {}",
                                              file_, in_quotes(device), fmt::join(devices, ", ")));
    ImportedLog log;
    log.recording.source = fmt::format("mlx5_core's dump_command in {}, device {}", file_, device);
    for (Imported& imported : commands_) {
      if (imported.device != device) continue;
      imported.command.sequence = log.recording.commands.size() + 1;
      log.recording.commands.push_back(std::move(imported.command));
    }
    if (warned_ > kMostWarnings)
      warnings_.push_back(
          fmt::format("{}: and {} more like these", file_, warned_ - kMostWarnings));
    log.warnings = std::move(warnings_);
    return log;
  }

  Lines lines_;
  std::string_view file_;
  LogStamp now_;
  std::vector<Dump> open_;          // oldest first
  std::vector<Imported> commands_;  // in order of issue
  std::vector<Pending> pending_;
  std::optional<std::size_t> last_output_;
  std::size_t total_bytes_ = 0;
  std::size_t stray_rows_ = 0;
  std::size_t stray_line_ = 0;
  std::size_t warned_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace

Result<ImportedLog> import_log(std::string_view text, std::string_view file,
                               std::string_view device) {
  return Importer(text, file).run(device);
}

}  // namespace portcullis::trace
