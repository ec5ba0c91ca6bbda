// SPDX-License-Identifier: BSD-3-Clause
//
// What Linux prints of a command with dynamic debug on, as dump_command, dump_buf, cmd_work_handler
// and mlx5_cmd_comp_handler of mlx5/core/cmd.c do (Linux 6.12, Debian's): written here from their
// format strings, so that the importer meets the driver's text and not its own.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/view.hpp"
#include "trace/command_text.hpp"

namespace portcullis::testing {

struct KernelLogOptions {
  std::string device = "0000:03:00.0";
  bool data_only = false;       // debug_mask=1
  std::string line_start = {};  // of every line: "<7>", "Nov 21 05:00:00 host kernel: "
};

class KernelLog {
 public:
  explicit KernelLog(KernelLogOptions options = {}) : options_(std::move(options)) {}

  /// Lines of one half of a command, to be printed at once or interleaved with others.
  [[nodiscard]] std::vector<std::string> dump(const trace::TraceCommand& command,
                                              bool input) const {
    const unsigned slot = command.slot.value_or(0);
    const trace::TraceMessage& message = input ? command.in : command.out;
    std::vector<std::string> lines;
    lines.push_back(debug("dump_command:879", fmt::format("cmd[{}]: start dump", slot)));
    lines.push_back(
        debug("dump_command:888",
              fmt::format("cmd[{}]: dump command {}{}(0x{:x}) {}", slot,
                          options_.data_only ? "data " : "", prm::name(command.opcode()),
                          prm::number(command.opcode()), input ? "INPUT" : "OUTPUT")));
    if (options_.data_only)
      append_rows(lines, slot, 0, message.bytes);
    else
      append_entry_and_blocks(lines, command, input);
    lines.push_back(line(""));
    lines.push_back(debug("dump_command:922", fmt::format("cmd[{}]: end dump", slot)));
    return lines;
  }

  [[nodiscard]] std::string doorbell(unsigned slot) const {
    return debug("cmd_work_handler:1067",
                 fmt::format("writing 0x{:x} to command doorbell", 1u << slot));
  }
  [[nodiscard]] std::string completed(std::uint8_t status) const {
    return debug(
        "mlx5_cmd_comp_handler:1734",
        fmt::format("command completed. ret 0x0, delivery status no errors(0x{:x})", status));
  }

  /// The whole life of a command.
  [[nodiscard]] std::string text(const trace::TraceCommand& command) const {
    std::string all;
    for (const std::string& l : dump(command, true)) all += l;
    all += doorbell(command.slot.value_or(0));
    for (const std::string& l : dump(command, false)) all += l;
    all += completed(command.delivery_status);
    return all;
  }

 private:
  [[nodiscard]] std::string line(std::string_view message) const {
    return fmt::format("{}[   12.345678] {}\n", options_.line_start, message);
  }
  [[nodiscard]] std::string debug(std::string_view where, std::string_view message) const {
    return line(fmt::format("mlx5_core {}: {}:(pid 87): {}", options_.device, where, message));
  }

  /// dump_buf; the driver's buffers are longer than what it prints of them.
  void append_rows(std::vector<std::string>& lines, unsigned slot, std::size_t offset,
                   std::span<const std::byte> bytes) const {
    constexpr std::size_t kRow = 16;
    for (std::size_t i = 0; i < bytes.size(); i += kRow, offset += kRow) {
      std::array<std::byte, kRow> row{};
      std::ranges::copy(bytes.subspan(i, std::min(kRow, bytes.size() - i)), row.begin());
      std::string text = fmt::format("cmd[{}]: {:03x}:", slot, offset);
      for (std::size_t at = 0; at < kRow; ++at)
        text += fmt::format("{}{:02x}", at % 4 == 0 ? " " : "", std::to_integer<unsigned>(row[at]));
      lines.push_back(line(text));
    }
  }

  void append_entry_and_blocks(std::vector<std::string>& lines, const trace::TraceCommand& command,
                               bool input) const {
    const unsigned slot = command.slot.value_or(0);
    prm::Buffer<prm::cmd_queue_entry> entry;
    entry.put<"type">(prm::kPciCmdXport).put<"input_length">(command.in.bytes.size());
    entry.put<"output_length">(command.out.bytes.size()).put<"token">(command.sequence % 0xff + 1);
    std::ranges::copy(first_bytes(command.in), entry.bytes<"command_input_inline_data">().begin());
    if (input)
      entry.set<"ownership", 1>();
    else
      write_answer(entry, command);
    append_rows(lines, slot, 0, entry.all());
    std::size_t offset = prm::cmd_queue_entry::bytes;
    const auto rest = rest_bytes(input ? command.in : command.out);
    for (std::size_t at = 0; at < rest.size(); at += prm::kCmdDataBlockBytes) {
      lines.push_back(line(""));
      lines.push_back(debug("dump_command:911", fmt::format("cmd[{}]: command block:", slot)));
      prm::Buffer<prm::cmd_if_box> block;
      std::ranges::copy(rest.subspan(at, std::min(prm::kCmdDataBlockBytes, rest.size() - at)),
                        block.bytes<"mailbox_data">().begin());
      block.put<"block_number">(at / prm::kCmdDataBlockBytes);
      append_rows(lines, slot, offset, block.all());
      offset += prm::cmd_if_box::bytes;
    }
  }

  static void write_answer(prm::Buffer<prm::cmd_queue_entry>& entry,
                           const trace::TraceCommand& command) {
    std::ranges::copy(first_bytes(command.out),
                      entry.bytes<"command_output_inline_data">().begin());
    entry.put<"status">(command.delivery_status);
    entry.put<"ownership">(command.answer == trace::TraceAnswer::None ? 1u : 0u);
  }

  static std::span<const std::byte> first_bytes(const trace::TraceMessage& message) {
    return std::span(message.bytes).first(std::min(message.bytes.size(), prm::kCmdInlineBytes));
  }
  static std::span<const std::byte> rest_bytes(const trace::TraceMessage& message) {
    return std::span(message.bytes).subspan(first_bytes(message).size());
  }

  KernelLogOptions options_;
};

}  // namespace portcullis::testing
