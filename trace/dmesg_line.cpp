// SPDX-License-Identifier: BSD-3-Clause
#include "trace/dmesg_line.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "trace/text.hpp"

namespace portcullis::trace {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kFewestOffsetDigits = 3;  // dump_buf prints %03x
constexpr std::size_t kDwordDigits = 8;
constexpr std::size_t kDwords = 4;

bool is_all_of(std::string_view text, std::string_view allowed) noexcept {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

/// What follows `mark`; nothing where the text does not have it.
std::optional<std::string_view> after(std::string_view text, std::string_view mark) noexcept {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + mark.size());
}

/// "12.000345" in nanoseconds. Printk gives six digits after the point.
std::optional<std::uint64_t> seconds(std::string_view text) noexcept {
  constexpr std::size_t kMostSecondDigits = 9;
  constexpr std::size_t kNsDigits = 9;
  const std::size_t point = text.find('.');
  if (point > kMostSecondDigits) return std::nullopt;  // or there is none
  const std::string_view fraction = text.substr(point + 1);
  const auto whole = to_number(text.substr(0, point), 10);
  const auto parts = to_number(fraction, 10);
  if (!whole || !parts || fraction.size() > kNsDigits) return std::nullopt;
  std::uint64_t ns = *parts;
  for (std::size_t digits = fraction.size(); digits < kNsDigits; ++digits) ns *= 10;
  return *whole * kNsPerSecond + ns;
}

/// What stands between brackets: "   12.345678", "  +0.000004", "12.345678 <    0.000012>".
LogTime time_of(std::string_view bracket) noexcept {
  const std::string_view word = take_word(bracket);
  const bool since_line = word.starts_with('+');
  const auto ns = seconds(since_line ? word.substr(1) : word);
  if (!ns) return {LogTime::Kind::Date, 0};
  return {since_line ? LogTime::Kind::SinceLine : LogTime::Kind::SinceBoot, *ns};
}

/// Takes what loggers put before the message.
LogTime take_prefix(std::string_view& line) noexcept {
  if (const auto rest = after(line, " kernel: ")) line = *rest;
  LogTime time;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const char close = line.starts_with('[') ? ']' : '>';
    if (!line.starts_with('[') && !line.starts_with('<')) return time;
    const std::size_t end = line.find(close);
    if (end == std::string_view::npos) return time;
    if (close == ']' && time.kind == LogTime::Kind::None) time = time_of(line.substr(1, end - 1));
    line.remove_prefix(end + 1);
  }
}

std::string_view device_of(std::string_view message) noexcept {
  auto rest = after(message, "mlx5_core ");
  if (!rest) return {};
  std::string_view device = take_word(*rest);
  if (!device.ends_with(':')) return {};
  device.remove_suffix(1);
  return device;
}

/// Takes "cmd[3]: " and all before it.
std::optional<std::uint32_t> take_slot(std::string_view& message) noexcept {
  const auto rest = after(message, "cmd[");
  if (!rest) return std::nullopt;
  const std::size_t end = rest->find("]: ");
  if (end == std::string_view::npos) return std::nullopt;
  const auto slot = to_number(rest->substr(0, end), 10);
  if (!slot || *slot > 31) return std::nullopt;
  message = rest->substr(end + 3);
  return static_cast<std::uint32_t>(*slot);
}

LogLine::What header_of(std::string_view text) noexcept {
  DumpHeader header;
  header.data_only = text.starts_with("data ");
  const std::size_t open = text.rfind("(0x");
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return DamagedHeader{};
  const auto opcode = to_number(text.substr(open + 3, close - open - 3), 16);
  std::string_view rest = text.substr(close + 1);
  const std::string_view side = take_word(rest);
  if (!opcode || *opcode > 0xffff || (side != "INPUT" && side != "OUTPUT")) return DamagedHeader{};
  header.opcode = static_cast<std::uint16_t>(*opcode);
  header.is_input = side == "INPUT";
  return header;
}

LogLine::What completed_of(std::string_view text) noexcept {
  const std::size_t open = text.rfind("(0x");
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  const auto status = to_number(text.substr(open + 3, close - open - 3), 16);
  if (!status || *status > 0xff) return {};
  return Completed{static_cast<std::uint8_t>(*status)};
}

LogLine::What doorbell_of(std::string_view text) noexcept {
  const auto slots = to_prefixed_hex(take_word(text));
  if (!slots || *slots > 0xffffffff) return {};
  return Doorbell{static_cast<std::uint32_t>(*slots)};
}

/// "OFFSET: DWORD DWORD DWORD DWORD" at the end of `message`.
LogLine::What row_of(std::string_view message) noexcept {
  const std::size_t colon = message.rfind(": ");
  if (colon == std::string_view::npos) return {};
  std::string_view where = message.substr(0, colon);
  const std::size_t blank = where.find_last_of(" \t");
  if (blank != std::string_view::npos) where.remove_prefix(blank + 1);
  if (where.size() < kFewestOffsetDigits || where.size() > kDwordDigits ||
      !is_all_of(where, kHexDigits))
    return {};
  HexRow row;
  row.offset = to_number(where, 16).value_or(0);
  std::string_view rest = message.substr(colon + 1);
  auto* to = row.bytes.begin();
  for (std::size_t i = 0; i < kDwords; ++i) {
    const std::string_view word = take_word(rest);
    if (word.size() != kDwordDigits || !is_all_of(word, kHexDigits)) return DamagedRow{row.offset};
    for (std::size_t digit = 0; digit < kDwordDigits; digit += 2)
      *to++ = static_cast<std::byte>(to_number(word.substr(digit, 2), 16).value_or(0));
  }
  if (!rest.empty() || row.offset % HexRow::kBytes != 0) return DamagedRow{row.offset};
  return row;
}

}  // namespace

LogLine read_log_line(std::string_view line) noexcept {
  LogLine result;
  std::string_view message = line;
  result.time = take_prefix(message);
  result.device = device_of(message);
  result.slot = take_slot(message);
  if (const auto text = after(message, "dump command "))
    result.what = header_of(*text);
  else if (const auto text = after(message, "command completed. ret "))
    result.what = completed_of(*text);
  else if (message.ends_with("to command doorbell"))
    result.what = doorbell_of(after(message, "writing ").value_or(""));
  else if (result.slot && message.starts_with("end dump"))
    result.what = DumpEnd{};
  else
    result.what = row_of(message);
  return result;
}

}  // namespace portcullis::trace
