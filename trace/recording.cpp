// SPDX-License-Identifier: BSD-3-Clause
#include "trace/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "prm/enums.hpp"
#include "trace/text.hpp"

namespace portcullis::trace {
namespace {

constexpr std::string_view kAcceptedKeys =
    "slot, time_ns, delivery, status, syndrome, note, in_length, in_unknown, in_hex, in.FIELD, the "
    "same with out, and end";
constexpr std::size_t kHexOfDword = 8;

/// A message while its lines are read.
struct Draft {
  std::optional<std::size_t> length;
  TraceMessage message;
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : lines_(text), file_(file) {}

  Result<Recording> run() {
    const auto first = lines_.next();
    if (!first)
      return fail(Errc::Malformed,
                  fmt::format("{}:1: empty; \"{}\" expected, as trace-import and --trace write it",
                              file_, kTraceMagic));
    if (first != kTraceMagic)
      return bad(
          fmt::format("begins with {}; \"{}\" expected, as trace-import and --trace write it",
                      in_quotes(*first), kTraceMagic));
    while (const auto line = lines_.next()) {
      if (line->empty() || line->starts_with('#')) continue;
      PORTCULLIS_TRY(open_ ? inside(*line) : outside(*line));
    }
    if (open_) return bad(fmt::format("command {} has no end; the file is cut", command_.sequence));
    PORTCULLIS_TRY(sort());
    return std::move(recording_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const {
    return fail(Errc::Malformed, fmt::format("{}:{}: {}", file_, lines_.number(), what));
  }

  Result<void> outside(std::string_view line) {
    std::string_view rest = line;
    const std::string_view key = take_word(rest);
    if (key == "source") {
      recording_.source = rest;
      return {};
    }
    if (key != "command") return bad(in_quotes(line) + "; a line \"command ..\" expected");
    const auto sequence = to_number(take_word(rest), 10);
    take_word(rest);  // the opcode's name, for people
    opcode_ = to_prefixed_hex(take_word(rest)).value_or(~std::uint64_t{0});
    if (!sequence || opcode_ > 0xffff)
      return bad(in_quotes(line) + "; \"command NUMBER NAME 0xOPCODE op_mod 0xMODIFIER\" expected");
    command_ = TraceCommand{};
    command_.sequence = *sequence;
    in_ = out_ = Draft{};
    open_ = true;
    return {};
  }

  Result<void> inside(std::string_view line) {
    std::string_view rest = line;
    const std::string_view key = take_word(rest);
    if (key == "end") return end();
    if (key == "slot") return number(key, rest, prm::kMaxCommands - 1, command_.slot);
    if (key == "time_ns") return number(key, rest, ~std::uint64_t{0}, command_.time_ns);
    if (key == "delivery") return delivery(rest);
    if (key == "note") {
      command_.notes.emplace_back(rest);
      return {};
    }
    // Derived from the bytes, and for people only.
    if (key == "status" || key == "syndrome" || key.starts_with("in.") || key.starts_with("out."))
      return {};
    if (key.starts_with("in_")) return message(in_, key.substr(3), rest);
    if (key.starts_with("out_")) return message(out_, key.substr(4), rest);
    return bad(fmt::format("{}; accepted are {}", in_quotes(line), kAcceptedKeys));
  }

  template <class T>
  Result<void> number(std::string_view key, std::string_view text, std::uint64_t most,
                      std::optional<T>& to) {
    const auto value = to_number(text, 10);
    if (!value || *value > most)
      return bad(fmt::format("{} {}; a number from 0 to {} expected", key, in_quotes(text), most));
    to = static_cast<T>(*value);
    return {};
  }

  Result<void> delivery(std::string_view text) {
    std::string_view rest = text;
    const std::string_view word = take_word(rest);
    const auto status = to_prefixed_hex(rest);
    if (text == "none" || text == "unknown") {
      command_.answer = text == "none" ? TraceAnswer::None : TraceAnswer::Unknown;
    } else if (!word.empty() && status && *status <= 0xff) {
      command_.answer = TraceAnswer::Given;
      command_.delivery_status = static_cast<std::uint8_t>(*status);
    } else {
      return bad(fmt::format("delivery {}; \"NAME 0xSTATUS\", \"none\" or \"unknown\" expected",
                             in_quotes(text)));
    }
    return {};
  }

  Result<void> message(Draft& draft, std::string_view key, std::string_view rest) {
    if (key == "length") return length(draft, rest);
    if (key != "unknown" && key != "hex")
      return bad(fmt::format("{}; accepted are {}", in_quotes(key), kAcceptedKeys));
    if (!draft.length) return bad(fmt::format("{} before the message's length", key));
    return key == "hex" ? hex(draft, rest) : gap(draft, rest);
  }

  Result<void> length(Draft& draft, std::string_view text) {
    if (draft.length) return bad("a second length of the same message");
    PORTCULLIS_TRY(number("length", text, kTraceMaxMessageBytes, draft.length));
    total_ += *draft.length;
    if (total_ > kMaxRecordingBytes)
      return bad(fmt::format("the messages together are longer than {} bytes", kMaxRecordingBytes));
    draft.message.bytes.assign(*draft.length, std::byte{0});
    return {};
  }

  Result<void> gap(Draft& draft, std::string_view rest) {
    const std::string_view text = rest;
    const auto offset = to_prefixed_hex(take_word(rest));
    const auto length = to_number(rest, 10);
    if (!offset || !length || *length == 0 || *offset >= *draft.length ||
        *length > *draft.length - *offset)
      return bad(
          fmt::format("unknown {}; \"0xOFFSET LENGTH\" inside the message's {} bytes expected",
                      in_quotes(text), *draft.length));
    auto& gaps = draft.message.gaps;
    if (!gaps.empty() && *offset <= gaps.back().offset + gaps.back().length)
      return bad(fmt::format("unknown {} is not behind the one before", in_quotes(text)));
    gaps.push_back({*offset, *length});
    return {};
  }

  Result<void> hex(Draft& draft, std::string_view rest) {
    const std::string_view text = rest;
    std::string_view where = take_word(rest);
    if (!where.ends_with(':')) return bad(in_quotes(text) + "; \"0xOFFSET: BYTES\" expected");
    where.remove_suffix(1);
    const auto offset = to_prefixed_hex(where);
    std::vector<std::byte> row;
    while (!rest.empty())
      if (!bytes(take_word(rest), row))
        return bad(in_quotes(text) + "; bytes in groups of up to 8 hexadecimal digits expected");
    if (!offset || row.empty() || row.size() > kTraceRowBytes || *offset >= *draft.length ||
        row.size() > *draft.length - *offset)
      return bad(fmt::format("hex {}; 1 to {} bytes inside the message's {} expected",
                             in_quotes(text), kTraceRowBytes, *draft.length));
    std::ranges::copy(row, draft.message.bytes.begin() + static_cast<std::ptrdiff_t>(*offset));
    return {};
  }

  static bool bytes(std::string_view group, std::vector<std::byte>& row) {
    if (group.size() > kHexOfDword || group.size() % 2 != 0) return false;
    for (; !group.empty(); group.remove_prefix(2)) {
      const auto value = to_number(group.substr(0, 2), 16);
      if (!value) return false;
      row.push_back(static_cast<std::byte>(*value));
    }
    return true;
  }

  Result<void> end() {
    if (!in_.length || !out_.length)
      return bad(fmt::format("command {} ends without {}_length", command_.sequence,
                             in_.length ? "out" : "in"));
    command_.in = std::move(in_.message);
    command_.out = std::move(out_.message);
    if (prm::number(command_.opcode()) != opcode_)
      return bad(fmt::format("command {} is titled {:#x}, but its bytes say {:#x}",
                             command_.sequence, opcode_, prm::number(command_.opcode())));
    recording_.commands.push_back(std::move(command_));
    open_ = false;
    return {};
  }

  Result<void> sort() {
    auto& commands = recording_.commands;
    std::ranges::stable_sort(commands, {}, &TraceCommand::sequence);
    const auto twice = std::ranges::adjacent_find(commands, {}, &TraceCommand::sequence);
    if (twice == commands.end()) return {};
    return bad(fmt::format("two commands are number {}", twice->sequence));
  }

  Lines lines_;
  std::string_view file_;
  Recording recording_;
  bool open_ = false;  // between a command and its end
  TraceCommand command_;
  std::uint64_t opcode_ = 0;
  Draft in_;
  Draft out_;
  std::size_t total_ = 0;
};

}  // namespace

Result<Recording> parse_recording(std::string_view text, std::string_view file) {
  return Parser(text, file).run();
}

std::string to_text(const Recording& recording) {
  std::string text = trace_header(recording.source);
  for (const TraceCommand& command : recording.commands) text += trace_text(command);
  return text;
}

}  // namespace portcullis::trace
